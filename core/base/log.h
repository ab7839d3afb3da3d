// SPDX-License-Identifier: Apache-2.0
//
// One line an event, to stderr, for people:
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

// Messages below the level are dropped. Default: kInfo.
void SetLogLevel(LogLevel level);
// Both may be called by any thread at any time.
LogLevel GetLogLevel();

// "debug", "info", "warning" or "error"; false for anything else. `level` is
// set only on success.
bool ParseLogLevel(absl::string_view text, LogLevel* level);

// Names the process in each line: "executor". Call before threads start.
void SetLogProcessName(absl::string_view name);

// Longer messages are cut, with the number of bytes that are missing. Errors of
// writing are ignored.
void Log(LogLevel level, absl::string_view message);

// Joins the arguments only if the line is written.
template <typename... Args>
void LogAt(LogLevel level, const Args&... args) {
  if (level >= GetLogLevel()) Log(level, absl::StrCat(args...));
}

// Writes what a client has caused, at most 200 lines of one client at once and
// 5 a second. How many were dropped stands above the next one. All clients
// together cause 2000 lines at once and 50 a second.
void LogOfClient(absl::string_view client, LogLevel level,
                 absl::string_view message);

// `client` is the name that limits go by; see Caller::client.
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
