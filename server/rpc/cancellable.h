// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_CANCELLABLE_H_
#define HOLDFAST_SERVER_RPC_CANCELLABLE_H_

#include <stop_token>

namespace holdfast {

// The base of calls that a thread of ours serves, since they wait. `Reactor` is
// what the call's method returns, a grpc::Server...Reactor. Deletes itself when
// the call is over.
template <typename Reactor>
class Cancellable : public Reactor {
 public:
  // Told at once when the client cancels the call or is gone, by a thread of
  // gRPC's: what is done then must not wait.
  std::stop_token cancelled() const { return cancel_.get_token(); }

  void OnCancel() final { cancel_.request_stop(); }
  void OnDone() override { delete this; }

 private:
  std::stop_source cancel_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CANCELLABLE_H_
