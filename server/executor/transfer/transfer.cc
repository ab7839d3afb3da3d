// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/transfer.h"

#include <utility>

#include "absl/synchronization/mutex.h"
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

// Checks the range as a whole and finds the memory for its pieces.
absl::StatusOr<std::shared_ptr<TransferMemory>> Prepare(
    Session& session, const v1::TransferRange& range,
    const std::shared_ptr<SharedBlocks>& blocks, Access access) {
  absl::StatusOr<std::shared_ptr<TransferMemory>> memory = Closing();
  (void)session.Run([&](Resources& resources) {
    const absl::Status stream = resources.streams.Find(range.stream()).status();
    const absl::Status address =
        ResolveRange(resources, range.buffer(), range.offset(), range.size(),
                     access)
            .status();
    if (!stream.ok()) {
      memory = stream;
    } else if (!address.ok()) {
      memory = address;
    } else {
      memory = resources.Transfers(blocks);
    }
  });
  return memory;
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
    const std::shared_ptr<SharedBlocks>& blocks, std::stop_token cancelled) {
  HOLDFAST_RETURN_IF_ERROR(
      session.AwaitSequence(range.after_sequence(), cancelled));
  HOLDFAST_ASSIGN_OR_RETURN(
      auto memory, Prepare(session, range, blocks, AccessOf(direction)));
  auto place = memory->staging()->AwaitPlace(cancelled);
  if (place == nullptr) return absl::CancelledError("given up");
  return std::unique_ptr<Transfer>(
      new Transfer(direction, session, range, std::move(cancelled),
                   std::move(memory), std::move(place)));
}

Transfer::Transfer(Direction direction, Session& session,
                   const v1::TransferRange& range, std::stop_token cancelled,
                   std::shared_ptr<TransferMemory> memory,
                   std::shared_ptr<Staging::Place> place)
    : direction_(direction),
      session_(session),
      range_(range),
      cancelled_(std::move(cancelled)),
      memory_(std::move(memory)),
      place_(std::move(place)) {}

absl::StatusOr<Staging::BlockPtr> Transfer::NextBlock() {
  if (HasPieces()) return TryNextBlock();
  // All blocks are with the network: waits for one to come back.
  HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block,
                            place_->Acquire(cancelled_));
  if (block == nullptr) return absl::CancelledError("given up");
  return block;
}

absl::StatusOr<Staging::BlockPtr> Transfer::TryNextBlock() {
  if (!MayStart()) return nullptr;
  return place_->TryAcquire();
}

absl::Status Transfer::Copy(Direction direction, Resources& resources,
                            const v1::TransferRange& piece, CUdeviceptr bytes,
                            std::function<void(const absl::Status&)> done) {
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.StreamForWork(piece.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      const CUdeviceptr address,
      ResolveRange(resources, piece.buffer(), piece.offset(), piece.size(),
                   AccessOf(direction)));
  const bool upload = direction == Direction::kUpload;
  HOLDFAST_RETURN_IF_ERROR(
      cuda::CopyAsync(*stream->stream, upload ? address : bytes,
                      upload ? bytes : address, piece.size()));
  resources.copies().Add(v1::COPY_PATH_STREAM, piece.size());
  return resources.watcher().Watch(*stream->stream, std::move(done));
}

void Transfer::StartDownload(Staging::BlockPtr block, uint64_t size) {
  const CUdeviceptr bytes = block->device_address();
  Start(bytes, size, block, block);
}

void Transfer::StartUpload(CUdeviceptr bytes, uint64_t size,
                           std::shared_ptr<const void> holder) {
  Start(bytes, size, std::move(holder), nullptr);
}

void Transfer::Start(CUdeviceptr bytes, uint64_t size,
                     std::shared_ptr<const void> holder,
                     Staging::BlockPtr block) {
  v1::TransferRange piece = range_;
  piece.set_offset(range_.offset() + started_);
  piece.set_size(size);
  auto completion = std::make_shared<Completion>();
  // Work is dropped when the session is being closed; what was set before
  // stays.
  std::shared_ptr<void> dropped(
      nullptr, [completion](void*) { completion->Set(Closing()); });
  (void)session_.Post([direction = direction_, piece = std::move(piece), bytes,
                       completion, holder = std::move(holder),
                       dropped = std::move(dropped)](Resources& resources) {
    // Holds the bytes until the device has done with them, and `dropped` as
    // long.
    const absl::Status status =
        Copy(direction, resources, piece, bytes,
             [holder, completion, dropped](const absl::Status& copied) {
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
