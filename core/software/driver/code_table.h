// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_CODE_TABLE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_CODE_TABLE_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/handle_table.h"
#include "core/software/driver/library.h"
#include "cuda.h"

namespace holdfast::software {

// The handles of the modules and libraries that the application has loaded, and
// of their kernels. A kernel has a handle exactly as long as its module or
// library has one. Thread-safe.
class CodeTable {
 public:
  // Add code: give it and its kernels handles, and return the handle of the
  // code. REQUIRES: the code has no handle yet.
  CUmodule AddModule(std::shared_ptr<Library> module);
  CUlibrary AddLibrary(std::shared_ptr<Library> library);

  // Return the object with this handle; null if there is none.
  std::shared_ptr<Library> FindModule(CUmodule handle) const;
  std::shared_ptr<Library> FindLibrary(CUlibrary handle) const;
  // In this driver, a kernel's CUkernel and its CUfunction are the same handle.
  std::shared_ptr<Kernel> FindKernel(CUfunction handle) const;

  // Return the handle of the module or the library that owns a kernel; null if
  // there is none. ModuleWith finds the module of a library only after
  // ModuleOf.
  CUmodule ModuleWith(CUfunction kernel) const;
  CUlibrary LibraryWith(CUfunction kernel) const;
  // Returns the handle of the module that stands for a library
  // (cuLibraryGetModule); null if there is no such library. It has the same
  // value as the library's handle, and ends with the library.
  CUmodule ModuleOf(CUlibrary library);

  // Remove the handles of the code and of its kernels, and return the code;
  // null if there is no such code. REQUIRES: the module does not stand for a
  // library.
  std::shared_ptr<Library> RemoveModule(CUmodule handle);
  std::shared_ptr<Library> RemoveLibrary(CUlibrary handle);

  // Removes the modules of a context, and the variables that libraries have for
  // this context.
  void EndContext(uint64_t context_id);

 private:
  void AddKernels(Library& library) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveKernels(Library& library) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Held by functions that change the tables, because they change several of
  // them. Lookups need only the locks of the tables.
  Mutex mutex_;
  HandleTable<CUmodule, Library> modules_;
  HandleTable<CUlibrary, Library> libraries_;
  HandleTable<CUfunction, Kernel> kernels_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_CODE_TABLE_H_
