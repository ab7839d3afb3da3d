// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_TEXT_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_TEXT_H_

#include "absl/strings/string_view.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::executor {

// Returns what the software driver's account of a fault says of its place, with
// no error: "... kernel saxpy, block (0,0,0), thread (5,0,0), PTX line 12,
// saxpy.cu:3: st: ...". Fields that the text does not have stay empty.
internal::Fault ParseFaultText(absl::string_view text);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_TEXT_H_
