// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RELAY_RING_CALL_H_
#define HOLDFAST_SERVER_RELAY_RING_CALL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// A call of the daemon to an executor. The call's messages pass through rings
// of shared memory; gRPC carries only the call's beginning and end.
// Thread-safe.
//
//   const auto call = std::make_shared<RingCall>(channel);
//   ForwardMetadata(client_context, call->context());
//   call->Start(method, ring_token, [rings] { rings->Close(); });
//   if (call->AwaitTaken()) { use the rings; }
//   call->EndUp();
//   return call->AwaitEnd();
//
// The object keeps itself alive until the call's end. Dropping the pointer does
// not end the call; Cancel does.
class RingCall final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public std::enable_shared_from_this<RingCall> {
 public:
  explicit RingCall(std::shared_ptr<grpc::Channel> executor);

  // Returns the call's context: the caller adds metadata before Start, and
  // reads trailers after AwaitEnd.
  grpc::ClientContext& context() { return context_; }

  // Starts the call. `ring_token` names the rings' memory, which the executor
  // has received. `on_end` runs at the call's end in a thread of gRPC, and must
  // not block. Called once.
  void Start(const std::string& method, const std::string& ring_token,
             std::function<void()> on_end);

  // Blocks until the executor has answered or the call has ended. Returns true
  // if the executor has accepted the rings.
  bool AwaitTaken();
  // Ends the direction to the executor, so that the executor may end the call.
  // A second call has no effect.
  void EndUp();
  // Cancels the call, which then fails with CANCELLED.
  void Cancel() { context_.TryCancel(); }

  bool ended() const;
  // Blocks until the call has ended. Returns the executor's status, or gRPC's
  // error. INTERNAL: the executor sent a message by gRPC, or did not accept the
  // rings.
  grpc::Status AwaitEnd();

  void OnReadInitialMetadataDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  // The channel to the first executor of the process. The constructor keeps the
  // channel for ever. Nothing reads this member. The compiler would leave out a
  // local variable that nothing reads, and a leak check would then report the
  // channel as lost.
  static const std::shared_ptr<grpc::Channel>* kept_;

  grpc::ClientContext context_;
  grpc::GenericStub stub_;
  std::function<void()> on_end_;
  grpc::ByteBuffer none_;  // gRPC reports the end only to a read.

  mutable absl::Mutex mutex_;
  std::shared_ptr<RingCall> self_ ABSL_GUARDED_BY(mutex_);
  // The executor's answer to the offer; nullopt: it has not answered.
  std::optional<bool> taken_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> ended_ ABSL_GUARDED_BY(mutex_);
  // True if the executor has sent a gRPC message, which is an error.
  bool spoke_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = true;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_RING_CALL_H_
