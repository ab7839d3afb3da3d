// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/transfer.h"

#include <utility>

#include "absl/strings/str_cat.h"
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
    const std::stop_token& cancelled) {
  HOLDFAST_RETURN_IF_ERROR(
      session.AwaitSequence(range.after_sequence(), cancelled));
  HOLDFAST_RETURN_IF_ERROR(Check(session, range, AccessOf(direction)));
  return std::unique_ptr<Transfer>(new Transfer(direction, session, range));
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

absl::Status Transfer::Start(CUdeviceptr bytes, uint64_t size,
                             std::shared_ptr<const void> holder) {
  if (size > rest()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", size, " bytes, more than the ", rest(),
                     " that are left of those announced"));
  }
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
  pieces_.push_back(std::move(completion));
  started_ += size;
  return absl::OkStatus();
}

absl::Status Transfer::FinishOldest() {
  const std::shared_ptr<Completion> oldest = std::move(pieces_.front());
  pieces_.pop_front();
  return oldest->Wait();
}

absl::Status Transfer::FinishAll() {
  absl::Status first;
  while (!pieces_.empty()) first.Update(FinishOldest());
  return first;
}

absl::StatusOr<uint64_t> Transfer::FinishUpload() {
  HOLDFAST_RETURN_IF_ERROR(FinishAll());
  if (rest() == 0) return size();
  return absl::InvalidArgumentError(absl::StrCat(
      size() - rest(), " bytes came, ", size(), " were announced"));
}

}  // namespace holdfast::executor
