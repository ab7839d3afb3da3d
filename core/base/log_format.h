// SPDX-License-Identifier: Apache-2.0
//
// The formats of the log: text, lines for systemd's journal, or one JSON object
// for each line:
//
//   2026-01-31T12:00:00.123Z WARNING executor[4711] device 0 is quarantined
//   <4>executor[4711] device 0 is quarantined
//
//   {"time":"2026-01-31T12:00:00.123Z","severity":"INFO","process":"executor",
//    "pid":4711,"message":"session ready","session":"s-7","trace_id":"4bf9..."}
//
// The message is the same in all three formats, with control characters escaped
// by ToPrintable. `session` and the fields after it come from LogScope; only
// JSON has them. The journal reads the priority, "<4>", from the line's
// beginning, and adds the time itself.
#ifndef HOLDFAST_CORE_BASE_LOG_FORMAT_H_
#define HOLDFAST_CORE_BASE_LOG_FORMAT_H_

#include "absl/strings/string_view.h"

namespace holdfast {

enum class LogFormat { kText, kJournal, kJson };

// Sets the format of the log, which is kText by default. Call it before threads
// start, and only once: a later call with kText has no effect.
void SetLogFormat(LogFormat format);

// Returns "journal" if standard error goes to systemd's journal, else "text".
absl::string_view DefaultLogFormat();

// Parses "text", "journal" or "json". Returns false, and does not set `format`,
// for another text.
bool ParseLogFormat(absl::string_view text, LogFormat* format);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_FORMAT_H_
