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

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <cstddef>

#include "absl/status/status.h"
#include "holdfast/v1/common.pb.h"

namespace holdfast {

// Bytes that the trailers of a failed call may have. A gRPC client takes 8 KiB
// of metadata unless told otherwise (GRPC_ARG_MAX_METADATA_SIZE), and drops its
// connection at more.
inline constexpr size_t kDefaultTrailerBytes = size_t{6} << 10;

// Returns how many this call takes (kTrailerBytesKey). A number that is none,
// or out of range, counts as the nearest that may be asked for.
size_t TrailerBytesOf(const grpc::ServerContextBase& context);

// REQUIRES: !status.ok(), else the code is UNKNOWN, since an Error always
// says that something failed.
v1::Error ToError(const absl::Status& status);

// A code that is 0 or not canonical becomes UNKNOWN.
absl::Status FromError(const v1::Error& error);

// The Error is in grpc-status-details-bin if it has a detail. The log, and if
// need be the message, are cut so that all of it fits into `trailer_bytes`; how
// much is missing stands at the end.
grpc::Status ToGrpcStatus(const absl::Status& status,
                          size_t trailer_bytes = kDefaultTrailerBytes);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STATUS_CONVERSION_H_
