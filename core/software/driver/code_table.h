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

// The modules and libraries that the application has loaded, and their kernels.
// A kernel has a handle exactly as long as its module or library has one.
// Thread-safe.
class CodeTable {
 public:
  // Give the code and its kernels handles. REQUIRES: the code has none yet.
  CUmodule AddModule(std::shared_ptr<Library> module);
  CUlibrary AddLibrary(std::shared_ptr<Library> library);

  // Return null if there is no such object.
  std::shared_ptr<Library> FindModule(CUmodule handle) const;
  std::shared_ptr<Library> FindLibrary(CUlibrary handle) const;
  // The handle is that of a CUkernel or of a CUfunction, which are the same.
  std::shared_ptr<Kernel> FindKernel(CUfunction handle) const;

  // Return the code that owns a kernel; null: no such code has a handle.
  // A library owns its kernels as a module only after ModuleOf.
  CUmodule ModuleWith(CUfunction kernel) const;
  CUlibrary LibraryWith(CUfunction kernel) const;
  // Returns the module that stands for a library, and has the library's number;
  // null: there is no such library. The module ends with the library.
  CUmodule ModuleOf(CUlibrary library);

  // End the handles of the code and of its kernels, and return the code; null:
  // there is no such code. REQUIRES: the module does not stand for a library.
  std::shared_ptr<Library> RemoveModule(CUmodule handle);
  std::shared_ptr<Library> RemoveLibrary(CUlibrary handle);

  // Removes the modules of a context, and drops the variables that libraries
  // have for it.
  void EndContext(uint64_t context_id);

 private:
  void AddKernels(Library& library) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveKernels(Library& library) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Held by changes, which concern several tables. Lookups do without.
  Mutex mutex_;
  HandleTable<CUmodule, Library> modules_;
  HandleTable<CUlibrary, Library> libraries_;
  HandleTable<CUfunction, Kernel> kernels_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_CODE_TABLE_H_
