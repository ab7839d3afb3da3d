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
  // The place among those that wait for a compiler: 1 is the next. 0: it is
  // being compiled.
  size_t queue_position = 0;
  size_t queue_length = 0;

  friend bool operator==(const CompileStage&, const CompileStage&) = default;
};

// How often those who wait look whether their caller is still there.
inline constexpr absl::Duration kCallerInterval = absl::Milliseconds(20);

// The caller of a compilation, as the code that works for it sees it. The
// functions are called every kCallerInterval, in the thread that brought the
// request and with no lock held.
struct CompileCaller {
  // Callers with the same name share one turn.
  std::string name;
  // Owns what is made for this caller: only it, and operators, see that in a
  // list. Empty: operators alone do, since nobody can prove to be the caller.
  std::string owner;
  // Charged for what compilers do for it; null: nothing is counted.
  std::shared_ptr<CompileBudget> budget;
  absl::Time deadline = absl::InfiniteFuture();
  // True once nobody waits for the answer any more.
  std::function<bool()> gone = [] { return false; };
  std::function<void(const CompileStage&)> report = [](const CompileStage&) {};
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_CALLER_H_
