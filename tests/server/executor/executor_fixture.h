// SPDX-License-Identifier: Apache-2.0
//
// Runs a real executor in its own process. The test acts as the executor's
// supervisor and client.
#ifndef HOLDFAST_TESTS_SERVER_EXECUTOR_EXECUTOR_FIXTURE_H_
#define HOLDFAST_TESTS_SERVER_EXECUTOR_EXECUTOR_FIXTURE_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/handle.h"
#include "core/base/unique_fd.h"
#include "gtest/gtest.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "server/channel/channel.h"

namespace holdfast::testing {

// Returns a handle as 64 bits.
uint64_t Name(HandleKind kind, uint32_t index, uint32_t generation = 1);
inline uint64_t StreamName(uint32_t index, uint32_t generation = 1) {
  return Name(HandleKind::kStream, index, generation);
}
inline uint64_t EventName(uint32_t index, uint32_t generation = 1) {
  return Name(HandleKind::kEvent, index, generation);
}
inline uint64_t BufferName(uint32_t index, uint32_t generation = 1) {
  return Name(HandleKind::kBuffer, index, generation);
}
inline uint64_t ArenaName(uint32_t index, uint32_t generation = 1) {
  return Name(HandleKind::kArena, index, generation);
}
inline uint64_t ModuleName(uint32_t index, uint32_t generation = 1) {
  return Name(HandleKind::kModule, index, generation);
}
inline uint64_t KernelName(uint32_t index, uint32_t generation = 1) {
  return Name(HandleKind::kKernel, index, generation);
}

// Commands, one after the other; each call adds one and returns its sequence
// number.
class Batch {
 public:
  explicit Batch(uint64_t first_sequence = 1) {
    batch_.set_first_sequence(first_sequence);
  }

  uint64_t CreateStream(uint64_t stream, int priority = 0);
  uint64_t Allocate(uint64_t buffer, uint64_t size);
  uint64_t AllocateHost(uint64_t buffer, uint64_t size);
  uint64_t Free(uint64_t buffer, uint64_t stream = 0);
  uint64_t Write(uint64_t stream, uint64_t buffer, uint64_t offset,
                 const std::string& data);
  uint64_t Read(uint64_t stream, uint64_t buffer, uint64_t offset,
                uint64_t size);
  uint64_t Copy(uint64_t stream, uint64_t destination,
                uint64_t destination_offset, uint64_t source,
                uint64_t source_offset, uint64_t size);
  uint64_t FillWord(uint64_t stream, uint64_t buffer, uint64_t offset,
                    uint64_t size, uint32_t word);
  uint64_t Synchronize(uint64_t stream);
  uint64_t Fence(bool all_streams = true);
  uint64_t LoadInline(uint64_t module, const std::string& image);
  uint64_t GetKernel(uint64_t kernel, uint64_t module, const std::string& name);

  // Adds any other command, for the caller to fill in. Its number is
  // last_sequence().
  v1::Command& Add() { return *batch_.add_commands(); }
  uint64_t last_sequence() const {
    return batch_.first_sequence() + batch_.commands_size() - 1;
  }

  const v1::CommandBatch& proto() const { return batch_; }

 private:
  v1::CommandBatch batch_;
};

// Results by sequence number; fails the test if a command has two.
std::map<uint64_t, v1::Result> BySequence(const v1::ResultBatch& results);

class ExecutorTest : public ::testing::Test {
 protected:
  // The time that a client may take for one message of a transfer.
  virtual absl::Duration StallLimit() const { return absl::Minutes(1); }

  // Devices of the software driver, and those of them that the session may use.
  virtual int SoftwareDevices() const { return 1; }
  virtual std::vector<uint32_t> SessionDevices() const { return {}; }

  // Starts the process and gives it its session.
  void SetUp() override;
  void TearDown() override;

  // Returns a context with metadata, and with a deadline that only a hanging
  // executor reaches.
  std::unique_ptr<grpc::ClientContext> Context() const;

  // 16 bytes.
  const std::string& token() const { return token_; }
  // The paths of the session's socket, and of its socket for descriptors.
  std::string socket_path() const { return directory_ + "/socket"; }
  std::string descriptor_path() const { return directory_ + "/fds"; }

  v1::CommandService::Stub& commands() { return *commands_; }
  v1::TransferService::Stub& transfers() { return *transfers_; }

  // Runs a batch. Run fails the test if the call fails; RunStatus returns the
  // call's status.
  std::map<uint64_t, v1::Result> Run(const Batch& batch);
  grpc::Status RunStatus(const v1::CommandBatch& batch);

  // The channel to the executor, for calls with encoded messages.
  std::shared_ptr<grpc::Channel> connection() const { return connection_; }

  // The supervisor's side.
  const internal::Ready& ready() const { return ready_; }
  Channel& channel() { return *channel_; }
  pid_t pid() const { return pid_; }
  void PutObject(const std::string& sha256, const std::string& bytes,
                 std::map<std::string, std::string> symbols);
  // The executor's report of the session's holdings and copies.
  internal::Usage AskUsage();
  size_t chunks_held();
  // Waits up to 10 s until this many chunks are held, since another thread
  // reads the executor's messages. Returns the number at the end.
  size_t AwaitChunksHeld(size_t wanted);
  uint64_t chunks_seen();

  // Waits until the process has ended. Returns its wait status.
  int AwaitExit();
  // Waits up to 10 s for the process's report of a fault, and then ends the
  // process, as the daemon does. Returns true if there was a report.
  bool EndAfterFault();

 private:
  struct Object {
    UniqueFd memory;
    std::map<std::string, std::string> symbols;
  };

  void StartProcess();
  // Sends the executor a socket that listens at `path`.
  void SendSocket(internal::ListeningSocket::Purpose purpose,
                  const std::string& path, int type);
  void Supervise();
  void Handle(const internal::FromExecutor& message, UniqueFd fd);

  std::string directory_;
  std::string token_;
  pid_t pid_ = -1;
  internal::Ready ready_;
  std::unique_ptr<Channel> channel_;
  std::thread supervisor_;
  std::shared_ptr<grpc::Channel> connection_;
  std::unique_ptr<v1::CommandService::Stub> commands_;
  std::unique_ptr<v1::TransferService::Stub> transfers_;

  absl::Mutex mutex_;
  std::map<std::string, Object> objects_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, UniqueFd> chunks_ ABSL_GUARDED_BY(mutex_);
  std::vector<internal::Usage> usages_ ABSL_GUARDED_BY(mutex_);
  bool has_faulted_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t chunks_seen_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SERVER_EXECUTOR_EXECUTOR_FIXTURE_H_
