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
  // The place among the waiting requests; 1 is the next. 0: it is being
  // compiled.
  size_t queue_position = 0;
  size_t queue_length = 0;

  friend bool operator==(const CompileStage&, const CompileStage&) = default;
};

// The time between two checks whether a waiting caller is still connected.
inline constexpr absl::Duration kCallerInterval = absl::Milliseconds(20);

// The caller of a compilation. The functions are called every kCallerInterval,
// on the request's thread and without a lock.
struct CompileCaller {
  // Callers with the same name share one turn.
  std::string name;
  // The owner of the programs that are made for this caller. Only the owner and
  // operators see them in a list. Empty: only operators do, because the
  // caller's identity is not proven.
  std::string owner;
  // Charged for the compilers' work; null: nothing is charged.
  std::shared_ptr<CompileBudget> budget;
  absl::Time deadline = absl::InfiniteFuture();
  // Returns true once the caller does not wait for the answer any more.
  std::function<bool()> gone = [] { return false; };
  std::function<void(const CompileStage&)> report = [](const CompileStage&) {};
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_CALLER_H_
