// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_COMPILE_CALL_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_COMPILE_CALL_H_

#include "absl/status/statusor.h"
#include "client/cpp/compile/compile_progress.h"
#include "client/cpp/connection/daemon.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast {

// Requests that the error of a failed compilation or link contains the log up
// to kMaxTrailerBytes. Call it before the compilation or the link starts.
// Without this request, the error contains only the first few KiB, which every
// gRPC client accepts.
void AskForWholeLog(grpc::ClientContext* context);

// Reads all messages of a call that reports progress. Passes each progress
// message to `on_progress`. Returns the last message, which contains the
// response. Blocks until the call has ended. Fails as the call, or with
// DATA_LOSS if there is no response.
absl::StatusOr<v1::CompileProgress> AwaitDone(
    Daemon& daemon, grpc::ClientReader<v1::CompileProgress>& reader,
    const CompileProgressCallback& on_progress);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_COMPILE_CALL_H_
