// SPDX-License-Identifier: Apache-2.0
//
// How lines of the log look: as text for people, as systemd's journal takes
// them, or as one JSON object a line for programs:
//
//   2026-01-31T12:00:00.123Z WARNING executor[4711] device 0 is quarantined
//   <4>executor[4711] device 0 is quarantined
//
//   {"time":"2026-01-31T12:00:00.123Z","severity":"INFO","process":"executor",
//    "pid":4711,"message":"session ready","session":"s-7","trace_id":"4bf9..."}
//
// `message` has the same text in all three, with control characters escaped by
// ToPrintable; `session` and what follows come from LogScope. The journal takes
// the priority from the line's beginning, and has a time of its own.
#ifndef HOLDFAST_CORE_BASE_LOG_FORMAT_H_
#define HOLDFAST_CORE_BASE_LOG_FORMAT_H_

#include "absl/strings/string_view.h"

namespace holdfast {

enum class LogFormat { kText, kJournal, kJson };

// Default: kText. Call before threads start; kText does not undo an earlier
// call.
void SetLogFormat(LogFormat format);

// Returns "journal" where standard error goes to systemd's journal, else
// "text".
absl::string_view DefaultLogFormat();

// "text", "journal" or "json"; false for anything else.
bool ParseLogFormat(absl::string_view text, LogFormat* format);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_FORMAT_H_
