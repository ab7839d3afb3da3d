// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_CANCELLABLE_H_
#define HOLDFAST_SERVER_RPC_CANCELLABLE_H_

#include <stop_token>

namespace holdfast {

// The base class of calls that may wait, and therefore run on the daemon's own
// threads. `Reactor` is the grpc::Server...Reactor that the call's method
// returns. The object deletes itself when the call is over.
template <typename Reactor>
class Cancellable : public Reactor {
 public:
  // Returns a token whose stop is requested, on a thread of gRPC, when the
  // client cancels the call or disconnects. Callbacks of the token must not
  // wait.
  std::stop_token cancelled() const { return cancel_.get_token(); }

  void OnCancel() final { cancel_.request_stop(); }
  void OnDone() override { delete this; }

 private:
  std::stop_source cancel_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CANCELLABLE_H_
