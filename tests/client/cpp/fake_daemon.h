// SPDX-License-Identifier: Apache-2.0
//
// A daemon without devices: it records the commands that it is sent, and
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
  // Every connection breaks once it is so old, whatever is on it.
  explicit FakeDaemon(absl::Duration max_age = absl::InfiniteDuration());
  ~FakeDaemon();

  const std::string& address() const { return address_; }
  void set_limits(const v1::SessionLimits& limits);
  // Sets the devices of sessions that are opened from now on.
  void set_devices(const std::vector<uint32_t>& devices);

  // Command `sequence` fails so.
  void Fail(uint64_t sequence, int code, const std::string& message);
  // No result is sent until Release: neither failures nor others.
  void Hold();
  void Release();

  // Execute takes rings, whose executor's end this is: batches and results go
  // through them. Before there is a stream.
  void TakeRings(std::unique_ptr<RingPair> rings);
  // Sends bytes that no executor would send, through the rings.
  absl::Status Send(const std::string& bytes);

  // The Execute stream breaks, as a killed executor's does; Run then answers
  // with `reason`.
  void LoseExecutor(const std::string& reason);
  // The next CloseSession is answered by nothing but the end of its connection.
  // If it is carried out before that, later ones find no session. REQUIRES:
  // connections have an end.
  void LoseNextClose(bool carried_out);
  // The keep-alive stream tells the client.
  void EndSession(const std::string& reason);

  // The commands received so far.
  std::vector<v1::CommandBatch> batches();
  std::vector<v1::Command> commands();
  std::string uploaded();
  std::vector<v1::TransferRange> transfers();
  bool closed();
  // Blocks until so many commands have come.
  void WaitForCommands(size_t count);

 private:
  class Sessions;
  class Commands;
  class Transfers;

  // The answer to one command; false: none.
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
