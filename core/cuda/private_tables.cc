// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/private_tables.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <initializer_list>
#include <string>

namespace holdfast::cuda {
namespace {

// The file name of the program or library that has the code; "" if none has.
std::string FileOf(const void* code) {
  Dl_info info = {};
  if (dladdr(code, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

bool BeginsWithOneOf(const std::string& text,
                     std::initializer_list<const char*> beginnings) {
  for (const char* beginning : beginnings) {
    if (text.rfind(beginning, 0) == 0) return true;
  }
  return false;
}

}  // namespace

void SayPrivateTablesAreMissing(const void* caller) {
  const std::string file = FileOf(caller);
  if (BeginsWithOneOf(file, {"libnvrtc", "libnvJitLink", "libnvvm"})) return;
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  const bool is_runtime = BeginsWithOneOf(file, {"libcudart.so"});
  std::fprintf(
      stderr,
      "holdfast: %s %s, which needs private tables of NVIDIA's driver that "
      "Holdfast's driver does not have: %s\n",
      file.empty() ? "this program" : file.c_str(),
      is_runtime ? "is NVIDIA's CUDA runtime"
                 : "has NVIDIA's CUDA runtime inside",
      is_runtime ? "put the folder of `holdfast cuda-path` before it in "
                   "LD_LIBRARY_PATH"
                 : "a program of nvcc's runs when it is compiled with "
                   "-cudart shared");
}

}  // namespace holdfast::cuda
