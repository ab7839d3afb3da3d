// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_NO_EXECUTOR_H_
#define HOLDFAST_SERVER_SUPERVISOR_NO_EXECUTOR_H_

#include <functional>
#include <memory>
#include <string>

#include "server/holdings/session_holdings.h"
#include "server/supervisor/executor.h"

namespace holdfast::supervisor {

// Stands for an executor that has ended with an earlier daemon, until its
// session gets another executor.
//
// The object has no holdings: the session itself has them, and recovers as
// after a fault.
class NoExecutor final : public Executor {
 public:
  pid_t pid() const override { return 0; }
  internal::Usage AskUsage(absl::Time) override { return {}; }
  absl::StatusOr<uint64_t> ReceivedThrough() override { return Gone(); }
  absl::StatusOr<internal::Serving> Serve(const SessionStart&,
                                          absl::Time) override {
    return Gone();
  }
  void UpdateLimits(const internal::AccountLimits&) override {}
  absl::Status Resume(absl::Time) override { return Gone(); }
  absl::Status Park(absl::Time) override { return Gone(); }
  void NoteIdle() override {}
  absl::Status Suspend(const std::string&, absl::Time) override {
    return Gone();
  }
  void Inherit(std::unique_ptr<SessionHoldings>) override {}
  std::unique_ptr<SessionHoldings> TakeHoldings() override { return nullptr; }
  std::optional<internal::Fault> fault() const override { return std::nullopt; }
  void OnEnd(std::function<void(absl::Status)>) override {}
  void Stop(absl::Time) override {}

 private:
  // Returns UNAVAILABLE, the error of every method that needs a process.
  static absl::Status Gone() {
    return absl::UnavailableError(
        "the session's executor has ended with the daemon before this one");
  }
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_NO_EXECUTOR_H_
