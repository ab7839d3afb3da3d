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

// The most bytes of the trailers of a failed call. A gRPC client accepts 8 KiB
// of metadata by default (GRPC_ARG_MAX_METADATA_SIZE), and drops its connection
// beyond that.
inline constexpr size_t kDefaultTrailerBytes = size_t{6} << 10;

// Returns the limit of trailer bytes that the call's metadata has
// (kTrailerBytesKey); kDefaultTrailerBytes if there is no valid number. A
// number out of range counts as the nearest allowed number.
size_t TrailerBytesOf(const grpc::ServerContextBase& context);

// Converts a status to an Error. REQUIRES: !status.ok(); otherwise the code is
// UNKNOWN, because an Error always reports a failure.
v1::Error ToError(const absl::Status& status);

// Converts an Error to a status. A code that is 0 or not canonical becomes
// UNKNOWN.
absl::Status FromError(const v1::Error& error);

// Converts a status to gRPC's. Puts the Error with its detail into
// grpc-status-details-bin. Cuts the detail's log and, if needed, the message to
// fit into `trailer_bytes`; the cut text ends with the number of missing bytes.
grpc::Status ToGrpcStatus(const absl::Status& status,
                          size_t trailer_bytes = kDefaultTrailerBytes);
// Converts gRPC's status, with the detail of grpc-status-details-bin if there
// is one.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STATUS_CONVERSION_H_
