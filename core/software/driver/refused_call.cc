// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/refused_call.h"

#include "absl/strings/str_cat.h"
#include "core/cuda/error_text.h"
#include "core/software/driver/refusal.h"
#include "core/software/driver/settings.h"
#include "core/software/driver/trace.h"

namespace holdfast::software {

int RefuseCall(const char* function) {
  if (GetSettings().trace != Trace::kOff) {
    Print(function, " -> ", cuda::ErrorName(CUDA_ERROR_NOT_SUPPORTED));
  }
  return Refuse(CUDA_ERROR_NOT_SUPPORTED,
                absl::StrCat("the software device does not serve ", function));
}

}  // namespace holdfast::software
