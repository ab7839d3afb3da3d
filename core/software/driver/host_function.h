// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_HOST_FUNCTION_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_HOST_FUNCTION_H_

namespace holdfast::software {

// While one lives, the calling thread runs a function of the application's,
// which must not call CUDA.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;

  static bool Active();

 private:
  const bool before_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_HOST_FUNCTION_H_
