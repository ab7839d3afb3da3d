// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/scoped_context.h"

#include "core/cuda/result.h"

namespace holdfast::cuda {

ScopedContext::ScopedContext(const Context& context) : api_(context.api()) {
  status_ = ToStatus(api_.cuCtxGetCurrent(&previous_), "cuCtxGetCurrent");
  if (!status_.ok() || previous_ == context.handle()) return;
  status_ = ToStatus(api_.cuCtxSetCurrent(context.handle()), "cuCtxSetCurrent");
  switched_ = status_.ok();
}

ScopedContext::~ScopedContext() {
  if (!switched_) return;
  LogIfFailed(api_.cuCtxSetCurrent(previous_), "cuCtxSetCurrent");
}

}  // namespace holdfast::cuda
