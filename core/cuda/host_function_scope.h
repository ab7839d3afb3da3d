// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_HOST_FUNCTION_SCOPE_H_
#define HOLDFAST_CORE_CUDA_HOST_FUNCTION_SCOPE_H_

namespace holdfast::cuda {

// A scope in which the calling thread runs a function of the program: for
// cuLaunchHostFunc, a callback of a stream, or the destructor of a user object.
// Calls of CUDA in the scope return CUDA_ERROR_NOT_PERMITTED. Scopes nest.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;

  // Returns true if the calling thread is in such a scope.
  static bool Active();

 private:
  const bool before_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_HOST_FUNCTION_SCOPE_H_
