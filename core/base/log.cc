// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log_descriptor.h"
#include "core/base/log_limiter.h"
#include "core/base/printable.h"
#include "core/base/steady_time.h"

namespace holdfast {
namespace {

// Bytes of a message that are printed; the daemon's own are shorter.
constexpr size_t kMaxLineBytes = 4096;

std::atomic<LogLevel> g_level{LogLevel::kInfo};
std::atomic<int> g_descriptor{STDERR_FILENO};

std::string TextLine(absl::string_view time, absl::string_view severity,
                     absl::string_view process, int pid,
                     absl::string_view message) {
  return absl::StrCat(time, " ", severity, " ", process, "[", pid, "] ",
                      message, "\n");
}

std::atomic<decltype(&TextLine)> g_formatter{TextLine};

// As the machine's process list has it: in a namespace of processes getpid()
// says 1.
pid_t OuterPid() {
  char text[16] = {};
  const ssize_t n = readlink("/proc/self", text, sizeof text - 1);
  int pid = 0;
  return n > 0 && absl::SimpleAtoi(text, &pid) ? pid : getpid();
}

std::atomic<pid_t> g_pid{0};

std::string& ProcessName() {
  static std::string& name = *new std::string("holdfast");
  return name;
}

absl::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarning:
      return "WARNING";
    case LogLevel::kError:
      return "ERROR";
  }
  return "?";
}

void WriteAll(const std::string& line) {
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t n =
        write(g_descriptor, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // Nobody listens; there is nowhere to say so.
    done += static_cast<size_t>(n);
  }
}

}  // namespace

// log_formatter.h declares it, for log_format alone: everything logs, and
// nothing else need know that there are other formats.
void SetLogFormatter(decltype(&TextLine) formatter) { g_formatter = formatter; }

void SetLogDescriptor(int descriptor) { g_descriptor = descriptor; }

void SetLogLevel(LogLevel level) { g_level = level; }
LogLevel GetLogLevel() { return g_level.load(std::memory_order_relaxed); }

bool ParseLogLevel(absl::string_view text, LogLevel* level) {
  if (text == "debug") {
    *level = LogLevel::kDebug;
  } else if (text == "info") {
    *level = LogLevel::kInfo;
  } else if (text == "warning") {
    *level = LogLevel::kWarning;
  } else if (text == "error") {
    *level = LogLevel::kError;
  } else {
    return false;
  }
  return true;
}

void SetLogProcessName(absl::string_view name) {
  ProcessName() = std::string(name);
  g_pid = OuterPid();
}

void Log(LogLevel level, absl::string_view message) {
  if (level < GetLogLevel()) return;
  const size_t cut = message.size() - std::min(message.size(), kMaxLineBytes);
  message.remove_suffix(cut);
  std::string text = ToPrintable(message);
  if (cut > 0) absl::StrAppend(&text, " [", cut, " more bytes]");
  const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(),
                                            absl::UTCTimeZone());
  const std::string line =
      g_formatter.load()(time, LevelName(level), ProcessName(),
                         g_pid.load() != 0 ? g_pid.load() : getpid(), text);
  WriteAll(line);  // One write a line keeps lines of several threads apart.
}

void LogOfClient(absl::string_view client, LogLevel level,
                 absl::string_view message) {
  static LogLimiter& limiter = *new LogLimiter(
      {.burst = 200, .per_second = 5}, {.burst = 2000, .per_second = 50});
  const auto dropped = limiter.Admit(client, SteadyNow());
  if (!dropped.has_value()) return;
  if (*dropped > 0) {
    Log(LogLevel::kWarning, absl::StrCat(*dropped, " lines about ", client,
                                         " were dropped: it causes too many"));
  }
  Log(level, message);
}

}  // namespace holdfast
