// SPDX-License-Identifier: Apache-2.0
//
// One Execute call of a remote client. To the session's executor it looks like
// a call of a client on the same machine: batches and results go through rings
// of shared memory (core/base/ring_pair.h), so that only one of the two hops is
// gRPC's.
//
//   client ── TCP, TLS ── daemon ══ rings ══ executor
//                            └─ gRPC: the call's beginning and end
#ifndef HOLDFAST_SERVER_SERVICES_EXECUTE_CALL_H_
#define HOLDFAST_SERVER_SERVICES_EXECUTE_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/ring_pair.h"
#include "core/base/step_clock.h"
#include "server/relay/ring_call.h"
#include "server/rpc/stall_guard.h"
#include "server/supervisor/session.h"

namespace holdfast {

// No message is looked at. A batch is written to the ring by gRPC's thread if
// there is room, else by a second thread; the next one is read from the client
// afterwards, so a session that is busy holds its client back. Results are read
// by the call's own thread. Those that come while others are on their way to
// the client follow as one message. A client that does not take a message in
// the stall guard's time is given up, and one whose session is over sooner, so
// that no call outlives its session for long. Deletes itself when both sides
// are done. While messages come, gRPC's thread looks for the next ones.
class ExecuteCall final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // `place` is the call's place among those of its session; it goes with it.
  // `stall_guard` must outlive the call, which ends with RESOURCE_EXHAUSTED if
  // there is no thread for it.
  ExecuteCall(grpc::CallbackServerContext* context, const std::string& method,
              std::shared_ptr<supervisor::Session> session,
              std::shared_ptr<void> place, StallGuard& stall_guard);
  ~ExecuteCall() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { upstream_->Cancel(); }
  void OnDone() override { delete this; }

 private:
  // The call's thread: from the offer of the rings to Finish.
  void Serve();
  // Hands the executor the rings and begins the call to it.
  absl::Status StartUpstream();
  void RelayResults();
  // When the client's last batch and its results passed, as a message of
  // results; empty if the client does not measure.
  std::string Times() const;
  // Sends the message that was read last. False: the client takes no more.
  bool Send(absl::string_view results);
  // Makes one of the small results that wait.
  void GatherSmall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blocks until `taken` is true, which a client brings about by taking a
  // message, or by being given up.
  void AwaitClient(const absl::Condition& taken)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartNextWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads the client's next batch, unless the call is over.
  void ReadNext();
  // Has the second thread write the batch, which must wait for room.
  void WriteByThread();
  // The second thread: writes batches that found the ring full.
  void WriteBatchWhenThereIsRoom();
  // Ends the call with why no batch can be written; CANCELLED: it has ended.
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
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);  // by the executor's messages
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool client_gone_ ABSL_GUARDED_BY(mutex_) = false;
  // Results that are written next: large messages, and behind them small ones,
  // one after another; and the bytes of all.
  std::vector<grpc::Slice> waiting_ ABSL_GUARDED_BY(mutex_);
  std::string small_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // While a message is on its way to the client.
  std::optional<StallGuard::Watch> watch_ ABSL_GUARDED_BY(mutex_);
  bool ring_full_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread writer_;  // there once the ring has been full
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_EXECUTE_CALL_H_
