// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "core/base/utf8.h"

namespace holdfast {
namespace {

absl::StatusOr<UniqueFd> OpenFile(const std::string& path) {
  UniqueFd file(open(path.c_str(),
                     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY,
                     0600));
  if (file.valid()) return file;
  return absl::ErrnoToStatus(errno, absl::StrCat("open --audit-log=", path));
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

absl::Status AuditLog::Reopen() {
  if (path_.empty()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd file, OpenFile(path_));
  absl::MutexLock lock(&mutex_);
  file_ = std::move(file);
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
  const std::string text = line.dump() + "\n";
  absl::MutexLock lock(&mutex_);
  const bool written = write(file_.get(), text.data(), text.size()) ==
                       static_cast<ssize_t>(text.size());
  if (!written && !failed_) LogError("--audit-log cannot be written to");
  failed_ = !written;
}

}  // namespace holdfast
