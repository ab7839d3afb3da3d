// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_LOG_FORMATTER_H_
#define HOLDFAST_CORE_BASE_LOG_FORMATTER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns a line of the log with its line break. `message` is valid UTF-8
// without control characters.
using LogFormatter = std::string (*)(absl::string_view time,
                                     absl::string_view severity,
                                     absl::string_view process, int pid,
                                     absl::string_view message);

// Sets the function that makes the lines; not null. Defined in log.cc.
void SetLogFormatter(LogFormatter formatter);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_FORMATTER_H_
