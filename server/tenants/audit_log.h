// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_AUDIT_LOG_H_
#define HOLDFAST_SERVER_TENANTS_AUDIT_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/log_limiter.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// The file that tells who was refused and what operators did, one JSON object a
// line:
//
//   {"time":"2026-01-31T12:00:00.123Z","event":"EndTenant","object":"job-1",
//    "client":"uid 0","peer":"unix uid=0 pid=7","outcome":"OK"}
//
// A line is written whole and at its end, so that several daemons may share a
// file and a rotation tool may move it. A value of a client's own making is cut
// at kMaxFieldBytes, with its size behind it, so that no line is longer than a
// few KiB. One client causes 5 refusals a second at most, after 200 at once,
// and as many admissions; `dropped` counts those before. Acts of operators are
// never dropped. Thread-safe.
//
// Written by Callers, which knows the caller; services tell it how acts ended.
// The file is for machines: fields keep their names.
class AuditLog {
 public:
  static constexpr size_t kMaxFieldBytes = 256;

  // Texts may have any size and any bytes; they live until the call returns.
  struct Event {
    absl::string_view name;    // what was asked for: "EndTenant"
    absl::string_view object;  // of what; may be empty
    absl::string_view client;  // who, as NameOf has it
    absl::string_view peer;    // how it is connected
    // OK, or the error that the client got; its message is cut as the other
    // fields are.
    absl::Status outcome;
  };

  // Writes nothing. As --audit-log does without a value.
  AuditLog() = default;
  // Makes the file with mode 0600 if it is missing. The path is that of
  // --audit-log; the message of an error names the flag.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(std::string path);

  // An act of an operator, with how it ended. These three do not fail: that the
  // file cannot be written to is logged once, until it can be again.
  void Act(const Event& event);
  // A session that a client was given.
  void Admission(const Event& event);
  // Something that was refused.
  void Refusal(const Event& event);

  // Opens the file again, after it was moved. On an error the old one is still
  // written to.
  absl::Status Reopen();

 private:
  explicit AuditLog(std::string path) : path_(std::move(path)) {}
  // Drops the event if its client is over the limit.
  void WriteLimited(LogLimiter& limiter, const Event& event);
  void Write(const Event& event, uint64_t dropped);

  const std::string path_;  // empty: writes nothing
  LogLimiter refusals_{{.burst = 200, .per_second = 5},
                       {.burst = 2000, .per_second = 100}};
  LogLimiter admissions_{{.burst = 200, .per_second = 5},
                         {.burst = 2000, .per_second = 100}};
  // Held for one write.
  absl::Mutex mutex_;
  UniqueFd file_ ABSL_GUARDED_BY(mutex_);
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;  // said so in the log
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_AUDIT_LOG_H_
