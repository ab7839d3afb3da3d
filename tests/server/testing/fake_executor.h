// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_FAKE_EXECUTOR_H_
#define HOLDFAST_TESTS_SERVER_TESTING_FAKE_EXECUTOR_H_

#include <grpcpp/server.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "server/holdings/session_holdings.h"
#include "server/journal/journal_writer.h"
#include "server/rpc/accept_thread.h"
#include "server/supervisor/executor.h"

namespace holdfast::testing {

// An executor without process and device, for tests of a client and the
// daemon's services in one process. It serves the session's socket, keeps the
// journal and asks the supervisor for memory as a real one does, and answers
// commands with made-up values (AnswerCommand). It has no rings, so that its
// clients use gRPC, and no transfers. It keeps granted memory until its session
// ends. Thread-safe.
class FakeExecutor final : public supervisor::Executor {
 public:
  explicit FakeExecutor(const SessionHoldings::Services& services);
  ~FakeExecutor() override;

  // Ends as a process that reports `fault` and dies. The session may have
  // another executor when it returns, and this object may be gone. REQUIRES: it
  // serves a session, and nothing else ends it meanwhile.
  void Crash(const internal::Fault& fault);

  // Makes Stop first call `on_stop`, which may block. REQUIRES: Serve was not
  // called yet.
  void SetOnStop(std::function<void()> on_stop) {
    on_stop_ = std::move(on_stop);
  }

  pid_t pid() const override { return 0; }
  internal::Usage AskUsage(absl::Time) override { return {}; }
  absl::StatusOr<uint64_t> ReceivedThrough() override;
  absl::StatusOr<internal::Serving> Serve(const supervisor::SessionStart& start,
                                          absl::Time) override;
  void UpdateLimits(const internal::AccountLimits&) override {}
  absl::Status Resume(absl::Time) override;
  absl::Status Park(absl::Time) override { return Unable(); }
  void NoteIdle() override {}
  absl::Status Suspend(const std::string&, absl::Time) override {
    return Unable();
  }
  void Inherit(std::unique_ptr<SessionHoldings> holdings) override;
  std::unique_ptr<SessionHoldings> TakeHoldings() override;
  std::optional<internal::Fault> fault() const override;
  void OnEnd(std::function<void(absl::Status)> callback) override;
  void Stop(absl::Time) override;

 private:
  class Commands;

  static absl::Status Unable() {
    return absl::UnimplementedError("a fake executor only answers commands");
  }
  // Begins to take connections from the session's sockets.
  absl::Status Listen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends every call and connection. No effect if there is none.
  void StopServing();
  v1::ResultBatch Process(const v1::CommandBatch& batch);
  // Takes memory for a buffer from the tenant's quota.
  absl::Status Reserve(const v1::AllocateBuffer& buffer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SessionHoldings::Services services_;
  std::function<void()> on_stop_;
  mutable absl::Mutex mutex_;
  std::unique_ptr<SessionHoldings> holdings_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<journal::JournalWriter> journal_ ABSL_GUARDED_BY(mutex_);
  UniqueFd calls_ ABSL_GUARDED_BY(mutex_);
  UniqueFd descriptors_ ABSL_GUARDED_BY(mutex_);
  uint64_t received_ ABSL_GUARDED_BY(mutex_) = 0;
  bool succeeds_ ABSL_GUARDED_BY(mutex_) = false;  // another executor
  bool reserves_buffers_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<internal::Fault> fault_ ABSL_GUARDED_BY(mutex_);
  std::function<void(absl::Status)> on_end_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<Commands> commands_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<AcceptThread> accept_calls_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<AcceptThread> accept_descriptors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SERVER_TESTING_FAKE_EXECUTOR_H_
