// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_FORWARDED_CALL_H_
#define HOLDFAST_SERVER_SERVICES_FORWARDED_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/supervisor/session.h"

namespace holdfast {

// One call of a remote client, passed on to its session's executor byte for
// byte. Two pumps, "up" to the executor and "down" from it, have one message
// each in flight, so that a slow reader slows down only its own writer.
// Cancellation, deadline, status and trailers are passed on. Every shape of
// call is a stream to it. Deletes itself when both sides are done.
class ForwardedCall final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  ForwardedCall(grpc::CallbackServerContext* context, const std::string& method,
                std::shared_ptr<Session> session);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { upstream_context_.TryCancel(); }
  void OnDone() override { delete this; }

 private:
  // The client's side of the call to the executor. While a pump is open it
  // holds the call, so that its end does not overtake a message.
  class Upstream final
      : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Upstream(ForwardedCall& call) : call_(call) {}
    void OnWriteDone(bool ok) override;
    void OnReadDone(bool ok) override;
    void OnDone(const grpc::Status& status) override;

   private:
    ForwardedCall& call_;
  };

  void PassMetadataOn();
  void CloseUp() ABSL_LOCKS_EXCLUDED(mutex_);
  void CloseDown() ABSL_LOCKS_EXCLUDED(mutex_);
  void FinishWith(const grpc::Status& status);

  grpc::CallbackServerContext& context_;
  const std::shared_ptr<Session> session_;
  grpc::ClientContext upstream_context_;
  grpc::GenericStub stub_;
  Upstream upstream_;
  grpc::ByteBuffer up_, down_;

  absl::Mutex mutex_;
  bool up_open_ ABSL_GUARDED_BY(mutex_) = true;
  bool down_open_ ABSL_GUARDED_BY(mutex_) = true;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_FORWARDED_CALL_H_
