// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_SCOPED_CONTEXT_H_
#define HOLDFAST_CORE_CUDA_SCOPED_CONTEXT_H_

#include "absl/status/status.h"
#include "core/cuda/context.h"
#include "cuda.h"

namespace holdfast::cuda {

// Makes a context current for this thread, and restores the previous one. Costs
// a few nanoseconds if it is current already.
//
//   ScopedContext current(*context);
//   HOLDFAST_RETURN_IF_ERROR(current.status());
//
// One thread makes and destroys it, on its stack.
class ScopedContext {
 public:
  // On failure nothing has changed, and status() has the driver's error: check
  // it before any other call of the driver.
  explicit ScopedContext(const Context& context);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

  // Set by the constructor only.
  const absl::Status& status() const { return status_; }

 private:
  const DriverApi& api_;
  CUcontext previous_ = nullptr;
  bool switched_ = false;
  absl::Status status_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_SCOPED_CONTEXT_H_
