// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/pipe_client.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "core/base/descriptor_socket.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::testing {

using Message = TransferPipe::Message;

std::shared_ptr<TransferPipes> PipesTo(std::shared_ptr<grpc::Channel> executor,
                                       const std::string& descriptor_path,
                                       const std::string& token) {
  return std::make_shared<TransferPipes>(TransferPipes::Executor{
      .channel = std::move(executor),
      .send_fd = [descriptor_path,
                  token](int fd) { return SendFd(descriptor_path, token, fd); },
      .session_token = absl::BytesToHexString(token)});
}

absl::Status WriteBegin(TransferPipe& pipe,
                        internal::BeginTransfer::Direction direction,
                        const v1::TransferRange& range,
                        const std::string& upload_try) {
  Message message;
  message.mutable_begin()->set_direction(direction);
  *message.mutable_begin()->mutable_range() = range;
  message.mutable_begin()->set_upload_try(upload_try);
  return pipe.Write(message);
}

absl::StatusOr<Message> Hear(TransferPipe& pipe) {
  for (;;) {
    // Messages that came before the end are read before it.
    const bool closed = pipe.closed();
    Message message;
    HOLDFAST_ASSIGN_OR_RETURN(const bool heard, pipe.Read(&message));
    if (heard) return message;
    if (closed) return absl::CancelledError("the pipe has ended");
    pipe.Await(/*bytes=*/0, absl::Seconds(30));
  }
}

absl::Status AwaitEnd(TransferPipe& pipe) {
  for (;;) {
    HOLDFAST_ASSIGN_OR_RETURN(const Message message, Hear(pipe));
    if (!message.has_end()) continue;
    if (!message.end().has_error()) return absl::OkStatus();
    return FromError(message.end().error());
  }
}

// The executor refuses an upload and closes the pipe at any moment, also before
// the last message: the end of the pipe says how the upload went, not a message
// that could not be written.
absl::Status UploadBytes(TransferPipe& pipe, const v1::TransferRange& range,
                         absl::string_view bytes, size_t piece) {
  HOLDFAST_RETURN_IF_ERROR(
      WriteBegin(pipe, internal::BeginTransfer::DIRECTION_UPLOAD, range));
  for (size_t at = 0; at < bytes.size(); at += piece) {
    while (!pipe.HasFreeSlot()) HOLDFAST_RETURN_IF_ERROR(Hear(pipe).status());
    const size_t size = std::min(piece, bytes.size() - at);
    const uint32_t slot = pipe.TakeSlot();
    std::memcpy(pipe.data(slot), bytes.data() + at, size);
    (void)pipe.Write(FilledSlot(slot, size));
  }
  Message last;
  last.set_no_more_slots(true);
  (void)pipe.Write(last);
  return AwaitEnd(pipe);
}

absl::StatusOr<std::string> DownloadBytes(TransferPipe& pipe,
                                          const v1::TransferRange& range) {
  HOLDFAST_RETURN_IF_ERROR(
      WriteBegin(pipe, internal::BeginTransfer::DIRECTION_DOWNLOAD, range));
  std::string bytes;
  for (;;) {
    HOLDFAST_ASSIGN_OR_RETURN(const Message message, Hear(pipe));
    if (message.has_slot()) {
      const uint32_t slot = message.slot().index();
      bytes.append(pipe.data(slot), message.slot().size());
      (void)pipe.Return(slot);
    }
    if (!message.has_end()) continue;
    if (message.end().has_error()) return FromError(message.end().error());
    return bytes;
  }
}

}  // namespace holdfast::testing
