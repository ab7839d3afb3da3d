// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_HOST_FUNCTION_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_HOST_FUNCTION_H_

namespace holdfast::software {

// While one lives, the calling thread runs a function of the application's,
// which must not call CUDA.
//
// cuLaunchHostFunc and callbacks of streams run in one; calls of CUDA then
// return CUDA_ERROR_NOT_PERMITTED. Scopes nest.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;

  // The calling thread is in such a function.
  static bool Active();

 private:
  const bool before_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_HOST_FUNCTION_H_
