// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_LOG_SCOPE_H_
#define HOLDFAST_CORE_BASE_LOG_SCOPE_H_

#include <string>

namespace holdfast {

// The subject of a line of the log. Empty fields are left out.
struct LogFields {
  std::string session;  // "s-7"
  std::string tenant;   // who pays for it
  std::string
      trace_id;         // 32 hexadecimal digits; see server/rpc/trace_context.h
  std::string span_id;  // 16 of them: of the caller
};

// Adds fields to the lines that this thread writes while the object lives. The
// fields of an outer scope hold where the inner one has none.
//
//   const LogScope scope({.session = id});
//   LogInfo("closed");
class LogScope {
 public:
  explicit LogScope(LogFields fields);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

  // This thread's fields, to be carried to another one. Empty outside any
  // scope.
  static LogFields Current();

 private:
  LogFields fields_;
  const LogScope* const outer_;
};

// Fields for all lines of a process that serves one session, from all its
// threads. Once, before there are threads that write.
void SetProcessLogFields(LogFields fields);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_SCOPE_H_
