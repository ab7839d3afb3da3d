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

// To be called before a compilation or a link: if it fails, its whole log comes
// with the error, and not the beginning that any gRPC client takes.
void AskForWholeLog(grpc::ClientContext* context);

// Reads the answers to a call with progress to their end; the last message,
// which has the response.
absl::StatusOr<v1::CompileProgress> AwaitDone(
    Daemon& daemon, grpc::ClientReader<v1::CompileProgress>& reader,
    const CompileProgressCallback& on_progress);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_COMPILE_CALL_H_
