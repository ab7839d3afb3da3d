// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_CANCELLABLE_H_
#define HOLDFAST_SERVER_RPC_CANCELLABLE_H_

#include <stop_token>

namespace holdfast {

// The base class of calls that wait, and so run on the daemon's own threads.
// `Reactor` is the grpc::Server...Reactor that the call's method returns.
// Deletes itself when the call is over.
template <typename Reactor>
class Cancellable : public Reactor {
 public:
  // Stop is requested, on a thread of gRPC, as soon as the client cancels the
  // call or has gone. Callbacks must not wait.
  std::stop_token cancelled() const { return cancel_.get_token(); }

  void OnCancel() final { cancel_.request_stop(); }
  void OnDone() override { delete this; }

 private:
  std::stop_source cancel_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CANCELLABLE_H_
