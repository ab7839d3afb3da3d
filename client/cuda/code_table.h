// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_CODE_TABLE_H_
#define HOLDFAST_CLIENT_CUDA_CODE_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cuda/handle_table.h"
#include "client/cuda/module.h"
#include "cuda.h"

namespace holdfast::libcuda {

// A library whose image cannot be read.
struct RefusedLibrary {
  absl::Status reason;
  bool is_told = false;  // the program's error log has the reason
};

// The code that the program has loaded: modules and libraries, and their
// kernels. A library has one number as a CUlibrary and as the CUmodule that
// stands for it, and so has a kernel as a CUkernel and as a CUfunction. The
// handle of a kernel ends with its module or library. Thread-safe.
class CodeTable {
 public:
  CUmodule Add(std::shared_ptr<Module> module);
  CUlibrary Add(RefusedLibrary library);

  // Return null if there is no such object.
  std::shared_ptr<Module> Find(CUmodule handle) const;
  std::shared_ptr<const RefusedLibrary> FindRefused(CUlibrary handle) const;
  std::shared_ptr<Function> FindFunction(CUfunction handle) const;
  // Returns null if the module has ended.
  CUmodule HandleOf(const Module* module) const;
  // Returns the handle of a kernel, which is the same for the same name. Fails
  // and waits as Module::GetFunction.
  absl::StatusOr<CUfunction> GetFunction(Module& module,
                                         const std::string& name);

  // Ends the handles of a module or library and of its kernels. Returns the
  // module or library; null: there is none.
  std::shared_ptr<Module> Remove(CUmodule handle);
  // Returns false if there is no such library.
  bool RemoveRefused(CUlibrary handle);
  // Removes the modules of a context, and the code that libraries have loaded
  // for it.
  void EndContext(uint64_t context_id);

 private:
  HandleTable<CUmodule, Module> modules_;
  HandleTable<CUlibrary, const RefusedLibrary> refused_;
  FunctionTable functions_;
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_CODE_TABLE_H_
