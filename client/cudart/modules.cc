// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/modules.h"

#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "client/cudart/errors.h"
#include "client/cudart/program_image.h"

namespace holdfast::libcudart {

class Module {
 public:
  explicit Module(const ProgramImage& image) : image_(image) {}

  // Returns the library, loaded by the first call.
  cudaError_t Load(const Driver& driver, CUlibrary* library) {
    const std::lock_guard lock(mutex_);
    if (refused_) return cudaErrorNotSupported;
    if (library_ == nullptr) {
      const CUresult result = image_.Load(driver, &library_);
      if (result != CUDA_SUCCESS) {
        library_ = nullptr;
        return Translate(result);
      }
      refused_ = !FindManaged(driver);
      if (refused_) return cudaErrorNotSupported;
    }
    *library = library_;
    return cudaSuccess;
  }

  void Unload() {
    const std::lock_guard lock(mutex_);
    if (library_ == nullptr || !Driver::Alive()) return;
    Driver::Get(DefaultStream::kLegacy).LibraryUnload(library_);
    library_ = nullptr;
  }

  void AddManaged(void** host, const char* name) {
    const std::lock_guard lock(mutex_);
    managed_.push_back({host, name});
  }

 private:
  struct Managed {
    void** host;
    const char* name;
  };

  // Stores the addresses of the managed variables. Returns false if the driver
  // has none for this process. Called under `mutex_`.
  bool FindManaged(const Driver& driver);

  const ProgramImage image_;
  std::mutex mutex_;
  bool refused_ = false;          // Guarded by `mutex_`.
  std::vector<Managed> managed_;  // Guarded by `mutex_`.
  CUlibrary library_ = nullptr;   // Null: not loaded. Guarded by `mutex_`.
};

namespace {

// A kernel or a variable.
struct Symbol {
  Module* module;
  const char* name;
  CUkernel kernel = nullptr;  // Null: not looked up yet, or a variable.
};

using Symbols = std::unordered_map<const void*, Symbol>;

struct Registry {
  std::shared_mutex mutex;
  Symbols kernels;
  Symbols variables;
};

// Never freed, so that exit handlers may call the runtime.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

void Add(Symbols* symbols, Module* module, const void* host, const char* name) {
  const std::lock_guard lock(TheRegistry().mutex);
  // A template's stub is one function in all modules that instantiate it.
  symbols->emplace(host, Symbol{module, name});
}

bool Find(const Symbols& symbols, const void* host, Symbol* symbol) {
  const std::shared_lock lock(TheRegistry().mutex);
  const auto found = symbols.find(host);
  if (found == symbols.end()) return false;
  *symbol = found->second;
  return true;
}

// Looks up the kernel of a stub's symbol, if it has not been looked up yet.
cudaError_t LoadKernel(const Driver& driver, const void* host, Symbol* symbol) {
  if (symbol->kernel != nullptr) return cudaSuccess;
  CUlibrary library = nullptr;
  const cudaError_t error = symbol->module->Load(driver, &library);
  if (error != cudaSuccess) return error;
  const CUresult result =
      driver.LibraryGetKernel(&symbol->kernel, library, symbol->name);
  if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidDeviceFunction;
  if (result != CUDA_SUCCESS) return Translate(result);
  const std::lock_guard lock(TheRegistry().mutex);
  const auto found = TheRegistry().kernels.find(host);
  if (found != TheRegistry().kernels.end() &&
      found->second.module == symbol->module) {
    found->second.kernel = symbol->kernel;
  }
  return cudaSuccess;
}

// Takes a cudaKernel_t or a cudaFunction_t for what it is. The driver tells
// which.
cudaError_t FunctionOfHandle(const Driver& driver, const void* handle,
                             CUfunction* function) {
  if (handle == nullptr) return cudaErrorInvalidDeviceFunction;
  auto* const kernel = static_cast<CUkernel>(const_cast<void*>(handle));
  if (driver.KernelGetFunction(function, kernel) == CUDA_SUCCESS) {
    return cudaSuccess;
  }
  CUmodule module = nullptr;
  *function = static_cast<CUfunction>(const_cast<void*>(handle));
  return driver.FuncGetModule(&module, *function) == CUDA_SUCCESS
             ? cudaSuccess
             : cudaErrorInvalidResourceHandle;
}

}  // namespace

bool Module::FindManaged(const Driver& driver) {
  for (const Managed& variable : managed_) {
    CUdeviceptr address = 0;
    size_t size = 0;
    if (driver.LibraryGetManaged(&address, &size, library_, variable.name) !=
        CUDA_SUCCESS) {
      std::fprintf(stderr,
                   "libcudart: %s is a __managed__ variable, whose memory this "
                   "driver does not share with the program.\n",
                   variable.name);
      return false;
    }
    *variable.host = reinterpret_cast<void*>(address);
    // The host's expression for the variable is the variable itself.
    Add(&TheRegistry().variables, this, *variable.host, variable.name);
  }
  return true;
}

Module* RegisterModule(const void* wrapper) {
  return new Module(ProgramImage(wrapper));
}

void UnregisterModule(Module* module) {
  {
    Registry& registry = TheRegistry();
    const std::lock_guard lock(registry.mutex);
    const auto in_module = [module](const Symbols::value_type& symbol) {
      return symbol.second.module == module;
    };
    std::erase_if(registry.kernels, in_module);
    std::erase_if(registry.variables, in_module);
  }
  module->Unload();
  // At exit other threads may still use it.
  if (Driver::Alive()) delete module;
}

void RegisterKernel(Module* module, const void* host, const char* name) {
  Add(&TheRegistry().kernels, module, host, name);
}

void RegisterVariable(Module* module, const void* host, const char* name) {
  Add(&TheRegistry().variables, module, host, name);
}

void RegisterManaged(Module* module, void** host, const char* name) {
  module->AddManaged(host, name);
}

cudaError_t LoadModule(const Driver& driver, Module* module) {
  CUlibrary library = nullptr;
  return module->Load(driver, &library);
}

cudaError_t FindKernel(const Driver& driver, const void* host,
                       CUkernel* kernel) {
  Symbol symbol{};
  if (!Find(TheRegistry().kernels, host, &symbol)) {
    return host == nullptr ? cudaErrorInvalidDeviceFunction
                           : cudaErrorInvalidResourceHandle;
  }
  const cudaError_t error = LoadKernel(driver, host, &symbol);
  *kernel = symbol.kernel;
  return error;
}

cudaError_t FindFunction(const Driver& driver, const void* host,
                         CUfunction* function) {
  Symbol symbol{};
  if (!Find(TheRegistry().kernels, host, &symbol)) {
    return FunctionOfHandle(driver, host, function);
  }
  const cudaError_t error = LoadKernel(driver, host, &symbol);
  if (error != cudaSuccess) return error;
  return Translate(driver.KernelGetFunction(function, symbol.kernel));
}

cudaError_t FindLaunchable(const Driver& driver, const void* host,
                           CUfunction* function) {
  Symbol symbol{};
  if (!Find(TheRegistry().kernels, host, &symbol)) {
    return FunctionOfHandle(driver, host, function);
  }
  const cudaError_t error = LoadKernel(driver, host, &symbol);
  *function = reinterpret_cast<CUfunction>(symbol.kernel);
  return error;
}

void* StubOf(const Driver& driver, CUfunction function) {
  const std::shared_lock lock(TheRegistry().mutex);
  for (const auto& [host, symbol] : TheRegistry().kernels) {
    CUfunction candidate = nullptr;
    if (symbol.kernel != nullptr &&
        driver.KernelGetFunction(&candidate, symbol.kernel) == CUDA_SUCCESS &&
        candidate == function) {
      return const_cast<void*>(host);
    }
  }
  return function;
}

cudaError_t FindVariable(const Driver& driver, const void* host,
                         CUdeviceptr* address, size_t* size) {
  Symbol symbol{};
  if (!Find(TheRegistry().variables, host, &symbol)) {
    return cudaErrorInvalidSymbol;
  }
  CUlibrary library = nullptr;
  const cudaError_t error = symbol.module->Load(driver, &library);
  if (error != cudaSuccess) return error;
  const CUresult result =
      driver.LibraryGetGlobal(address, size, library, symbol.name);
  return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol
                                        : Translate(result);
}

}  // namespace holdfast::libcudart
