// SPDX-License-Identifier: Apache-2.0
//
// The daemon's part of a transfer through a pipe, for tests of an executor.
#ifndef HOLDFAST_TESTS_TESTING_PIPE_CLIENT_H_
#define HOLDFAST_TESTS_TESTING_PIPE_CLIENT_H_

#include <grpcpp/channel.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "holdfast/internal/transfers.pb.h"
#include "server/relay/transfer_pipe.h"
#include "server/relay/transfer_pipes.h"

namespace holdfast::testing {

// Returns the pipes to an executor whose session has this token (16 bytes).
std::shared_ptr<TransferPipes> PipesTo(std::shared_ptr<grpc::Channel> executor,
                                       const std::string& descriptor_path,
                                       const std::string& token);

// Begins a transfer.
absl::Status WriteBegin(TransferPipe& pipe,
                        internal::BeginTransfer::Direction direction,
                        const v1::TransferRange& range,
                        const std::string& upload_try = "");

// Blocks until the executor's next message, and returns it. CANCELLED: the pipe
// has ended.
absl::StatusOr<TransferPipe::Message> Hear(TransferPipe& pipe);

// Skips messages until the end of the transfer, and returns the transfer's
// status. CANCELLED: the pipe has ended without a status.
absl::Status AwaitEnd(TransferPipe& pipe);

// Carry out a whole transfer, and block until its end. UploadBytes sends pieces
// of `piece` bytes.
absl::Status UploadBytes(TransferPipe& pipe, const v1::TransferRange& range,
                         absl::string_view bytes, size_t piece);
absl::StatusOr<std::string> DownloadBytes(TransferPipe& pipe,
                                          const v1::TransferRange& range);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_TESTING_PIPE_CLIENT_H_
