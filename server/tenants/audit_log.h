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

// The file of refusals, opened sessions and operators' acts, with one JSON
// object on each line:
//
//   {"time":"2026-01-31T12:00:00.123Z","event":"EndTenant","object":"job-1",
//    "client":"uid 0","peer":"unix uid=0 pid=7","outcome":"OK"}
//
// A line is appended with one write, so that several daemons may share the file
// and a rotation tool may move it. If a full disk cuts a line, that line is not
// valid JSON. This process begins its next line on a new line; another daemon
// that shares the file does so after Reopen. A value that comes from a client
// is cut at kMaxFieldBytes, followed by its size, so that a line has at most a
// few KiB. At most 200 refusals of one client are written at once, and then 5
// each second; the same limits apply to its admissions. The field `dropped` has
// the number of events that were dropped before a line. Acts of operators are
// never dropped. Thread-safe.
//
// The class Callers writes the log, because it identifies the caller; services
// report the outcomes of acts. Programs read the file, so fields never change
// their names.
class AuditLog {
 public:
  static constexpr size_t kMaxFieldBytes = 256;

  // Texts may have any size and any bytes. They must outlive the call.
  struct Event {
    absl::string_view name;    // the request: "EndTenant"
    absl::string_view object;  // its object; may be empty
    absl::string_view client;  // the client's NameOf
    absl::string_view peer;    // its connection
    // OK, or the error that the client got; its message is cut as the other
    // fields are.
    absl::Status outcome;
  };

  // Makes a log that writes nothing, as without --audit-log.
  AuditLog() = default;
  // Opens the file; makes it with mode 0600 if it is missing. `path` comes from
  // --audit-log, and an error names this flag.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(std::string path);

  // Checks that this user may write the file, or may make it in its folder if
  // it is missing. Does not make the file. Open can still fail if `path` is a
  // folder.
  static absl::Status Check(const std::string& path);

  // Writes an act of an operator, with its outcome. The three methods do not
  // fail: an error of writing is logged once, until writing works again.
  void Act(const Event& event);
  // Writes that a client has got a session.
  void Admission(const Event& event);
  // Writes a refusal.
  void Refusal(const Event& event);

  // Opens the file again after it was moved. On an error, the log continues to
  // write to the old file.
  absl::Status Reopen();

 private:
  explicit AuditLog(std::string path) : path_(std::move(path)) {}
  // Drops the event if its client is over the limit.
  void WriteLimited(LogLimiter& limiter, const Event& event);
  void Write(const Event& event, uint64_t dropped);
  void Append(const std::string& line);

  const std::string path_;  // empty: writes nothing
  LogLimiter refusals_{{.burst = 200, .per_second = 5},
                       {.burst = 2000, .per_second = 100}};
  LogLimiter admissions_{{.burst = 200, .per_second = 5},
                         {.burst = 2000, .per_second = 100}};
  // Held during one write.
  absl::Mutex mutex_;
  UniqueFd file_ ABSL_GUARDED_BY(mutex_);
  bool torn_ ABSL_GUARDED_BY(mutex_) = false;    // the last line has no end
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;  // the error was logged
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_AUDIT_LOG_H_
