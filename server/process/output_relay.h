// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_OUTPUT_RELAY_H_
#define HOLDFAST_SERVER_PROCESS_OUTPUT_RELAY_H_

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/log_limiter.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// Forwards lines of child processes, which write to pipes, to standard error. A
// compromised child can write without end, so the bytes of each child and of
// all children are limited. Lines over the limit are dropped, and their number
// is logged before the child's next line. Control characters are escaped. Not
// thread-safe.
class OutputRelay {
 public:
  // Bytes of a burst, and bytes per second after it.
  static constexpr LogLimiter::Rate kPerChild = {512 << 10, 16 << 10};
  static constexpr LogLimiter::Rate kAll = {2 << 20, 64 << 10};
  // The most bytes of a line. A longer line is split.
  static constexpr size_t kMaxLine = 32 << 10;
  // The time for which a child is not read after a line was dropped, so that
  // the child waits and does not keep this process busy.
  static constexpr absl::Duration kPause = absl::Milliseconds(100);

  // The time for which a child with an unfinished line is not read, so that
  // small writes are gathered.
  static constexpr absl::Duration kGather = absl::Milliseconds(10);

  // Takes the reading end of a pipe to which `pid` writes.
  void Add(pid_t pid, UniqueFd pipe);

  // Appends the pipes that the caller polls before it calls Relay. Returns the
  // milliseconds after which Relay must be called even without an event; -1:
  // there is no such time.
  int AppendTo(std::vector<pollfd>* events, absl::Time now) const;

  // Reads once from each pipe, and closes pipes that have no writer any more.
  // Does not block on a child.
  void Relay(absl::Time now);

 private:
  struct Output {
    std::string name;  // of the child
    UniqueFd pipe;
    std::string text;  // an unfinished line
    absl::Time paused_until = absl::InfinitePast();
  };

  // Returns false at the end of the pipe.
  bool Read(Output& output, absl::Time now);
  // Forwards the finished lines of `output.text`, and removes them from it.
  void PassLines(Output& output, absl::Time now);
  void Pass(Output& output, absl::string_view line, absl::Time now);

  LogLimiter limiter_{kPerChild, kAll};
  std::list<Output> outputs_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_OUTPUT_RELAY_H_
