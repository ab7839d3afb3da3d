// SPDX-License-Identifier: Apache-2.0
//
// One Execute call of a remote client. The executor sees a call of a local
// client: batches and results pass through rings of shared memory
// (core/base/ring_pair.h), so that only one of the two hops uses gRPC.
//
//   client ── TCP, TLS ── daemon ══ rings ══ executor
//                            └─ gRPC: the call's beginning and end
//
// Threads: gRPC's threads receive batches, and run the callbacks for messages
// that were sent; they never wait. The call's own thread reads results from the
// ring, and may wait for the client. A second thread writes batches that must
// wait for room in the ring; it is started when the ring is full for the first
// time.
//
// Locks: mutex_ guards the state that these threads share. It is not held while
// a thread waits for the executor.
#ifndef HOLDFAST_SERVER_SERVICES_EXECUTE_CALL_H_
#define HOLDFAST_SERVER_SERVICES_EXECUTE_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/ring_pair.h"
#include "core/base/step_clock.h"
#include "server/relay/ring_call.h"
#include "server/rpc/stall_guard.h"
#include "server/services/joined_results.h"
#include "server/supervisor/session.h"

namespace holdfast {

// The call forwards messages without parsing them. gRPC's thread writes a batch
// to the ring if there is room; otherwise the second thread writes it. The next
// batch is read from the client only after that, so that a busy session slows
// its client down. Results that arrive while a message is being sent follow as
// one message. The call is cancelled if the client does not take a message
// within the stall guard's time, or sooner if the session is over. The object
// deletes itself when the calls of client and executor have ended.
class ExecuteCall final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // Starts the call. `method` is its path. `place` counts the call among the
  // calls of its session; the call drops `place` when it ends. `stall_guard`
  // must outlive the call. If the system starts no thread for the call, the
  // call ends with RESOURCE_EXHAUSTED.
  ExecuteCall(grpc::CallbackServerContext* context, const std::string& method,
              std::shared_ptr<supervisor::Session> session,
              std::shared_ptr<void> place, StallGuard& stall_guard);
  ~ExecuteCall() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { upstream_->Cancel(); }
  void OnDone() override { delete this; }

 private:
  // The state of the direction to the client. StartNextWrite begins to send a
  // message; in OnWriteDone the message was sent, or the client has gone.
  //
  //   kReady ──StartNextWrite──▶ kTaking ──OnWriteDone──▶ kReady or kGone
  enum class Client { kReady, kTaking, kGone };

  // The loop of the call's thread: offers the rings, relays results, and
  // finishes the call.
  void Serve();
  // Sends the rings to the executor and starts the call to the executor.
  absl::Status StartUpstream();
  void RelayResults();
  // Returns an encoded ResultBatch with the times at which the client's last
  // batch and the results of this batch passed the daemon; empty if the client
  // does not measure.
  std::string Times() const;
  // Sends results to the client, or queues them while a message is being sent;
  // blocks while too many bytes are queued. Returns false if the client has
  // gone.
  bool Send(absl::string_view results);
  // Blocks until `taken` is true: until the client has taken a message, or the
  // call is cancelled.
  void AwaitClient(const absl::Condition& taken)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends the waiting results. REQUIRES: the client is ready.
  void StartNextWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads the client's next batch, unless the call is over.
  void ReadNext();
  // Hands the batch in incoming_ to the second thread, because the ring has no
  // room.
  void WriteByThread();
  // The loop of the second thread: writes batches for which the ring had no
  // room.
  void WriteBatchWhenThereIsRoom();
  // Ends the call with `status`, the reason why no batch can be written.
  // CANCELLED means that the call has ended already.
  void Break(const absl::Status& status);
  grpc::Status AwaitEnd();

  grpc::CallbackServerContext& context_;
  const std::string method_;
  const std::shared_ptr<supervisor::Session> session_;
  const std::shared_ptr<void> place_;
  StallGuard& stall_guard_;
  const std::shared_ptr<RingCall> upstream_;
  std::shared_ptr<RingPair> rings_;
  std::unique_ptr<StepClock<3>> clock_;  // null: the client does not measure
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;

  absl::Mutex mutex_;
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);  // why the call failed
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  Client client_ ABSL_GUARDED_BY(mutex_) = Client::kReady;
  JoinedResults results_ ABSL_GUARDED_BY(mutex_);  // to send next
  // Set while a message is being sent to the client.
  std::optional<StallGuard::Watch> watch_ ABSL_GUARDED_BY(mutex_);
  // The second thread has the batch in incoming_ to write.
  bool ring_full_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread writer_;  // started when the ring is full for the first time
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_EXECUTE_CALL_H_
