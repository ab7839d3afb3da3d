// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/compile/nvrtc_api.h"
#include "core/compile/nvrtc_compiler.h"
#include "core/cuda/driver_loader.h"
#include "tests/kernels/sources.h"

namespace holdfast::kernels {
namespace {

[[noreturn]] void Die(absl::string_view why) {
  fprintf(stderr, "%.*s\n", static_cast<int>(why.size()), why.data());
  exit(1);
}

std::string Environment(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

const cuda::Driver& OpenDriver() {
  cuda::DriverOptions options{.choice = cuda::DriverChoice::kSoftware};
  const std::string library = Environment("HOLDFAST_DRIVER_LIBRARY", "");
  if (!library.empty()) {
    options.choice = cuda::DriverChoice::kCuda;
    options.cuda_library = library;
  }
  auto driver = cuda::LoadDriver(options);
  if (!driver.ok()) Die(driver.status().ToString());
  return *driver->release();
}

const compile::NvrtcCompiler& Compiler() {
  static const auto& api = *new auto(compile::LoadNvrtc({}));
  if (!api.ok()) Die(api.status().ToString());
  static const auto& compiler = *new compile::NvrtcCompiler(**api);
  return compiler;
}

absl::string_view FindSource(const std::string& name) {
  for (const Source& source : Sources()) {
    if (source.name == name) return source.text;
  }
  Die(absl::StrCat("no source ", name, ".cu"));
}

std::string Compile(const std::string& name) {
  compile::ProgramSource program;
  program.name = absl::StrCat(name, ".cu");
  program.source = std::string(FindSource(name));
  program.arch = absl::StrCat("compute_", Architecture());
  program.options = {"--std=c++17", "--fmad=false"};
  auto code = Compiler().Compile(program);
  if (!code.ok()) {
    const auto detail = GetErrorDetail(code.status());
    Die(absl::StrCat(name, ": ", code.status().ToString(), "\n",
                     detail.has_value() ? detail->log : ""));
  }
  return code->bytes.c_str();  // without the terminating zero
}

std::string ReadOrCompile(const std::string& name) {
  const std::string folder = Environment("HOLDFAST_KERNELS_PTX", "");
  if (folder.empty()) return Compile(name);
  const std::string path =
      absl::StrCat(folder, "/", name, ".", Architecture(), ".ptx");
  if (std::ifstream stored(path); stored) {
    return {std::istreambuf_iterator<char>(stored), {}};
  }
  std::string ptx = Compile(name);
  std::ofstream(path) << ptx;
  return ptx;
}

}  // namespace

const cuda::DriverApi& Cuda() {
  static const cuda::DriverApi& api = []() -> const cuda::DriverApi& {
    const cuda::DriverApi& opened = OpenDriver().api;
    CUdevice device;
    CUcontext context;
    Require(opened.cuDeviceGet(&device, 0), "cuDeviceGet");
    Require(opened.cuDevicePrimaryCtxRetain(&context, device), "context");
    Require(opened.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    return opened;
  }();
  return api;
}

int Architecture() {
  static const int arch =
      atoi(Environment("HOLDFAST_KERNELS_ARCH", "90").c_str());
  return arch;
}

std::string CompileToPtx(const std::string& name) {
  static auto& compiled = *new std::map<std::string, std::string>;
  std::string& ptx = compiled[name];
  if (ptx.empty()) ptx = ReadOrCompile(name);
  return ptx;
}

void Require(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  Die(absl::StrCat(what, " failed with CUresult ", result));
}

}  // namespace holdfast::kernels
