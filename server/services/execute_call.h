// SPDX-License-Identifier: Apache-2.0
//
// One Execute call of a remote client. The executor sees a call of a local
// client: batches and results pass through rings of shared memory
// (core/base/ring_pair.h), so that only one of the two hops uses gRPC.
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

// Messages are passed on unread. gRPC's thread writes a batch to the ring if
// there is room; otherwise a second thread does. The next batch is read from
// the client after that, so that a busy session slows its client down. The
// call's own thread reads results. Small results that arrive while a message is
// being sent follow as one message. The call is cancelled if the client does
// not take a message within the stall guard's time, or sooner if the session is
// over. Deletes itself when both sides are done.
class ExecuteCall final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // `place` counts the call among the calls of its session until the call ends.
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
  // Sends the rings to the executor and begins the call to it.
  absl::Status StartUpstream();
  void RelayResults();
  // Returns the times at which the client's last batch and its results passed,
  // as an encoded ResultBatch; empty if the client does not measure.
  std::string Times() const;
  // Sends the last read message. Returns false if the client takes no more.
  bool Send(absl::string_view results);
  // Joins the waiting small results into one message.
  void GatherSmall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blocks until `taken` is true: until the client has taken a message, or the
  // call is cancelled.
  void AwaitClient(const absl::Condition& taken)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartNextWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads the client's next batch, unless the call is over.
  void ReadNext();
  // Gives the batch, which must wait for room, to the second thread.
  void WriteByThread();
  // The second thread: writes batches that found the ring full.
  void WriteBatchWhenThereIsRoom();
  // Ends the call with the reason why no batch can be written. CANCELLED: the
  // call has ended already.
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
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool client_gone_ ABSL_GUARDED_BY(mutex_) = false;
  // The results to write next: large messages, followed by small ones; and the
  // bytes of all.
  std::vector<grpc::Slice> waiting_ ABSL_GUARDED_BY(mutex_);
  std::string small_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // While a message is on its way to the client.
  std::optional<StallGuard::Watch> watch_ ABSL_GUARDED_BY(mutex_);
  bool ring_full_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread writer_;  // started when the ring is full for the first time
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_EXECUTE_CALL_H_
