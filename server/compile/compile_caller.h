// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILE_CALLER_H_
#define HOLDFAST_SERVER_COMPILE_COMPILE_CALLER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "server/tenants/compile_budget.h"

namespace holdfast {

// The stage of a request for a compilation.
struct CompileStage {
  // The place among the waiting requests; 1 is the next. 0: the request is
  // being compiled.
  size_t queue_position = 0;
  size_t queue_length = 0;

  friend bool operator==(const CompileStage&, const CompileStage&) = default;
};

// The time between two calls of CompileCaller::gone.
inline constexpr absl::Duration kCallerInterval = absl::Milliseconds(20);

// The caller of a compilation. While it waits, both functions are called about
// every kCallerInterval, on the request's thread and without a lock.
struct CompileCaller {
  // Callers with the same name share one turn.
  std::string name;
  // The owner of the programs that are made for this caller. Only the owner and
  // operators see the programs in a list. Empty: only operators see them,
  // because the caller's identity is not proven.
  std::string owner;
  // The budget that the compilers' work is charged to; null: it is not charged.
  std::shared_ptr<CompileBudget> budget;
  absl::Time deadline = absl::InfiniteFuture();
  // Returns true once the caller does not wait for the answer any more.
  std::function<bool()> gone = [] { return false; };
  // Takes the present stage of the request.
  std::function<void(const CompileStage&)> report = [](const CompileStage&) {};
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_CALLER_H_
