// SPDX-License-Identifier: Apache-2.0
//
// Entry points: modules and libraries.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "core/software/driver/call.h"
#include "core/software/driver/image.h"
#include "core/software/driver/kernel_launch.h"
#include "core/software/driver/refusal.h"

using namespace holdfast::software;

namespace {

// A GPU's driver reads the image of a library, which no context owns, when
// something of it is looked up. So bytes that are no image are refused then.
CUresult Load(Driver& driver, const Context* owner, const void* image,
              unsigned count, CUjit_option* options, void** values,
              std::shared_ptr<Library>* library) {
  JitOptions jit;
  CUresult result = JitOptions::Parse(count, options, values, &jit);
  if (result != CUDA_SUCCESS) return result;
  std::unique_ptr<Executable> executable;
  std::string reason;
  result = LoadImage(image, jit, &executable, &reason);
  if (result == CUDA_ERROR_INVALID_IMAGE && owner == nullptr) {
    if (jit.has_error_log()) reason.clear();  // the program has read it
    *library = std::make_shared<Library>(result, std::move(reason));
    return CUDA_SUCCESS;
  }
  if (result != CUDA_SUCCESS) {
    return jit.has_error_log() ? result : RefuseCode(result, std::move(reason));
  }
  *library =
      std::make_shared<Library>(std::move(executable), owner, driver.memory);
  return CUDA_SUCCESS;
}

CUresult LoadModule(CUmodule* module, const void* image, unsigned count,
                    CUjit_option* options, void** values) {
  return WithContext([&](Driver& driver, Context& context) {
    if (AnyNull(module, image)) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Library> library;
    const CUresult result =
        Load(driver, &context, image, count, options, values, &library);
    if (result == CUDA_SUCCESS) *module = driver.code.AddModule(library);
    return result;
  });
}

CUresult LoadLibrary(CUlibrary* handle, const void* image,
                     CUjit_option* options, void** values, unsigned count) {
  return WithDriver([&](Driver& driver) {
    if (AnyNull(handle, image)) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Library> library;
    const CUresult result =
        Load(driver, nullptr, image, count, options, values, &library);
    if (result == CUDA_SUCCESS) *handle = driver.code.AddLibrary(library);
    return result;
  });
}

CUresult ReadFile(const char* path, std::string* content) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  content->assign(std::istreambuf_iterator<char>(file), {});
  return CUDA_SUCCESS;
}

template <typename Body>
CUresult WithModule(CUmodule handle, Body body) {
  return WithObjects([&](Driver& driver) -> CUresult {
    const std::shared_ptr<Library> module = driver.code.FindModule(handle);
    return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*module);
  });
}

// CUDA_SUCCESS if the library's image was read.
CUresult CheckRead(const Library& library) {
  return library.refusal() == CUDA_SUCCESS || library.reason().empty()
             ? library.refusal()
             : RefuseCode(library.refusal(), library.reason());
}

template <typename Body>
CUresult WithLibrary(CUlibrary handle, Body body) {
  return WithDriver([&](Driver& driver) -> CUresult {
    const std::shared_ptr<Library> library = driver.code.FindLibrary(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult read = CheckRead(*library);
    return read == CUDA_SUCCESS ? body(*library) : read;
  });
}

CUresult FindKernel(const Library& library, const char* name,
                    CUfunction* kernel) {
  if (AnyNull(kernel, name) || *name == 0) return CUDA_ERROR_INVALID_VALUE;
  const Library::Entry* entry = library.FindKernel(name);
  if (entry == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (!entry->kernel->properties().unsupported.empty()) {
    return RefuseUnsupported(*entry->kernel);
  }
  *kernel = entry->handle;
  return CUDA_SUCCESS;
}

CUresult FindGlobal(const Library& library, const Context& context,
                    const char* name, CUdeviceptr* pointer, size_t* size) {
  if (name == nullptr || (pointer == nullptr && size == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  GlobalVariable variable;
  const CUresult result = library.FindGlobal(name, context, &variable);
  if (result != CUDA_SUCCESS) return result;
  if (pointer != nullptr) {
    *pointer = reinterpret_cast<CUdeviceptr>(variable.address);
  }
  if (size != nullptr) *size = variable.size;
  return CUDA_SUCCESS;
}

CUresult Count(Library& library, unsigned* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(library.kernels().size());
  return CUDA_SUCCESS;
}

template <typename Handle>
CUresult Enumerate(Library& library, Handle* kernels, unsigned count) {
  if (kernels == nullptr && count > 0) return CUDA_ERROR_INVALID_VALUE;
  const size_t stored = std::min<size_t>(count, library.kernels().size());
  for (size_t i = 0; i < stored; ++i) {
    kernels[i] = (Handle)library.kernels()[i].handle;
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return LoadModule(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                            CUjit_option* options, void** values) {
  return LoadModule(module, image, count, options, values);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return LoadModule(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  std::string image;
  const CUresult result = ReadFile(path, &image);
  return result != CUDA_SUCCESS ? result
                                : cuModuleLoadData(module, image.c_str());
}

CUresult cuModuleUnload(CUmodule handle) {
  return WithObjects([&](Driver& driver) {
    const std::shared_ptr<Library> module = driver.code.FindModule(handle);
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    // A library's module goes with the library.
    if (module->context_id() == 0) return CUDA_ERROR_NOT_PERMITTED;
    driver.code.RemoveModule(handle);
    // Its variables go with it: no kernel may still use them.
    const std::shared_ptr<Context> context =
        driver.contexts().FindById(module->context_id());
    if (context != nullptr) context->Synchronize();
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return WithDriver([&](Driver&) {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle,
                             const char* name) {
  return WithModule(handle, [&](Library& module) {
    return FindKernel(module, name, function);
  });
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  return WithModule(handle, [&](Library& m) { return Count(m, count); });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count,
                                    CUmodule handle) {
  return WithModule(handle, [&](Library& module) {
    return Enumerate(module, functions, count);
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* pointer, size_t* size,
                              CUmodule handle, const char* name) {
  return WithModule(handle, [&](Library& module) -> CUresult {
    const std::shared_ptr<Context> owner =
        Driver::Get().contexts().FindById(module.context_id());
    if (owner != nullptr) {
      return FindGlobal(module, *owner, name, pointer, size);
    }
    return WithContext([&](Driver&, Context& context) {
      return FindGlobal(module, context, name, pointer, size);
    });
  });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code,
                           CUjit_option* jit_options, void** jit_values,
                           unsigned jit_count, CUlibraryOption*, void**,
                           unsigned) {
  return LoadLibrary(library, code, jit_options, jit_values, jit_count);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path,
                               CUjit_option* jit_options, void** jit_values,
                               unsigned jit_count, CUlibraryOption*, void**,
                               unsigned) {
  std::string image;
  const CUresult result = ReadFile(path, &image);
  if (result != CUDA_SUCCESS) return result;
  return LoadLibrary(library, image.c_str(), jit_options, jit_values,
                     jit_count);
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return WithDriver([&](Driver& driver) {
    const std::shared_ptr<Library> library = driver.code.RemoveLibrary(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    driver.DrainAll();
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle,
                            const char* name) {
  return WithLibrary(handle, [&](Library& library) {
    return FindKernel(library, name, reinterpret_cast<CUfunction*>(kernel));
  });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  return WithLibrary(handle, [&](Library& l) { return Count(l, count); });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count,
                                   CUlibrary handle) {
  return WithLibrary(handle, [&](Library& library) {
    return Enumerate(library, kernels, count);
  });
}

// The library's module has the library's number among the modules.
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary handle) {
  return WithContext([&](Driver& driver, Context&) {
    const std::shared_ptr<Library> library = driver.code.FindLibrary(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult read = CheckRead(*library);
    if (read != CUDA_SUCCESS) return read;
    *module = driver.code.ModuleOf(handle);
    return *module == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  });
}

// Kernels have no managed variables and no unified functions here.
CUresult cuLibraryGetManaged(CUdeviceptr*, size_t*, CUlibrary handle,
                             const char* name) {
  return WithLibrary(handle, [&](Library&) {
    return name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
  });
}

CUresult cuLibraryGetUnifiedFunction(void** function, CUlibrary handle,
                                     const char* name) {
  return WithLibrary(handle, [&](Library&) {
    return AnyNull(function, name) ? CUDA_ERROR_INVALID_VALUE
                                   : CUDA_ERROR_NOT_FOUND;
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* pointer, size_t* size,
                            CUlibrary handle, const char* name) {
  return WithContext([&](Driver&, Context& context) {
    return WithLibrary(handle, [&](Library& library) {
      return FindGlobal(library, context, name, pointer, size);
    });
  });
}

}  // extern "C"
