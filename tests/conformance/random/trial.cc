// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random/trial.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/conformance/random/interpreter.h"

namespace holdfast::random_ptx {
namespace {

// A buffer of the device, filled from the host; copies back at the end.
class Buffer {
 public:
  Buffer(const cuda::DriverApi& api, void* bytes, size_t size)
      : api_(api), bytes_(bytes), size_(size) {
    result_ = api_.cuMemAlloc(&address_, size_);
    if (result_ != CUDA_SUCCESS) return;
    result_ = api_.cuMemcpyHtoDAsync(address_, bytes_, size_, nullptr);
  }
  ~Buffer() { api_.cuMemFree(address_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* argument() { return &address_; }
  CUresult result() const { return result_; }
  CUresult CopyBack() {
    return api_.cuMemcpyDtoHAsync(bytes_, address_, size_, nullptr);
  }

 private:
  const cuda::DriverApi& api_;
  void* const bytes_;
  const size_t size_;
  CUdeviceptr address_ = 0;
  CUresult result_;
};

CUresult Launch(const cuda::DriverApi& api, const Program& program,
                CUfunction kernel, Memory* memory) {
  Buffer input(api, memory->input.data(), memory->input.size());
  Buffer own(api, memory->own.data(), memory->own.size());
  Buffer sums(api, memory->sums.data(), kSums * 4);
  Buffer dump(api, memory->dump.data(), memory->dump.size());
  void* arguments[] = {input.argument(), own.argument(), sums.argument(),
                       dump.argument(), memory->blob.data()};
  CUlaunchConfig config = {};
  config.gridDimX = program.blocks;
  config.gridDimY = config.gridDimZ = config.blockDimZ = 1;
  config.blockDimX = program.threads / program.rows;
  config.blockDimY = program.rows;
  for (const Buffer* buffer : {&input, &own, &sums, &dump}) {
    if (buffer->result() != CUDA_SUCCESS) return buffer->result();
  }
  CUresult result = api.cuLaunchKernelEx(&config, kernel, arguments, nullptr);
  for (Buffer* buffer : {&own, &sums, &dump}) {
    if (result == CUDA_SUCCESS) result = buffer->CopyBack();
  }
  return result == CUDA_SUCCESS ? api.cuCtxSynchronize() : result;
}

std::string Compare(const char* what, const uint8_t* expected,
                    const uint8_t* found, size_t size, size_t each) {
  size_t differences = 0;
  std::string text;
  for (size_t at = 0; at < size; at += 8) {
    uint64_t a = 0, b = 0;
    memcpy(&a, expected + at, 8);
    memcpy(&b, found + at, 8);
    if (a == b || ++differences > 5) continue;
    absl::StrAppend(&text, absl::StrFormat("%s %d, byte %d: %016x, expected "
                                           "%016x\n",
                                           what, at / each, at % each, b, a));
  }
  if (differences > 5) absl::StrAppend(&text, differences, " of these\n");
  return text;
}

}  // namespace

std::string RunOn(const cuda::DriverApi& api, const Program& program,
                  Memory* memory) {
  *memory = program.initial;
  const std::string ptx = PtxOf(program);
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  CUmodule module;
  CUresult result =
      api.cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  if (result != CUDA_SUCCESS) {
    return absl::StrCat("loading: CUresult ", result, "\n", log);
  }
  CUfunction kernel;
  result = api.cuModuleGetFunction(&kernel, module, "kernel");
  if (result == CUDA_SUCCESS) result = Launch(api, program, kernel, memory);
  api.cuModuleUnload(module);
  return result == CUDA_SUCCESS ? ""
                                : absl::StrCat("running: CUresult ", result);
}

std::string Difference(const Memory& expected, const Memory& found) {
  std::string text = Compare("dump of thread", expected.dump.data(),
                             found.dump.data(), found.dump.size(), kDumpBytes);
  text += Compare("memory of thread", expected.own.data(), found.own.data(),
                  found.own.size(), kOwnBytes);
  return text + Compare("sums",
                        reinterpret_cast<const uint8_t*>(expected.sums.data()),
                        reinterpret_cast<const uint8_t*>(found.sums.data()),
                        4 * kSums, 4 * kSums);
}

std::string Try(const cuda::DriverApi& api, const Program& program) {
  const Interpretation expected = Interpret(program);
  if (!expected.invalid.empty()) {
    return absl::StrCat("no program: ", expected.invalid);
  }
  if (expected.open.has_value()) return "no program: a result is open";
  Memory found;
  const std::string error = RunOn(api, program, &found);
  return error.empty() ? Difference(expected.memory, found) : error;
}

namespace {

bool Within(const Function& function, size_t region, size_t outer) {
  while (region > outer) region = function.regions[region];
  return region == outer;
}

using Goes = std::function<bool(const Instruction&)>;

// Without what goes, if that still fails.
bool Drop(Program* program, size_t function, const Goes& goes,
          const std::function<bool(const Program&)>& fails) {
  Program smaller = *program;
  auto& code = smaller.functions[function].code;
  const size_t before = code.size();
  code.erase(std::remove_if(code.begin(), code.end(), goes), code.end());
  if (code.size() == before || !fails(smaller)) return false;
  *program = std::move(smaller);
  return true;
}

// From `at`, so many optional instructions.
bool DropRun(Program* program, size_t function, size_t at, size_t count,
             const std::function<bool(const Program&)>& fails) {
  const auto& code = program->functions[function].code;
  const Instruction* first = &code[0];
  std::vector<bool> goes(code.size(), false);
  for (size_t i = at; i < std::min(code.size(), at + count); ++i) {
    goes[i] = code[i].optional;
  }
  Program smaller = *program;
  auto& left = smaller.functions[function].code;
  left.clear();
  for (size_t i = 0; i < code.size(); ++i) {
    if (!goes[i]) left.push_back(first[i]);
  }
  if (left.size() == code.size() || !fails(smaller)) return false;
  *program = std::move(smaller);
  return true;
}

}  // namespace

Program Shrink(Program program,
               const std::function<bool(const Program&)>& fails) {
  for (size_t f = 0; f < program.functions.size(); ++f) {
    const Function shape = program.functions[f];
    for (size_t region = 1; region < shape.regions.size(); ++region) {
      Drop(
          &program, f,
          [&](const Instruction& one) {
            return Within(shape, one.region, region);
          },
          fails);
    }
    for (size_t count = 32; count > 0; count /= 2) {
      for (size_t at = 0; at < program.functions[f].code.size();) {
        if (!DropRun(&program, f, at, count, fails)) at += count;
      }
    }
  }
  return program;
}

namespace {

// With the first `count` optional instructions of the kernel alone. `last`: the
// last of these.
Program CutOff(const Program& program, size_t count, Instruction* last) {
  Program cut = program;
  auto& code = cut.functions[0].code;
  code.clear();
  for (const Instruction& one : program.functions[0].code) {
    if (one.optional) {
      if (count == 0) continue;
      if (--count == 0) *last = one;
    }
    code.push_back(one);
  }
  return cut;
}

// The kernel's store to the byte of the dump that a difference names first.
std::string RegisterAt(const Program& program, const std::string& difference) {
  const size_t found = difference.find("byte ");
  if (difference.rfind("dump of thread", 0) != 0) return "no register";
  const std::string place =
      absl::StrCat("[%a2+", std::stoul(difference.substr(found + 5)), "]");
  for (const Instruction& one : program.functions[0].code) {
    if (one.text.find(place) != std::string::npos) return one.text;
  }
  return "a register";
}

}  // namespace

std::string Explain(const Program& program,
                    const std::function<std::string(const Program&)>& attempt) {
  const auto& code = program.functions[0].code;
  // The shorter one agrees, the longer one does not.
  size_t agrees = 0;
  auto differs = static_cast<size_t>(
      std::count_if(code.begin(), code.end(),
                    [](const Instruction& i) { return i.optional; }));
  Instruction last;
  std::string difference = attempt(program);
  if (const std::string none = attempt(CutOff(program, 0, &last));
      !none.empty()) {
    return absl::StrCat("with no statement at all:\n", none);
  }
  while (differs - agrees > 1) {
    const size_t middle = agrees + (differs - agrees) / 2;
    const std::string found = attempt(CutOff(program, middle, &last));
    if (found.empty()) {
      agrees = middle;
    } else {
      differs = middle;
      difference = found;
    }
  }
  CutOff(program, differs, &last);
  std::string guard;
  if (last.guard.has_value()) {
    guard =
        absl::StrCat(last.unless ? "unless " : "if ",
                     program.functions[0].registers[*last.guard].name, ":\n");
  }
  return absl::StrCat("statement ", differs, ":\n", guard, last.text,
                      difference, "shows in:\n",
                      RegisterAt(program, difference));
}

}  // namespace holdfast::random_ptx
