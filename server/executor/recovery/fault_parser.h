// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_PARSER_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_PARSER_H_

#include "absl/strings/string_view.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::executor {

// Returns the place of a fault that the software driver's text contains: "...
// kernel saxpy, block (0,0,0), thread (5,0,0), PTX line 12, saxpy.cu:3: st:
// ...". Fields that the text does not contain stay empty; `error` is not set.
internal::Fault ParseFaultText(absl::string_view text);

// Returns the place of a failed assertion from the line that the driver writes:
// "saxpy.cu:4: void f(int): block: [0,0,0], thread: [2,0,0] Assertion `n > 0`
// failed.". The kernel stays empty, because the line names a function that may
// be a device function.
internal::Fault ParseAssertion(absl::string_view line);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_PARSER_H_
