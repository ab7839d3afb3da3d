// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_LOG_FORMATTER_H_
#define HOLDFAST_CORE_BASE_LOG_FORMATTER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// A function that returns one line of the log, with its line break. `message`
// is valid UTF-8 without control characters. Any thread may call the function.
using LogFormatter = std::string (*)(absl::string_view time,
                                     absl::string_view severity,
                                     absl::string_view process, int pid,
                                     absl::string_view message);

// Sets the function that makes the lines of the log; `formatter` is not null.
// Thread-safe. Defined in log.cc.
void SetLogFormatter(LogFormatter formatter);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_FORMATTER_H_
