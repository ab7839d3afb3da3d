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

// Passes the lines that child processes write to pipes on to standard error. A
// child that its client has taken over can write without end, so that the bytes
// of each child and of all together are bounded; lines beyond are dropped, and
// counted above the child's next one. Control characters are escaped. Not
// thread-safe.
class OutputRelay {
 public:
  // Bytes at once, and each second after that.
  static constexpr LogLimiter::Rate kPerChild = {512 << 10, 16 << 10};
  static constexpr LogLimiter::Rate kAll = {2 << 20, 64 << 10};
  // Bytes; a longer line becomes several.
  static constexpr size_t kMaxLine = 32 << 10;
  // A child whose lines are dropped is not read for so long, so that it waits
  // rather than keep this process busy.
  static constexpr absl::Duration kPause = absl::Milliseconds(100);

  // Nor is one that writes a line by bits: its line is gathered for so long.
  static constexpr absl::Duration kGather = absl::Milliseconds(10);

  // Takes the reading end of a pipe to which `pid` writes.
  void Add(pid_t pid, UniqueFd pipe);

  // Appends the pipes to wait for. Returns after how many milliseconds Relay is
  // to be called besides; -1: there is no need.
  int AppendTo(std::vector<pollfd>* events, absl::Time now) const;

  // Reads once from each pipe that has bytes; drops pipes whose writers are
  // gone. Does not wait for a child.
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
  // Passes on the finished lines of its text.
  void PassLines(Output& output, absl::Time now);
  void Pass(Output& output, absl::string_view line, absl::Time now);

  LogLimiter limiter_{kPerChild, kAll};
  std::list<Output> outputs_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_OUTPUT_RELAY_H_
