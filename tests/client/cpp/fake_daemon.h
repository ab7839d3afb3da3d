// SPDX-License-Identifier: Apache-2.0
//
// A daemon without devices. It records the commands that it receives, and
// answers as a test wants.
#ifndef HOLDFAST_TESTS_CLIENT_CPP_FAKE_DAEMON_H_
#define HOLDFAST_TESTS_CLIENT_CPP_FAKE_DAEMON_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/ring_pair.h"
#include "grpcpp/server.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "holdfast/v1/transfers.grpc.pb.h"

namespace holdfast {

// Serves on a Unix socket of its own until it is destroyed.
class FakeDaemon {
 public:
  // Each connection breaks when it is `max_age` old, even with calls on it.
  explicit FakeDaemon(absl::Duration max_age = absl::InfiniteDuration());
  ~FakeDaemon();

  const std::string& address() const { return address_; }
  void set_limits(const v1::SessionLimits& limits);
  // Sets the devices of sessions that are opened from now on.
  void set_devices(const std::vector<uint32_t>& devices);

  // Makes command `sequence` fail with this gRPC code and message.
  void Fail(uint64_t sequence, int code, const std::string& message);
  // Holds back all results, also failures, until Release.
  void Hold();
  void Release();

  // Makes Execute accept the client's rings, and pass batches and results
  // through them. `rings` is the executor's end. REQUIRES: no stream exists
  // yet.
  void TakeRings(std::unique_ptr<RingPair> rings);
  // Sends bytes through the rings, such as no executor would send. REQUIRES:
  // TakeRings was called.
  absl::Status Send(const std::string& bytes);

  // Breaks the Execute stream, like the death of an executor. Run then answers
  // with `reason`.
  void LoseExecutor(const std::string& reason);
  // Makes the next CloseSession get no answer until its connection ends. With
  // `carried_out`, the session is closed, and later calls find no session.
  // REQUIRES: `max_age` is finite.
  void LoseNextClose(bool carried_out);
  // Reports the end of the session to the client on the keep-alive stream.
  void EndSession(const std::string& reason);

  // The commands received so far.
  std::vector<v1::CommandBatch> batches();
  std::vector<v1::Command> commands();
  std::string uploaded();
  std::vector<v1::TransferRange> transfers();
  bool closed();
  // Blocks until `count` commands have been received.
  void WaitForCommands(size_t count);

 private:
  class Sessions;
  class Commands;
  class Transfers;

  // Makes the answer to one command. Returns false if it has none.
  bool Answer(uint64_t sequence, const v1::Command& command, v1::Result* result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::string directory_;
  std::string address_;
  absl::Mutex mutex_;
  v1::SessionLimits limits_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> devices_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<RingPair> rings_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::CommandBatch> batches_ ABSL_GUARDED_BY(mutex_);
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, v1::Error> failures_ ABSL_GUARDED_BY(mutex_);
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::string lost_ ABSL_GUARDED_BY(mutex_);
  std::string ended_ ABSL_GUARDED_BY(mutex_);
  grpc::ServerContext* execute_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool lose_close_ ABSL_GUARDED_BY(mutex_) = false;
  bool lost_is_carried_out_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::string uploaded_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::TransferRange> transfers_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<Sessions> sessions_service_;
  std::unique_ptr<Commands> commands_service_;
  std::unique_ptr<Transfers> transfers_service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_CLIENT_CPP_FAKE_DAEMON_H_
