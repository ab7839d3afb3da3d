// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "client/cudart/errors.h"

namespace holdfast::libcudart {
namespace {

// The version of the forms that cuda.h declares, and the oldest driver.
constexpr int kVersion = 13000;

std::atomic<bool> alive = true;

CUresult Missing() { return CUDA_ERROR_NOT_SUPPORTED; }

using GetProcAddress = decltype(&::cuGetProcAddress);

// Finds a function in a driver.
class Lookup {
 public:
  Lookup(GetProcAddress find, DefaultStream stream)
      : find_(find),
        flags_(stream == DefaultStream::kPerThread
                   ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                   : CU_GET_PROC_ADDRESS_LEGACY_STREAM) {}

  template <typename Function>
  void Find(const char* name, Function* function) const {
    void* found = nullptr;
    const bool ok =
        find_(name, &found, kVersion, flags_, nullptr) == CUDA_SUCCESS &&
        found != nullptr;
    *function = reinterpret_cast<Function>(
        ok ? found : reinterpret_cast<void*>(&Missing));
  }

 private:
  const GetProcAddress find_;
  const cuuint64_t flags_;
};

// Null: the process finds no driver.
GetProcAddress Load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<GetProcAddress>(
      dlsym(library, "cuGetProcAddress_v2"));
}

cudaError_t Start(const Driver& driver) {
  const CUresult result = driver.Init(0);
  if (result != CUDA_SUCCESS) return Translate(result);
  int version = 0;
  if (driver.DriverGetVersion(&version) != CUDA_SUCCESS || version < kVersion) {
    return cudaErrorInsufficientDriver;
  }
  // Runs before the exit handlers of what was there before this call.
  std::atexit([] { alive = false; });
  return cudaSuccess;
}

Driver* Make(DefaultStream stream) {
  auto* driver = new Driver{};
  const GetProcAddress find = Load();
  if (find == nullptr) {
    driver->status = cudaErrorInsufficientDriver;
    return driver;
  }
  const Lookup lookup(find, stream);
#define HOLDFAST_DRIVER_FUNCTION(name) lookup.Find("cu" #name, &driver->name);
#include "client/cudart/driver_functions.inc"
#undef HOLDFAST_DRIVER_FUNCTION
  driver->status = Start(*driver);
  return driver;
}

}  // namespace

const Driver& Driver::Get(DefaultStream stream) {
  if (stream == DefaultStream::kLegacy) {
    static const Driver* const legacy = Make(DefaultStream::kLegacy);
    return *legacy;
  }
  static const Driver* const per_thread = Make(DefaultStream::kPerThread);
  return *per_thread;
}

bool Driver::Alive() { return alive; }

}  // namespace holdfast::libcudart
