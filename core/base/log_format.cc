// SPDX-License-Identifier: Apache-2.0
#include "core/base/log_format.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/log_formatter.h"
#include "core/base/log_scope.h"
#include "core/base/printable.h"

namespace holdfast {
namespace {

// REQUIRES: valid UTF-8 without control characters.
std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

void AppendField(absl::string_view name, const std::string& value,
                 std::string* line) {
  if (value.empty()) return;
  absl::StrAppend(line, ",\"", name, "\":", Quoted(ToPrintable(value)));
}

std::string JsonLine(absl::string_view time, absl::string_view severity,
                     absl::string_view process, int pid,
                     absl::string_view message) {
  std::string line =
      absl::StrCat("{\"time\":\"", time, "\",\"severity\":\"", severity,
                   "\",\"process\":", Quoted(process), ",\"pid\":", pid,
                   ",\"message\":", Quoted(message));
  const LogFields fields = LogScope::Current();
  AppendField("session", fields.session, &line);
  AppendField("tenant", fields.tenant, &line);
  AppendField("trace_id", fields.trace_id, &line);
  AppendField("span_id", fields.span_id, &line);
  line.append("}\n");
  return line;
}

// Priorities are syslog's numbers, as sd-daemon(3) describes.
std::string JournalLine(absl::string_view, absl::string_view severity,
                        absl::string_view process, int pid,
                        absl::string_view message) {
  const char* const priority = severity == "ERROR"     ? "<3>"
                               : severity == "WARNING" ? "<4>"
                               : severity == "INFO"    ? "<6>"
                                                       : "<7>";
  return absl::StrCat(priority, process, "[", pid, "] ", message, "\n");
}

}  // namespace

void SetLogFormat(LogFormat format) {
  // Text is what the log begins with.
  if (format == LogFormat::kJson) SetLogFormatter(JsonLine);
  if (format == LogFormat::kJournal) SetLogFormatter(JournalLine);
}

absl::string_view DefaultLogFormat() {
  // systemd names the stream by device and inode; a program that has inherited
  // the variable may have another standard error.
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat status = {};
  const bool is_journal =
      stream != nullptr && fstat(STDERR_FILENO, &status) == 0 &&
      stream == absl::StrCat(status.st_dev, ":", status.st_ino);
  return is_journal ? "journal" : "text";
}

bool ParseLogFormat(absl::string_view text, LogFormat* format) {
  if (text == "text") {
    *format = LogFormat::kText;
  } else if (text == "journal") {
    *format = LogFormat::kJournal;
  } else if (text == "json") {
    *format = LogFormat::kJson;
  } else {
    return false;
  }
  return true;
}

}  // namespace holdfast
