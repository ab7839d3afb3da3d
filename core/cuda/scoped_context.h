// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_SCOPED_CONTEXT_H_
#define HOLDFAST_CORE_CUDA_SCOPED_CONTEXT_H_

#include "absl/status/status.h"
#include "core/cuda/context.h"
#include "cuda.h"

namespace holdfast::cuda {

// Makes a context current for the calling thread while this object lives. The
// destructor restores the previous context. Costs a few nanoseconds if the
// context is current already.
//
//   ScopedContext current(*context);
//   HOLDFAST_RETURN_IF_ERROR(current.status());
//
// Make it on the stack: the same thread must make and destroy it.
class ScopedContext {
 public:
  // On failure, the current context does not change, and status() has the
  // driver's error: check it before any other call of the driver.
  explicit ScopedContext(const Context& context);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

  // The result of the constructor.
  const absl::Status& status() const { return status_; }

 private:
  const DriverApi& api_;
  CUcontext previous_ = nullptr;
  bool switched_ = false;
  absl::Status status_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_SCOPED_CONTEXT_H_
