// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/own_user.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "core/base/utf8.h"

namespace holdfast {
namespace {

absl::Status CannotOpen(const std::string& path) {
  const int error = errno;
  return absl::ErrnoToStatus(
      error, absl::StrCat("open --audit-log=", path, " as user ", OwnUser()));
}

absl::StatusOr<UniqueFd> OpenFile(const std::string& path) {
  UniqueFd file(open(path.c_str(),
                     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY,
                     0600));
  if (file.valid()) return file;
  return CannotOpen(path);
}

// Returns true if the file does not end with a line feed: a full disk cut it.
bool EndsInsideALine(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (!file.valid() || fstat(file.get(), &info) != 0 || info.st_size == 0 ||
      !S_ISREG(info.st_mode)) {
    return false;
  }
  char last = '\n';
  return pread(file.get(), &last, 1, info.st_size - 1) == 1 && last != '\n';
}

// Sets *torn to whether the file ends inside a line. Leaves *torn as it is if
// nothing was written.
absl::Status WriteAll(int file, absl::string_view text, bool* torn) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return absl::ErrnoToStatus(errno, "write");
    text.remove_prefix(static_cast<size_t>(written));
    *torn = !text.empty();
  }
  return absl::OkStatus();
}

// Returns the text as JSON can have it, or its beginning and how long it is.
std::string Cut(absl::string_view text) {
  constexpr size_t kMax = AuditLog::kMaxFieldBytes;
  if (text.size() <= kMax) return ToValidUtf8(text);
  return absl::StrCat(ToValidUtf8(text.substr(0, kMax)), "... (", text.size(),
                      " bytes)");
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(std::string path) {
  std::unique_ptr<AuditLog> log(new AuditLog(std::move(path)));
  HOLDFAST_RETURN_IF_ERROR(log->Reopen());
  return log;
}

absl::Status AuditLog::Check(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path();
  const bool can_write =
      access(path.c_str(), F_OK) == 0
          ? access(path.c_str(), W_OK) == 0
          : access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) == 0;
  return can_write ? absl::OkStatus() : CannotOpen(path);
}

absl::Status AuditLog::Reopen() {
  if (path_.empty()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd file, OpenFile(path_));
  absl::MutexLock lock(&mutex_);
  file_ = std::move(file);
  torn_ = EndsInsideALine(path_);
  failed_ = false;
  return absl::OkStatus();
}

void AuditLog::Act(const Event& event) { Write(event, 0); }

void AuditLog::Refusal(const Event& event) { WriteLimited(refusals_, event); }

void AuditLog::Admission(const Event& event) {
  WriteLimited(admissions_, event);
}

void AuditLog::WriteLimited(LogLimiter& limiter, const Event& event) {
  const std::optional<uint64_t> dropped =
      limiter.Admit(event.client.substr(0, kMaxFieldBytes), SteadyNow());
  if (dropped.has_value()) Write(event, *dropped);
}

void AuditLog::Write(const Event& event, uint64_t dropped) {
  if (path_.empty()) return;
  nlohmann::ordered_json line;
  line["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(),
                                  absl::UTCTimeZone());
  line["event"] = Cut(event.name);
  if (!event.object.empty()) line["object"] = Cut(event.object);
  line["client"] = Cut(event.client);
  if (!event.peer.empty()) line["peer"] = Cut(event.peer);
  line["outcome"] = absl::StatusCodeToString(event.outcome.code());
  if (!event.outcome.ok()) {
    line["message"] = Cut(event.outcome.message());
  }
  if (dropped > 0) line["dropped"] = dropped;
  Append(line.dump() + "\n");
}

void AuditLog::Append(const std::string& line) {
  absl::MutexLock lock(&mutex_);
  // Ends the line that a full disk has cut, so that only that line is lost.
  const std::string text = torn_ ? absl::StrCat("\n", line) : line;
  const absl::Status written = WriteAll(file_.get(), text, &torn_);
  if (!written.ok() && !failed_) {
    LogError("--audit-log=", path_, ": ", written.message(),
             "; events are missing from it until it can be written to");
  }
  failed_ = !written.ok();
}

}  // namespace holdfast
