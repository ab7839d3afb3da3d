// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "client/cudart/errors.h"

namespace holdfast::libcudart {
namespace {

// The oldest driver that has the forms which cuda.h declares.
constexpr int kVersion = 13000;

std::atomic<bool> alive = true;

CUresult Missing() { return CUDA_ERROR_NOT_SUPPORTED; }

// Finds functions in a driver, by the symbols to which cuda.h links a program.
// cuGetProcAddress does not serve here: for a few names that cuda.h leaves at
// their first form, it answers a later form with other parameters.
class Lookup {
 public:
  Lookup(void* library, DefaultStream stream)
      : library_(library), stream_(stream) {}

  template <typename Function>
  void Find(const std::string& symbol, Function* function) const {
    void* found = FindForm(symbol);
    *function = reinterpret_cast<Function>(
        found != nullptr ? found : reinterpret_cast<void*>(&Missing));
  }

 private:
  // Functions without a stream have one form, all others a second one.
  void* FindForm(const std::string& symbol) const {
    if (stream_ == DefaultStream::kPerThread) {
      for (const char* suffix : {"_ptsz", "_ptds"}) {
        void* found = dlsym(library_, (symbol + suffix).c_str());
        if (found != nullptr) return found;
      }
    }
    return dlsym(library_, symbol.c_str());
  }

  void* const library_;
  const DefaultStream stream_;
};

cudaError_t Start(const Driver& driver) {
  const CUresult result = driver.Init(0);
  if (result != CUDA_SUCCESS) return Translate(result);
  int version = 0;
  if (driver.DriverGetVersion(&version) != CUDA_SUCCESS || version < kVersion) {
    return cudaErrorInsufficientDriver;
  }
  // exit() runs handlers in reverse order: this one runs before handlers that
  // were registered earlier, such as those of the program's own images.
  std::atexit([] { alive = false; });
  return cudaSuccess;
}

// Returns the libcuda.so.1 that the process has loaded; else the driver of
// another soname that is in the process's global scope, as the software driver
// can be; else the libcuda.so.1 that the loader finds. Null: there is none.
void* OpenDriver() {
  constexpr char kName[] = "libcuda.so.1";
  void* loaded = dlopen(kName, RTLD_NOW | RTLD_NOLOAD);
  if (loaded != nullptr) return loaded;
  void* process = dlopen(nullptr, RTLD_NOW);
  if (dlsym(process, "cuInit") != nullptr) return process;
  return dlopen(kName, RTLD_NOW);
}

Driver* Make(DefaultStream stream) {
  auto* driver = new Driver{};
  void* library = OpenDriver();
  if (library == nullptr) {
    driver->status = cudaErrorInsufficientDriver;
    return driver;
  }
  const Lookup lookup(library, stream);
#define HOLDFAST_SYMBOL(symbol) #symbol
#define HOLDFAST_FIND(symbol, field) lookup.Find(HOLDFAST_SYMBOL(symbol), field)
#define HOLDFAST_DRIVER_FUNCTION(name) HOLDFAST_FIND(cu##name, &driver->name);
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
