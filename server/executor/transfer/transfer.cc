// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/transfer.h"

#include <utility>

#include "absl/synchronization/mutex.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "server/executor/command/buffer_range.h"

namespace holdfast::executor {
namespace {

// Pieces for the device at a time; another one is with the network.
constexpr size_t kMaxPieces = 4;

absl::Status Closing() {
  return absl::UnavailableError("the session is being closed");
}

Access AccessOf(Transfer::Direction direction) {
  return direction == Transfer::Direction::kUpload ? Access::kWrite
                                                   : Access::kRead;
}

// Checks the range as a whole and finds the staging blocks.
absl::StatusOr<std::shared_ptr<Staging>> Prepare(Session& session,
                                                 const v1::TransferRange& range,
                                                 Access access) {
  absl::StatusOr<std::shared_ptr<Staging>> staging = Closing();
  (void)session.Run([&](Resources& resources) {
    const absl::Status stream = resources.streams.Find(range.stream()).status();
    const absl::Status address =
        ResolveRange(resources, range.buffer(), range.offset(), range.size(),
                     access)
            .status();
    if (!stream.ok()) {
      staging = stream;
    } else if (!address.ok()) {
      staging = address;
    } else {
      staging = resources.TransferStaging();
    }
  });
  return staging;
}

}  // namespace

// Set once, by the submission or the watcher thread.
class Transfer::Completion {
 public:
  void Set(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    if (set_) return;
    status_ = std::move(status);
    set_ = true;
  }
  absl::Status Wait() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&set_));
    return status_;
  }

 private:
  absl::Mutex mutex_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<Transfer>> Transfer::Begin(
    Direction direction, Session& session, const v1::TransferRange& range,
    std::stop_token cancelled) {
  HOLDFAST_RETURN_IF_ERROR(
      session.AwaitSequence(range.after_sequence(), cancelled));
  HOLDFAST_ASSIGN_OR_RETURN(auto staging,
                            Prepare(session, range, AccessOf(direction)));
  auto place = staging->AwaitPlace(cancelled);
  if (place == nullptr) return absl::CancelledError("given up");
  return std::unique_ptr<Transfer>(
      new Transfer(direction, session, range, std::move(cancelled),
                   std::move(staging), std::move(place)));
}

Transfer::Transfer(Direction direction, Session& session,
                   const v1::TransferRange& range, std::stop_token cancelled,
                   std::shared_ptr<Staging> staging,
                   std::shared_ptr<Staging::Place> place)
    : direction_(direction),
      session_(session),
      range_(range),
      cancelled_(std::move(cancelled)),
      staging_(std::move(staging)),
      place_(std::move(place)) {}

absl::StatusOr<Staging::BlockPtr> Transfer::NextBlock() {
  if (pieces_.size() >= kMaxPieces) return nullptr;
  if (HasPieces()) return place_->TryAcquire();
  // All blocks are with the network: waits for one to come back.
  HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block,
                            place_->Acquire(cancelled_));
  if (block == nullptr) return absl::CancelledError("given up");
  return block;
}

absl::Status Transfer::Copy(Direction direction, Resources& resources,
                            const v1::TransferRange& piece,
                            const Staging::BlockPtr& block,
                            std::function<void(const absl::Status&)> done) {
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.StreamForWork(piece.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      const CUdeviceptr address,
      ResolveRange(resources, piece.buffer(), piece.offset(), piece.size(),
                   AccessOf(direction)));
  const CUdeviceptr staged = block->device_address();
  const bool upload = direction == Direction::kUpload;
  HOLDFAST_RETURN_IF_ERROR(
      cuda::CopyAsync(*stream->stream, upload ? address : staged,
                      upload ? staged : address, piece.size()));
  resources.copies().Add(v1::COPY_PATH_STREAM, piece.size());
  return resources.watcher().Watch(*stream->stream, std::move(done));
}

void Transfer::Start(Staging::BlockPtr block, uint64_t size) {
  v1::TransferRange piece = range_;
  piece.set_offset(range_.offset() + started_);
  piece.set_size(size);
  auto completion = std::make_shared<Completion>();
  // Work is dropped when the session is being closed; what was set before
  // stays.
  std::shared_ptr<void> dropped(
      nullptr, [completion](void*) { completion->Set(Closing()); });
  (void)session_.Post([direction = direction_, piece = std::move(piece), block,
                       completion,
                       dropped = std::move(dropped)](Resources& resources) {
    // Holds the block until the device has done with it, and `dropped` as long.
    const absl::Status status =
        Copy(direction, resources, piece, block,
             [block, completion, dropped](const absl::Status& copied) {
               completion->Set(copied);
             });
    if (!status.ok()) completion->Set(status);
  });
  pieces_.push_back({std::move(completion), std::move(block), size});
  started_ += size;
}

absl::StatusOr<Staging::BlockPtr> Transfer::FinishOldest(uint64_t* size) {
  Piece piece = std::move(pieces_.front());
  pieces_.pop_front();
  HOLDFAST_RETURN_IF_ERROR(piece.completion->Wait());
  *size = piece.size;
  return std::move(piece.block);
}

absl::Status Transfer::FinishAll() {
  absl::Status first;
  uint64_t size = 0;
  while (HasPieces()) {
    const absl::Status status = FinishOldest(&size).status();
    if (first.ok()) first = status;
  }
  return first;
}

}  // namespace holdfast::executor
