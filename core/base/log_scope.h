// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_LOG_SCOPE_H_
#define HOLDFAST_CORE_BASE_LOG_SCOPE_H_

#include <string>

namespace holdfast {

// The fields of a log line that say what it is about. Empty fields are left
// out.
struct LogFields {
  std::string session;  // "s-7"
  std::string tenant;   // the session's tenant
  std::string
      trace_id;         // 32 hexadecimal digits; see server/rpc/trace_context.h
  std::string span_id;  // 16 digits: the caller's span
};

// Adds fields to the lines that this thread writes while the object lives. A
// field that the inner scope leaves empty comes from the outer scope.
//
//   const LogScope scope({.session = id});
//   LogInfo("closed");
class LogScope {
 public:
  explicit LogScope(LogFields fields);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

  // Returns this thread's fields, to pass them to another thread. Empty outside
  // any scope.
  static LogFields Current();

 private:
  LogFields fields_;
  const LogScope* const outer_;
};

// Sets the fields for all lines of this process, which serves one session; a
// LogScope replaces single fields. REQUIRES: called once, before other threads
// write.
void SetProcessLogFields(LogFields fields);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_SCOPE_H_
