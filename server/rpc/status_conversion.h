// SPDX-License-Identifier: Apache-2.0
//
// The server's only conversions between absl::Status, the protocol's Error and
// gRPC's status. Code, message and ErrorDetail survive all of them; other
// payloads are dropped.
//
//   grpc::Status GetObject(...) { return ToGrpcStatus(store.Get(...)); }
//   result.mutable_error() = ToError(status);
#ifndef HOLDFAST_SERVER_RPC_STATUS_CONVERSION_H_
#define HOLDFAST_SERVER_RPC_STATUS_CONVERSION_H_

#include <grpcpp/support/status.h>

#include <cstddef>

#include "absl/status/status.h"
#include "holdfast/v1/common.pb.h"

namespace holdfast {

// Bytes of a log that travel in the trailer of a failed call; the rest is cut
// off and its size is named. gRPC clients take 8 KiB of metadata unless told
// otherwise (GRPC_ARG_MAX_METADATA_SIZE); Holdfast's own accept 4 MiB.
inline constexpr size_t kMaxTrailerLogBytes = size_t{1} << 20;

// REQUIRES: !status.ok(), else the code is UNKNOWN, since an Error always
// says that something failed.
v1::Error ToError(const absl::Status& status);

// A code that is 0 or not canonical becomes UNKNOWN.
absl::Status FromError(const v1::Error& error);

// The Error is in grpc-status-details-bin if it has a detail.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STATUS_CONVERSION_H_
