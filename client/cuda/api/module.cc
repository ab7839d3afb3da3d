// SPDX-License-Identifier: Apache-2.0
//
// Entry points: modules and libraries.
#include "client/cuda/module.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "client/cuda/api/call.h"
#include "client/cuda/jit_options.h"
#include "core/base/status_macros.h"

using namespace holdfast::libcuda;

namespace {

absl::StatusOr<std::shared_ptr<Module>> Read(Process& process,
                                             const void* image,
                                             const Context* context,
                                             const JitOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(Image found, ImageOf(image));
  std::string limited;
  if (found.format == holdfast::v1::OBJECT_FORMAT_PTX) {
    limited = options.limits().Apply(found.bytes);
    found.bytes = limited;
  }
  return Module::Load(process.connection().session(), found, context);
}

CUresult RefuseCode(const absl::Status& status) {
  const CUresult result = Answer(status);
  SayCodeIsRefused(result, status);
  return result;
}

// Gives the code a handle. A GPU's driver reads the image of a library, which
// no context owns, when something of it is looked up. So bytes that are no
// image are refused then.
template <typename Handle>
CUresult Load(Process& process, const void* image, const Context* context,
              const JitOptions& options, Handle* handle) {
  auto loaded = Read(process, image, context, options);
  options.Report(loaded.status());
  if (loaded.ok()) {
    *handle = reinterpret_cast<Handle>(process.code.Add(*std::move(loaded)));
    return CUDA_SUCCESS;
  }
  const CUresult result = Answer(loaded.status());
  if (result == CUDA_ERROR_INVALID_IMAGE && context == nullptr) {
    *handle = reinterpret_cast<Handle>(process.code.Add(
        {.reason = loaded.status(), .is_told = options.has_error_log()}));
    return CUDA_SUCCESS;
  }
  if (!options.has_error_log()) SayCodeIsRefused(result, loaded.status());
  return result;
}

CUresult LoadModule(CUmodule* handle, const void* image,
                    const JitOptions& options = {}) {
  return WithContext([&](Process& process, Context& context) {
    return AnyNull(handle, image)
               ? CUDA_ERROR_INVALID_VALUE
               : Load(process, image, &context, options, handle);
  });
}

CUresult LoadLibrary(CUlibrary* handle, const void* image,
                     const JitOptions& options) {
  return WithObjects([&](Process& process) {
    return AnyNull(handle, image)
               ? CUDA_ERROR_INVALID_VALUE
               : Load(process, image, nullptr, options, handle);
  });
}

CUresult ReadFile(const char* path, std::string* content) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  content->assign(std::istreambuf_iterator<char>(file), {});
  return CUDA_SUCCESS;
}

// body(Process&, Module&) with a CUmodule or a CUlibrary.
template <typename Body>
CUresult WithModule(void* handle, Body body) {
  return WithObjects([&](Process& process) -> CUresult {
    const auto module = process.code.Find(static_cast<CUmodule>(handle));
    if (module != nullptr) return Answer(body(process, *module));
    const auto refused =
        process.code.FindRefused(static_cast<CUlibrary>(handle));
    if (refused == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return refused->is_told ? Answer(refused->reason)
                            : RefuseCode(refused->reason);
  });
}

CUresult GetFunction(CUfunction* function, void* handle, const char* name) {
  return WithModule(handle, [&](Process& process, Module& module) -> CUresult {
    if (AnyNull(function, name) || *name == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto found = process.code.GetFunction(module, name);
    if (absl::IsUnimplemented(found.status()))
      return RefuseCode(found.status());
    HOLDFAST_ANSWER_IF_ERROR(found.status());
    *function = *found;
    return CUDA_SUCCESS;
  });
}

CUresult Enumerate(CUfunction* functions, unsigned count, void* handle) {
  return WithModule(handle, [&](Process& process, Module& module) -> CUresult {
    if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::vector<std::string>& names = module.kernel_names();
    for (unsigned i = 0; i < std::min<size_t>(count, names.size()); ++i) {
      HOLDFAST_ANSWER_OR_ASSIGN(functions[i],
                                process.code.GetFunction(module, names[i]));
    }
    return CUDA_SUCCESS;
  });
}

CUresult Count(unsigned* count, void* handle) {
  return WithModule(handle, [&](Process&, Module& module) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(module.kernel_names().size());
    return CUDA_SUCCESS;
  });
}

// The variable is memory of the session from now on, until its module ends.
CUresult GetGlobal(CUdeviceptr* pointer, size_t* size, void* handle,
                   const char* name) {
  return WithModule(handle, [&](Process& process, Module& module) -> CUresult {
    if (name == nullptr || (pointer == nullptr && size == nullptr)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // A library's variables are those of the current context's device.
    const CUcontext owner =
        module.context() != nullptr ? module.context() : CurrentContext();
    const auto context = process.contexts().Find(owner);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    auto variable = std::make_shared<Allocation>();
    HOLDFAST_ANSWER_OR_ASSIGN(const holdfast::Module code, module.In(*context));
    HOLDFAST_ANSWER_OR_ASSIGN(
        variable->buffer, code.GetGlobal(name, context->device().ordinal()));
    HOLDFAST_ANSWER_OR_ASSIGN(variable->address, variable->buffer->address());
    variable->size = variable->buffer->size();
    variable->context = context->handle();
    variable->context_id = context->id();
    variable->ordinal = context->ordinal();
    variable->module = &module;
    if (pointer != nullptr) *pointer = variable->address;
    if (size != nullptr) *size = variable->size;
    process.memory.Add(std::move(variable));
    return CUDA_SUCCESS;
  });
}

CUresult Unload(void* handle) {
  return WithObjects([&](Process& process) {
    const auto module = process.code.Remove(static_cast<CUmodule>(handle));
    if (module == nullptr) {
      return process.code.RemoveRefused(static_cast<CUlibrary>(handle))
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_INVALID_HANDLE;
    }
    process.memory.RemoveIf([&](const Allocation& memory) {
      return memory.module == module.get();
    });
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return LoadModule(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return LoadModule(module, image);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                            CUjit_option* options, void** values) {
  JitOptions jit;
  const CUresult result = JitOptions::Parse(count, options, values, &jit);
  return result != CUDA_SUCCESS ? result : LoadModule(module, image, jit);
}

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  std::string image;
  const CUresult result = ReadFile(path, &image);
  return result != CUDA_SUCCESS ? result : LoadModule(module, image.c_str());
}

CUresult cuModuleUnload(CUmodule module) { return Unload(module); }

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return WithProcess([&](Process&) {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module,
                             const char* name) {
  return GetFunction(function, module, name);
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return Count(count, module);
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count,
                                    CUmodule module) {
  return Enumerate(functions, count, module);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* pointer, size_t* size,
                              CUmodule module, const char* name) {
  return GetGlobal(pointer, size, module, name);
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image,
                           CUjit_option* options, void** values, unsigned count,
                           CUlibraryOption*, void**, unsigned) {
  JitOptions jit;
  const CUresult result = JitOptions::Parse(count, options, values, &jit);
  return result != CUDA_SUCCESS ? result : LoadLibrary(library, image, jit);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path,
                               CUjit_option* options, void** values,
                               unsigned count, CUlibraryOption*, void**,
                               unsigned) {
  std::string image;
  const CUresult result = ReadFile(path, &image);
  return result != CUDA_SUCCESS
             ? result
             : cuLibraryLoadData(library, image.c_str(), options, values, count,
                                 nullptr, nullptr, 0);
}

CUresult cuLibraryUnload(CUlibrary library) { return Unload(library); }

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library,
                            const char* name) {
  return GetFunction(reinterpret_cast<CUfunction*>(kernel), library, name);
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  return Count(count, library);
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count,
                                   CUlibrary library) {
  return Enumerate(reinterpret_cast<CUfunction*>(kernels), count, library);
}

CUresult cuLibraryGetGlobal(CUdeviceptr* pointer, size_t* size,
                            CUlibrary library, const char* name) {
  return GetGlobal(pointer, size, library, name);
}

// No code with managed variables is loaded.
CUresult cuLibraryGetManaged(CUdeviceptr*, size_t*, CUlibrary library,
                             const char* name) {
  return WithModule(library, [&](Process&, Module&) {
    return name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
  });
}

CUresult cuLibraryGetModule(CUmodule* handle, CUlibrary library) {
  return WithModule(library, [&](Process&, Module&) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *handle = reinterpret_cast<CUmodule>(library);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
