// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast {

// What an executor gets with its session; the descriptors are borrowed.
struct SessionStart {
  internal::Assign assign;
  int calls = -1;        // a socket that listens for rpcs
  int descriptors = -1;  // one that listens for clients' descriptors
  int blocks = -1;       // of SharedBlocks
  // Whose generated code it shares; empty: nobody's.
  std::string owner;
};

// What a session needs of the process that holds its resources. Thread-safe.
// The destructor ends the process.
class Executor {
 public:
  virtual ~Executor() = default;

  virtual pid_t pid() const = 0;

  // What its session holds and has done. Asks, and waits for the answer until
  // the deadline; then it is as last reported.
  virtual internal::Usage AskUsage(absl::Time deadline) = 0;

  // Gives it its session; returns when its socket accepts calls. Once.
  virtual absl::Status Serve(const SessionStart& start,
                             absl::Time deadline) = 0;

  // `callback` is called once when the process has ended, with how; at once
  // if that was earlier. Replaces the callback before it. It must not destroy
  // the executor; after OnEnd(nullptr) has returned, it does not run.
  virtual void OnEnd(std::function<void(absl::Status reason)> callback) = 0;

  // Asks it to free everything and exit; returns when it is gone. Still there
  // at the deadline, it is killed.
  virtual void Stop(absl::Time deadline) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_H_
