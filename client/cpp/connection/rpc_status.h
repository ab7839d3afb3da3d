// SPDX-License-Identifier: Apache-2.0
//
// Converts the daemon's errors to absl::Status with their ErrorDetail
// (core/base/error_detail.h).
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_RPC_STATUS_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_RPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"
#include "holdfast/v1/common.pb.h"

namespace holdfast {

// Returns the status of a call. Reads the trailer grpc-status-details-bin.
absl::Status ToStatus(const grpc::Status& status);

// Returns the status of a command.
absl::Status ToStatus(const v1::Error& error);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_RPC_STATUS_H_
