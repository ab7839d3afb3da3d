// SPDX-License-Identifier: Apache-2.0
//
// A log with one line for each event, on stderr:
//
//   2026-01-31T12:00:00.123Z INFO executor[4711] session ready device=0
//
//   LogInfo("session ready device=", ordinal);
//
// The arguments are joined as absl::StrCat joins them. ToPrintable escapes line
// breaks and terminal controls in them, so that one event stays one line. A
// line has at most 4 KiB. Thread-safe; lines never mix.
#ifndef HOLDFAST_CORE_BASE_LOG_H_
#define HOLDFAST_CORE_BASE_LOG_H_

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace holdfast {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Sets the level below which messages are dropped; kInfo by default. Any thread
// may call SetLogLevel and GetLogLevel at any time.
void SetLogLevel(LogLevel level);
LogLevel GetLogLevel();

// Parses "debug", "info", "warning" or "error". Returns false, and does not set
// `level`, for another text.
bool ParseLogLevel(absl::string_view text, LogLevel* level);

// Sets the name of the process in each line, such as "executor". REQUIRES: no
// other thread has started.
void SetLogProcessName(absl::string_view name);

// Writes a line if `level` is high enough. Cuts a message at 4 KiB, and adds
// the number of missing bytes. Blocks if the reader of stderr does not read.
// Ignores errors of writing.
void Log(LogLevel level, absl::string_view message);

// Does the same as Log for several arguments. Joins them only if the line is
// written.
template <typename... Args>
void LogAt(LogLevel level, const Args&... args) {
  if (level >= GetLogLevel()) Log(level, absl::StrCat(args...));
}

// Writes a line that a client has caused. `client` is the name to which the
// limits apply; see Caller::client. Each client may cause 200 lines at once,
// and then 5 each second. All clients together may cause 2000 lines at once,
// and then 50 each second. Further lines are dropped, and their number is
// written before the client's next line.
void LogOfClient(absl::string_view client, LogLevel level,
                 absl::string_view message);

// Does the same as LogOfClient for several arguments.
template <typename... Args>
void LogFor(absl::string_view client, LogLevel level, const Args&... args) {
  if (level >= GetLogLevel()) LogOfClient(client, level, absl::StrCat(args...));
}

template <typename... Args>
void LogDebug(const Args&... args) {
  LogAt(LogLevel::kDebug, args...);
}
template <typename... Args>
void LogInfo(const Args&... args) {
  LogAt(LogLevel::kInfo, args...);
}
template <typename... Args>
void LogWarning(const Args&... args) {
  LogAt(LogLevel::kWarning, args...);
}
template <typename... Args>
void LogError(const Args&... args) {
  LogAt(LogLevel::kError, args...);
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_H_
