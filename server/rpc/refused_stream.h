// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_REFUSED_STREAM_H_
#define HOLDFAST_SERVER_RPC_REFUSED_STREAM_H_

#include "absl/status/status.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {

// A streaming call that ends at once with an error. `Reactor` is the
// grpc::Server...Reactor that the call's method returns. The object deletes
// itself when the call is over.
//
//   if (!caller.ok()) return new RefusedStream<UploadReactor>(caller.status());
template <typename Reactor>
class RefusedStream final : public Reactor {
 public:
  explicit RefusedStream(const absl::Status& status) {
    this->Finish(ToGrpcStatus(status));
  }
  void OnDone() override { delete this; }
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_REFUSED_STREAM_H_
