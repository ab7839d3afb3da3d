// SPDX-License-Identifier: Apache-2.0
//
// How lines of the log look: as text for people, or as one JSON object a line
// for programs:
//
//   {"time":"2026-01-31T12:00:00.123Z","severity":"INFO","process":"executor",
//    "pid":4711,"message":"session ready","session":"s-7","trace_id":"4bf9..."}
//
// `message` has the same text in both, with control characters escaped by
// ToPrintable; `session` and what follows come from LogScope.
#ifndef HOLDFAST_CORE_BASE_LOG_FORMAT_H_
#define HOLDFAST_CORE_BASE_LOG_FORMAT_H_

#include "absl/strings/string_view.h"

namespace holdfast {

enum class LogFormat { kText, kJson };

// Default: kText. Call before threads start; kText does not take kJson back.
void SetLogFormat(LogFormat format);

// "text" or "json"; false for anything else.
bool ParseLogFormat(absl::string_view text, LogFormat* format);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_FORMAT_H_
