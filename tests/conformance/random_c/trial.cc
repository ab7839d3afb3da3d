// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random_c/trial.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/error_detail.h"

namespace holdfast::random_c {
namespace {

[[noreturn]] void Die(absl::string_view why) {
  fprintf(stderr, "%.*s\n", static_cast<int>(why.size()), why.data());
  exit(1);
}

void Require(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) Die(absl::StrCat(what, ": CUresult ", result));
}

// The level at which the driver's assembler optimises, 0 to 4.
uintptr_t OptimizationLevel() {
  const char* level = getenv("HOLDFAST_RANDOM_C_LEVEL");
  return level == nullptr ? 4 : strtoul(level, nullptr, 10);
}

// Memory of the device with some bytes.
class Buffer {
 public:
  Buffer(const cuda::DriverApi& api, const Bytes& bytes)
      : api_(api), size_(bytes.size()) {
    result_ = api_.cuMemAlloc(&address_, size_);
    if (result_ != CUDA_SUCCESS) return;
    result_ = api_.cuMemcpyHtoDAsync(address_, bytes.data(), size_, nullptr);
  }
  ~Buffer() { api_.cuMemFree(address_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* argument() { return &address_; }
  CUresult result() const { return result_; }
  CUresult CopyBack(Bytes* bytes) const {
    bytes->resize(size_);
    return api_.cuMemcpyDtoHAsync(bytes->data(), address_, size_, nullptr);
  }

 private:
  const cuda::DriverApi& api_;
  const size_t size_;
  CUdeviceptr address_ = 0;
  CUresult result_;
};

std::string Difference(size_t parameter, const Bytes& expected,
                       const Bytes& found) {
  constexpr int kMost = 4;
  std::string text;
  int differences = 0;
  for (size_t at = 0; at + 4 <= expected.size(); at += 4) {
    uint32_t a = 0, b = 0;
    memcpy(&a, expected.data() + at, sizeof(a));
    memcpy(&b, found.data() + at, sizeof(b));
    if (a == b || ++differences > kMost) continue;
    absl::StrAppend(&text,
                    absl::StrFormat("parameter %d, byte %d: %08x, not %08x\n",
                                    parameter, at, b, a));
  }
  if (differences > kMost) absl::StrAppend(&text, differences, " of these\n");
  return text;
}

}  // namespace

Device::Device(const std::string& library) {
  cuda::DriverOptions options{.choice = cuda::DriverChoice::kSoftware};
  if (!library.empty()) {
    options.choice = cuda::DriverChoice::kCuda;
    options.cuda_library = library;
  }
  auto driver = cuda::LoadDriver(options);
  if (!driver.ok()) Die(driver.status().ToString());
  api_ = &driver->release()->api;  // for the process
  CUdevice device;
  CUcontext context;
  Require(api_->cuDeviceGet(&device, 0), "cuDeviceGet");
  Require(api_->cuDevicePrimaryCtxRetain(&context, device), "context");
  Require(api_->cuCtxSetCurrent(context), "cuCtxSetCurrent");
  // Functions recurse with structs by value, for which the 1 KiB that a thread
  // of a GPU has is too small. The software driver's stack is large.
  if (api_->cuCtxSetLimit != nullptr) {
    (void)api_->cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 64 << 10);
  }
  static const auto& nvrtc = *new auto(compile::LoadNvrtc({}));
  if (!nvrtc.ok()) Die(nvrtc.status().ToString());
  compiler_ = std::make_unique<compile::NvrtcCompiler>(**nvrtc);
}

std::string Device::Compile(const Case& one, std::string* error) const {
  compile::ProgramSource program;
  program.name = absl::StrCat("seed_", one.seed, ".cu");
  program.source = absl::StrCat(kPrelude, one.source);
  const char* arch = getenv("HOLDFAST_RANDOM_C_ARCH");
  program.arch = absl::StrCat("compute_", arch == nullptr ? "80" : arch);
  program.options = {"--std=c++17", "--fmad=false", "--device-int128"};
  auto code = compiler_->Compile(program);
  if (!code.ok()) {
    const auto detail = GetErrorDetail(code.status());
    *error = absl::StrCat("compiling: ", code.status().ToString(), "\n",
                          detail.has_value() ? detail->log : "");
    return "";
  }
  return code->bytes.c_str();  // without the terminating zero
}

std::string Device::Try(const Case& one) const {
  std::string error;
  const std::string ptx = Compile(one, &error);
  if (ptx.empty()) return error;
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {reinterpret_cast<void*>(OptimizationLevel()), log,
                    reinterpret_cast<void*>(sizeof(log))};
  CUmodule module;
  const CUresult result =
      api_->cuModuleLoadDataEx(&module, ptx.c_str(), 3, options, values);
  if (result != CUDA_SUCCESS) {
    return absl::StrCat("loading: CUresult ", result, "\n", log);
  }
  std::string text = Run(one, module);
  api_->cuModuleUnload(module);
  return text;
}

std::string Device::Run(const Case& one, CUmodule module) const {
  CUfunction kernel;
  CUresult result = api_->cuModuleGetFunction(&kernel, module, "kernel");
  if (result != CUDA_SUCCESS) return absl::StrCat("kernel: CUresult ", result);
  std::vector<Bytes> values = one.inputs;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<void*> arguments;
  for (size_t i = 0; i < values.size(); ++i) {
    buffers.push_back(one.parameters[i].buffer
                          ? std::make_unique<Buffer>(*api_, values[i])
                          : nullptr);
    arguments.push_back(buffers[i] ? buffers[i]->argument() : values[i].data());
    if (buffers[i]) Require(buffers[i]->result(), "memory");
  }
  CUlaunchConfig config = {};
  config.gridDimX = one.blocks;
  config.gridDimY = config.gridDimZ = config.blockDimZ = 1;
  config.blockDimX = one.width;
  config.blockDimY = one.height;
  result = api_->cuLaunchKernelEx(&config, kernel, arguments.data(), nullptr);
  for (size_t i = 0; i < values.size() && result == CUDA_SUCCESS; ++i) {
    if (one.parameters[i].result) result = buffers[i]->CopyBack(&values[i]);
  }
  if (result == CUDA_SUCCESS) result = api_->cuCtxSynchronize();
  if (result != CUDA_SUCCESS) {
    return absl::StrCat(kFaulted, "CUresult ", result, "\n");
  }
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!one.parameters[i].result) continue;
    text += Difference(i, one.expected[i], values[i]);
  }
  return text;
}

// Leaves out ever smaller runs of nodes, as long as it fails without them.
std::set<int> Shrink(
    int nodes, const std::function<bool(const std::set<int>& without)>& fails) {
  std::set<int> without;
  for (int run = nodes; run > 0; run /= 2) {
    for (int first = 0; first < nodes; first += run) {
      std::set<int> more = without;
      for (int i = first; i < first + run && i < nodes; ++i) more.insert(i);
      if (more.size() > without.size() && fails(more)) {
        without = std::move(more);
      }
    }
  }
  return without;
}

}  // namespace holdfast::random_c
