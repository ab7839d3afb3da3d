// SPDX-License-Identifier: Apache-2.0
//
// Prints a digest of the LLVM IR that the emitter makes of PTX files, to prove
// that a change of the emitter leaves generated code as it was:
//
//   ir_digest FILE.ptx... >before     (change the emitter)
//   ir_digest FILE.ptx... | diff before -
//
// Relative paths start where the command was given, under `bazel run` as well.
// Returns 1 if a file cannot be read, or for some of it there is no code.
//
// One line for each file, kernel, CPU, block shape and part of the code. The
// digest covers the module's text as the emitter leaves it, before LLVM's
// passes, with the names of values. Addresses are made up, so that the result
// depends neither on the process nor on the machine. IR_DIGEST_TEXT=1 prints
// the text itself in front of each line.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/software/jit/kernel_emitter.h"
#include "core/software/ptx/parser.h"
#include "core/software/transform/inline.h"
#include "core/software/transform/lower_kernel.h"
#include "core/software/transform/outlined_calls.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

namespace holdfast::software {
namespace {

struct Configuration {
  jit::Cpu cpu;
  analysis::BlockShape block;
};

// The block shapes differ in what is known of a thread's coordinates: a row of
// full warps, a partial warp, rows of a part of a warp.
constexpr Configuration kConfigurations[] = {
    {{16, false}, {128, 1, 1}}, {{16, false}, {33, 1, 1}},
    {{16, false}, {8, 8, 2}},   {{8, false}, {128, 1, 1}},
    {{8, true}, {33, 1, 1}},
};
constexpr jit::Part kParts[] = {jit::Part::kFull, jit::Part::kDivergent,
                                jit::Part::kOverflow};

std::string Emit(const lower::Kernel& kernel, const analysis::BlockShape& block,
                 const jit::Cpu& cpu, jit::Part part) {
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  jit::KernelEmitter emitter(&module, kernel, block, cpu);
  if (const std::optional<std::string> error = emitter.Emit(part)) {
    return "error: " + *error;
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  out << module;
  if (llvm::verifyModule(module, &out)) out << "\nINVALID\n";
  return text;
}

void Print(const std::string& label, const std::string& text) {
  static const bool whole = std::getenv("IR_DIGEST_TEXT") != nullptr;
  if (whole) std::printf("%s\n", text.c_str());
  const auto digest = llvm::SHA256::hash(
      {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  std::printf("%s ", label.c_str());
  for (size_t i = 0; i < 8; ++i) std::printf("%02x", digest[i]);
  std::printf(" %zu\n", text.size());
}

// Returns whether there is code for all configurations.
bool PrintKernel(const std::string& label, const lower::Kernel& kernel) {
  bool good = true;
  for (const auto& [cpu, block] : kConfigurations) {
    for (const jit::Part part : kParts) {
      char text[64];
      std::snprintf(text, sizeof(text), " %d%s %ux%ux%u %s", cpu.lanes,
                    cpu.slow_masked_stores ? "s" : "", block.x, block.y,
                    block.z, jit::SymbolOf(part));
      const std::string code = Emit(kernel, block, cpu, part);
      good = good && !code.starts_with("error: ");
      Print(label + text, code);
    }
  }
  return good;
}

// Returns whether there is code for all kernels.
bool PrintModule(const std::string& path, const ptx::Module& module) {
  std::vector<uint64_t> addresses;
  bool good = true;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    addresses.push_back(0x7d0000000000 + 4096 * i);
  }
  for (const ptx::Function& function : module.functions) {
    if (!function.kernel || !function.defined) continue;
    const transform::InlinedKernel flat =
        transform::InlineCalls(module, function, transform::StackBytes(0));
    if (!flat.function || flat.unsupported) {
      std::printf("%s %s %s\n", path.c_str(), function.name.c_str(),
                  flat.error.c_str());
      good = false;
      continue;
    }
    good = PrintKernel(path + " " + function.name,
                       lower::LowerKernel(module, *flat.function, addresses)) &&
           good;
  }
  return good;
}

// `bazel run` starts the program elsewhere.
std::filesystem::path Located(const char* path) {
  const char* from = std::getenv("BUILD_WORKING_DIRECTORY");
  return from == nullptr ? path : std::filesystem::path(from) / path;
}

bool PrintFile(const char* path) {
  std::ifstream file(Located(path));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path);
    return false;
  }
  const ptx::ParseResult parsed = ptx::Parse(text);
  if (!parsed.ok()) {
    std::fprintf(stderr, "%s:%s\n", path, parsed.errors[0].c_str());
    return false;
  }
  return PrintModule(path, parsed.module);
}

int Main(int argc, char** argv) {
  bool good = true;
  for (int i = 1; i < argc; ++i) good = PrintFile(argv[i]) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::software

int main(int argc, char** argv) { return holdfast::software::Main(argc, argv); }
