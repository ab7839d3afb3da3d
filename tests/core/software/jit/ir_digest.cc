// SPDX-License-Identifier: Apache-2.0
//
// Prints a digest of the LLVM IR that the emitter makes of PTX files, to prove
// that a change of the emitter leaves generated code as it was:
//
//   ir_digest FILE.ptx... >before     (change the emitter)
//   ir_digest FILE.ptx... | diff before -
//
// One line for each file, kernel, CPU, block shape and part of the code. The
// digest covers the module's text as the emitter leaves it, before LLVM's
// passes, with the names of values. Addresses are made up, so that the result
// depends neither on the process nor on the machine. IR_DIGEST_TEXT=1 prints
// the text itself in front of each line.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/software/jit/kernel_emitter.h"
#include "core/software/lower/lower_kernel.h"
#include "core/software/ptx/parser.h"
#include "core/software/transform/inline.h"
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

void PrintKernel(const std::string& label, const lower::Kernel& kernel) {
  for (const auto& [cpu, block] : kConfigurations) {
    for (const jit::Part part : kParts) {
      char text[64];
      std::snprintf(text, sizeof(text), " %d%s %ux%ux%u %s", cpu.lanes,
                    cpu.slow_masked_stores ? "s" : "", block.x, block.y,
                    block.z, jit::SymbolOf(part));
      Print(label + text, Emit(kernel, block, cpu, part));
    }
  }
}

void PrintModule(const std::string& path, const ptx::Module& module) {
  std::vector<uint64_t> addresses;
  uint64_t shared = 0;
  for (const ptx::Variable& variable : module.variables) {
    const bool is_shared = variable.space == ptx::Space::kShared;
    addresses.push_back(is_shared ? shared : 0x7d0000000000 + 4096 * shared);
    if (is_shared) shared += (variable.bytes + 15) / 16 * 16;
  }
  for (const ptx::Function& function : module.functions) {
    if (!function.kernel || !function.defined) continue;
    const transform::InlinedKernel flat =
        transform::InlineCalls(module, function, transform::StackBytes(0));
    if (!flat.function || flat.unsupported) {
      std::printf("%s %s %s\n", path.c_str(), function.name.c_str(),
                  flat.error.c_str());
      continue;
    }
    PrintKernel(path + " " + function.name,
                lower::LowerKernel(module, *flat.function, addresses, shared));
  }
}

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i]);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const ptx::ParseResult parsed = ptx::Parse(text);
    if (!file || !parsed.ok()) {
      std::printf("%s: %s\n", argv[i],
                  parsed.ok() ? "cannot be read" : parsed.errors[0].c_str());
      continue;
    }
    PrintModule(argv[i], parsed.module);
  }
  return 0;
}

}  // namespace
}  // namespace holdfast::software

int main(int argc, char** argv) { return holdfast::software::Main(argc, argv); }
