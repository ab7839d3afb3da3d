// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/command_queue.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/rpc_status.h"
#include "core/base/spin.h"
#include "core/base/status_macros.h"
#include "grpcpp/impl/codegen/proto_utils.h"  // how messages are parsed
#include "grpcpp/impl/codegen/rpc_method.h"

namespace holdfast {
namespace {

constexpr char kExecuteMethod[] = "/holdfast.v1.CommandService/Execute";

// A result that somebody waits for is looked for all the time at first, as CUDA
// looks for what it waits for.
constexpr std::chrono::milliseconds kEagerTime(2);

// The late flusher goes to sleep after so many looks at an empty batch.
constexpr int kEmptyLooks = 20;

}  // namespace

absl::StatusOr<v1::Result> PendingResult::Wait() const {
  NapUntil(
      [this] {
        state_->queue->ReadWhatHasCome();
        return state_->done.HasBeenNotified();
      },
      kEagerTime);
  state_->done.WaitForNotification();
  return state_->result;
}

// A v1::CommandBatch as it goes over the wire.
struct CommandQueue::Batch {
  explicit Batch(size_t capacity) : bytes(capacity) {}

  bool empty() const { return commands == 0; }
  void Begin(uint64_t sequence) {
    first_sequence = sequence;
    bytes.Varint(v1::CommandBatch::kFirstSequenceFieldNumber, sequence);
  }

  WireWriter bytes;
  uint64_t first_sequence = 0;
  uint32_t commands = 0;
  std::shared_ptr<BatchPool> pool;  // while gRPC has it
};

// Batches whose memory is used again, since fresh pages are dear. Thread-safe;
// outlives the queue by the batches that gRPC still holds.
class CommandQueue::BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  explicit BatchPool(size_t batch_bytes)
      : capacity_(batch_bytes + batch_bytes / 4) {}

  std::unique_ptr<Batch> Get() {
    absl::MutexLock lock(&mutex_);
    if (free_.empty()) return std::make_unique<Batch>(capacity_);
    std::unique_ptr<Batch> batch = std::move(free_.back());
    free_.pop_back();
    return batch;
  }

  // The batch as gRPC sends it; its memory comes back when it is sent.
  grpc::ByteBuffer ToBytes(std::unique_ptr<Batch> batch) {
    batch->pool = shared_from_this();
    Batch* const released = batch.release();
    const grpc::Slice slice(
        released->bytes.data(), released->bytes.size(),
        [](void* sent) {
          std::unique_ptr<Batch> back(static_cast<Batch*>(sent));
          const std::shared_ptr<BatchPool> pool = std::move(back->pool);
          pool->GiveBack(std::move(back));
        },
        released);
    return grpc::ByteBuffer(&slice, 1);
  }

 private:
  static constexpr size_t kMaxFree = 8;

  void GiveBack(std::unique_ptr<Batch> batch) {
    if (batch->bytes.capacity() > capacity_) return;  // Had a large command.
    batch->bytes.Truncate(0);
    batch->commands = 0;
    absl::MutexLock lock(&mutex_);
    if (free_.size() < kMaxFree) free_.push_back(std::move(batch));
  }

  const size_t capacity_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Batch>> free_ ABSL_GUARDED_BY(mutex_);
};

CommandQueue::CommandQueue(std::shared_ptr<grpc::ChannelInterface> channel,
                           Options options)
    : options_(std::move(options)),
      pool_(std::make_shared<BatchPool>(options_.batch_bytes)),
      channel_(std::move(channel)),
      filling_(pool_->Get()) {
  context_.AddMetadata("holdfast-session-token", options_.token);
  if (options_.doorbell.has_value()) {
    context_.AddMetadata("holdfast-doorbell", options_.doorbell_token);
  }
  // What a generated stub does, but for bytes that are encoded already.
  const grpc::internal::RpcMethod method(
      kExecuteMethod, grpc::internal::RpcMethod::BIDI_STREAMING, channel_);
  stream_.reset(grpc::internal::ClientReaderWriterFactory<
                grpc::ByteBuffer, v1::ResultBatch>::Create(channel_.get(),
                                                           method, &context_));
  reader_ = std::thread([this] { ReadResults(); });
  late_flusher_ = std::thread([this] { FlushLate(); });
}

CommandQueue::~CommandQueue() { Close(); }

void CommandQueue::Close() {
  Lose(absl::CancelledError("the session was closed"));
  closing_ = true;
  context_.TryCancel();
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
    flush_late_.Signal();
  }
  if (late_flusher_.joinable()) late_flusher_.join();
  if (reader_.joinable()) reader_.join();
}

absl::StatusOr<uint64_t> CommandQueue::Append(Encode encode, bool* full) {
  if (!lost_.ok()) return lost_;
  Batch& batch = *filling_;
  if (batch.empty()) {
    batch.Begin(last_sequence_ + 1);
    if (flusher_sleeps_) flush_late_.Signal();
  }
  const size_t before = batch.bytes.size();
  batch.bytes.Message(v1::CommandBatch::kCommandsFieldNumber,
                      [&] { encode(batch.bytes); });
  const size_t bytes = batch.bytes.size() - before;
  if (bytes > options_.max_command_bytes) {
    batch.bytes.Truncate(batch.empty() ? 0 : before);
    return absl::InvalidArgumentError(absl::StrCat("the command has ", bytes,
                                                   " bytes, the limit is ",
                                                   options_.max_command_bytes));
  }
  ++batch.commands;
  *full = batch.bytes.size() >= options_.batch_bytes ||
          batch.commands >= options_.batch_commands;
  return ++last_sequence_;
}

absl::StatusOr<uint64_t> CommandQueue::Submit(Encode encode) {
  bool full = false;
  uint64_t sequence = 0;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(sequence, Append(encode, &full));
  }
  if (full) Flush();
  return sequence;
}

absl::StatusOr<uint64_t> CommandQueue::Submit(Fill fill) {
  v1::Command command;
  fill(command);
  return Submit([&](WireWriter& writer) { writer.Fields(command); });
}

absl::StatusOr<uint64_t> CommandQueue::SubmitCreation(Encode encode) {
  bool full = false;
  uint64_t sequence = 0;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(sequence, Append(encode, &full));
    failures_.Watch(sequence);
  }
  if (full) Flush();
  return sequence;
}

void CommandQueue::SubmitDestruction(Encode encode, uint64_t creation) {
  bool full = false;
  {
    absl::MutexLock lock(&mutex_);
    // Fails only when the session, and with it the resource, is gone.
    Append(encode, &full).IgnoreError();
    failures_.Unwatch(creation);
  }
  if (full) Flush();
}

absl::StatusOr<PendingResult> CommandQueue::SubmitForResult(Encode encode) {
  auto state = std::make_shared<PendingResult::State>();
  state->queue = this;
  bool full = false;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(state->sequence, Append(encode, &full));
    pending_.emplace(state->sequence, state);
  }
  if (full) Flush();
  return PendingResult(std::move(state));
}

absl::StatusOr<PendingResult> CommandQueue::SubmitForResult(Fill fill) {
  v1::Command command;
  fill(command);
  return SubmitForResult([&](WireWriter& writer) { writer.Fields(command); });
}

absl::StatusOr<v1::Result> CommandQueue::Call(Encode encode) {
  HOLDFAST_ASSIGN_OR_RETURN(PendingResult result, SubmitForResult(encode));
  Flush();
  return result.Wait();
}

absl::StatusOr<v1::Result> CommandQueue::Call(Fill fill) {
  v1::Command command;
  fill(command);
  return Call([&](WireWriter& writer) { writer.Fields(command); });
}

uint64_t CommandQueue::Flush() {
  absl::MutexLock write_lock(&write_mutex_);
  std::unique_ptr<Batch> batch = pool_->Get();
  uint64_t last = 0;
  {
    absl::MutexLock lock(&mutex_);
    last = last_sequence_;
    if (!filling_->empty()) std::swap(filling_, batch);
  }
  const bool empty = batch->empty();
  const grpc::ByteBuffer bytes = pool_->ToBytes(std::move(batch));
  // A failed write means that the stream is broken; the reader learns why.
  if (empty) return last;
  stream_->Write(bytes);
  if (options_.doorbell.has_value()) options_.doorbell->Ring();
  return last;
}

void CommandQueue::FlushLate() {
  int empty_looks = 0;
  mutex_.Lock();
  while (!stop_) {
    flusher_sleeps_ = empty_looks >= kEmptyLooks;
    if (flusher_sleeps_) {
      while (!stop_ && filling_->empty()) flush_late_.Wait(&mutex_);
      flusher_sleeps_ = false;
    }
    const bool empty = filling_->empty();
    const uint64_t first = filling_->first_sequence;
    empty_looks = empty ? empty_looks + 1 : 0;
    const absl::Time deadline = absl::Now() + options_.flush_delay;
    while (!stop_ && !flush_late_.WaitWithDeadline(&mutex_, deadline)) {
    }
    // Still the same batch: nobody else will send it.
    if (stop_ || empty || filling_->empty() ||
        filling_->first_sequence != first) {
      continue;
    }
    mutex_.Unlock();
    Flush();
    mutex_.Lock();
  }
  mutex_.Unlock();
}

bool CommandQueue::ResultsHaveCome() const {
  return options_.doorbell.has_value() &&
         options_.doorbell->rung() > batches_read_;
}

bool CommandQueue::ReadBatch() {
  v1::ResultBatch batch;
  if (!stream_->Read(&batch)) return false;
  ++batches_read_;
  for (v1::Result& result : *batch.mutable_results()) {
    Deliver(std::move(result));
  }
  return true;
}

void CommandQueue::ReadWhatHasCome() {
  if (!ResultsHaveCome() || !read_mutex_.TryLock()) return;
  // Another thread may have read it meanwhile. The stream's end is for the
  // reader to see.
  if (ResultsHaveCome()) ReadBatch();
  read_mutex_.Unlock();
}

void CommandQueue::ReadResults() {
  for (bool more = true; more;) {
    const bool come = options_.doorbell.has_value() && NapUntil([this] {
                        return ResultsHaveCome() || closing_;
                      });
    absl::MutexLock lock(&read_mutex_);
    // Somebody who waits may have read them meanwhile; only while nothing comes
    // for long is the stream this thread's alone. The end of the stream is
    // found here, whatever the executor has rung for.
    if (come && !closing_ && !ResultsHaveCome()) continue;
    more = ReadBatch();
  }
  const absl::Status status = ToStatus(stream_->Finish());
  bool lost = false;
  {
    absl::MutexLock lock(&mutex_);
    lost = !lost_.ok();
  }
  if (lost) return;
  Lose(options_.explain_loss ? options_.explain_loss(status)
                             : absl::UnavailableError(status.message()));
}

void CommandQueue::Deliver(v1::Result result) {
  const absl::Status error =
      result.has_error() ? ToStatus(result.error()) : absl::OkStatus();
  std::shared_ptr<PendingResult::State> waiter;
  {
    absl::MutexLock lock(&mutex_);
    if (auto found = pending_.find(result.sequence());
        found != pending_.end()) {
      waiter = std::move(found->second);
      pending_.erase(found);
    } else if (!error.ok()) {
      failures_.Add(result.sequence(), error);
    }
  }
  if (waiter == nullptr) return;
  if (error.ok()) {
    waiter->result = std::move(result);
  } else {
    waiter->result = error;
  }
  waiter->done.Notify();
}

absl::Status CommandQueue::TakeFailure() {
  absl::MutexLock lock(&mutex_);
  absl::Status failure = failures_.Take();
  return failure.ok() ? lost_ : failure;
}

absl::Status CommandQueue::FailureOf(uint64_t sequence) const {
  absl::MutexLock lock(&mutex_);
  const absl::Status failure = failures_.Of(sequence);
  return failure.ok() ? lost_ : failure;
}

void CommandQueue::Forget(uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  failures_.Unwatch(sequence);
}

void CommandQueue::Lose(const absl::Status& reason) {
  decltype(pending_) pending;
  {
    absl::MutexLock lock(&mutex_);
    if (!lost_.ok()) return;
    lost_ = reason;
    pending.swap(pending_);
  }
  for (auto& [sequence, state] : pending) {
    state->result = reason;
    state->done.Notify();
  }
}

}  // namespace holdfast
