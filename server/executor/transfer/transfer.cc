// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/transfer.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "server/executor/command/buffer_range.h"

namespace holdfast::executor {
namespace {

absl::Status Closing() {
  return absl::UnavailableError("the session is being closed");
}

Access AccessOf(Transfer::Direction direction) {
  return direction == Transfer::Direction::kUpload ? Access::kWrite
                                                   : Access::kRead;
}

// Checks the range as a whole.
absl::Status Check(Session& session, const v1::TransferRange& range,
                   Access access) {
  absl::Status status = Closing();
  (void)session.Run([&](Resources& resources) {
    status = resources.streams.Find(range.stream()).status();
    if (!status.ok()) return;
    status = ResolveRange(resources, range.buffer(), range.offset(),
                          range.size(), access)
                 .status();
  });
  return status;
}

// Asks the device for one piece. Runs in the turn of the session's work.
absl::Status Copy(Transfer::Direction direction, Resources& resources,
                  const v1::TransferRange& piece, CUdeviceptr bytes,
                  std::function<void(const absl::Status&)> done) {
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.StreamForWork(piece.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      const CUdeviceptr address,
      ResolveRange(resources, piece.buffer(), piece.offset(), piece.size(),
                   AccessOf(direction)));
  const bool upload = direction == Transfer::Direction::kUpload;
  HOLDFAST_RETURN_IF_ERROR(
      cuda::CopyAsync(*stream->stream, upload ? address : bytes,
                      upload ? bytes : address, piece.size()));
  resources.copies().Add(v1::COPY_PATH_STREAM, piece.size());
  return resources.watcher().Watch(
      *stream->stream,
      resources.NoteCompletionThen(
          {stream->progress.At(resources.stream_work().command())},
          std::move(done)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transfer>> Transfer::Begin(
    Direction direction, Session& session, const v1::TransferRange& range,
    const std::stop_token& cancelled, PieceProgress::Events events) {
  HOLDFAST_RETURN_IF_ERROR(
      session.AwaitSequence(range.after_sequence(), cancelled));
  HOLDFAST_RETURN_IF_ERROR(Check(session, range, AccessOf(direction)));
  return std::unique_ptr<Transfer>(
      new Transfer(direction, session, range, std::move(events)));
}

absl::Status Transfer::Start(const std::vector<Piece>& pieces,
                             const std::shared_ptr<const void>& holder) {
  if (pieces.empty()) return absl::OkStatus();
  // The pieces as ranges of the buffer.
  std::vector<v1::TransferRange> ranges;
  for (const Piece& piece : pieces) {
    if (piece.size > rest()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a message of ", piece.size, " bytes, more than the ",
                       rest(), " that are left of those announced"));
    }
    v1::TransferRange& range = ranges.emplace_back(range_);
    range.set_offset(range_.offset() + started_);
    range.set_size(piece.size);
    started_ += piece.size;
  }
  const uint64_t first = progress_->Start(pieces);
  // Work is dropped when the session is being closed; an end that was noted
  // before counts.
  std::shared_ptr<void> dropped(
      nullptr, [progress = progress_, first, count = pieces.size()](void*) {
        for (size_t i = 0; i < count; ++i) progress->End(first + i, Closing());
      });
  (void)session_.RunOrPost(
      [direction = direction_, progress = progress_, first, pieces,
       ranges = std::move(ranges), holder,
       dropped = std::move(dropped)](Resources& resources) {
        for (size_t i = 0; i < pieces.size(); ++i) {
          // Holds the bytes until the device has done with them, and `dropped`
          // as long.
          const auto done = [progress, number = first + i, holder,
                             dropped](const absl::Status& copied) {
            progress->End(number, copied);
          };
          const absl::Status status =
              Copy(direction, resources, ranges[i], pieces[i].bytes, done);
          if (!status.ok()) done(status);
        }
      });
  return absl::OkStatus();
}

absl::Status Transfer::FinishUpload() {
  HOLDFAST_RETURN_IF_ERROR(Finish());
  if (rest() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      size() - rest(), " bytes came, ", size(), " were announced"));
}

}  // namespace holdfast::executor
