// SPDX-License-Identifier: Apache-2.0
#include "server/services/execute_call.h"

#include <grpcpp/support/slice.h>

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/commands.pb.h"
#include "server/rpc/eager_polling.h"
#include "server/rpc/metadata.h"
#include "server/rpc/status_conversion.h"
#include "server/services/upstream_end.h"

namespace holdfast {
namespace {

enum Step { kBatchCame, kBatchInRing, kResultCame };
constexpr std::array<const char*, 3> kSteps = {
    "daemon: batch came", "daemon: batch in the executor's ring",
    "daemon: result came"};

// Results and the call's end wake the thread; it also looks by itself, in case
// that the executor suppresses the wake-ups.
constexpr absl::Duration kLookAnyway = absl::Seconds(10);

// A batch of results is smaller: about 1 MiB, and one result more, of which the
// largest describes a module with 4 MiB of symbols.
constexpr size_t kMaxResultBytes = size_t{16} << 20;

// So many bytes of results wait while others are written, and one message more.
constexpr size_t kMaxWaitingBytes = size_t{1} << 20;

// A client has so long to take a message of a session that is over.
constexpr absl::Duration kLastTake = absl::Seconds(5);

// RESOURCE_EXHAUSTED: the machine, or the daemon's limits, allow no more.
absl::Status StartThreadOf(const supervisor::Session& session,
                           std::function<void()> run, std::thread* thread) {
  HOLDFAST_ASSIGN_OR_RETURN(
      *thread,
      StartThread(absl::StrCat("an Execute call of session ", session.id()),
                  std::move(run)));
  return absl::OkStatus();
}

// A message's bytes as they lie in memory, which `slices` keeps.
std::vector<absl::string_view> PartsOf(const grpc::ByteBuffer& message,
                                       std::vector<grpc::Slice>* slices) {
  std::vector<absl::string_view> parts;
  if (!message.Dump(slices).ok()) return parts;
  for (const grpc::Slice& slice : *slices) {
    parts.emplace_back(reinterpret_cast<const char*>(slice.begin()),
                       slice.size());
  }
  return parts;
}

// The message of `size` bytes that was read last, which is not copied again.
grpc::Slice Take(RingReader& reader, size_t size) {
  return grpc::Slice(reader.Release().release(), size,
                     [](void* bytes) { delete[] static_cast<char*>(bytes); });
}

}  // namespace

ExecuteCall::ExecuteCall(grpc::CallbackServerContext* context,
                         const std::string& method,
                         std::shared_ptr<supervisor::Session> session,
                         std::shared_ptr<void> place, StallGuard& stall_guard)
    : context_(*context),
      method_(method),
      session_(std::move(session)),
      place_(std::move(place)),
      stall_guard_(stall_guard),
      upstream_(std::make_shared<RingCall>(session_->executor_channel())) {
  if (FindMetadata(context_, kStepTimesKey).has_value()) {
    clock_ = std::make_unique<StepClock<3>>(kSteps);
  }
  const absl::Status started = StartThreadOf(
      *session_, [this] { Serve(); }, &thread_);
  if (!started.ok()) Finish(ToGrpcStatus(started));
}

ExecuteCall::~ExecuteCall() {
  if (thread_.joinable()) thread_.join();
  if (writer_.joinable()) writer_.join();
}

void ExecuteCall::Serve() {
  grpc::Status status;
  if (const absl::Status started = StartUpstream(); started.ok()) {
    if (upstream_->AwaitTaken()) {
      ReadNext();
      RelayResults();
    } else {
      upstream_->EndUp();  // Without rings there is nothing to say.
    }
    status = AwaitEnd();
    PassTrailersOn(upstream_->context(), context_);
  } else {
    status = {grpc::StatusCode::UNAVAILABLE, std::string(started.message())};
  }
  if (IsBrokenConnection(status) && !context_.IsCancelled()) {
    status = ExplainBroken(*session_, status);
  }
  {
    absl::MutexLock lock(&mutex_);
    finished_ = true;
    const auto unused = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !ring_full_ && client_ != Client::kTaking;
    };
    AwaitClient(absl::Condition(&unused));
  }
  Finish(status);  // After which the call may not exist any more.
}

absl::Status ExecuteCall::StartUpstream() {
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd memory, RingPair::CreateMemory());
  HOLDFAST_ASSIGN_OR_RETURN(
      rings_,
      RingPair::Map(memory.get(), RingPair::End::kClient, kMaxResultBytes));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string token,
                            session_->SendFd(memory.get()));
  ForwardMetadata(context_, &upstream_->context());
  upstream_->context().set_deadline(context_.deadline());
  upstream_->Start(method_, absl::BytesToHexString(token),
                   [rings = rings_] { rings->Close(); });
  return absl::OkStatus();
}

grpc::Status ExecuteCall::AwaitEnd() {
  const grpc::Status status = upstream_->AwaitEnd();
  absl::MutexLock lock(&mutex_);
  return broken_.ok() ? status : ToGrpcStatus(broken_);
}

void ExecuteCall::RelayResults() {
  RingReader& reader = rings_->reader();
  for (;;) {
    // Messages that came before the end are read before it.
    const bool ended = reader.closed();
    const auto message = reader.Read();
    if (!message.ok()) {
      LogFor(session_->client(), LogLevel::kError, "session ", session_->id(),
             ": from its executor: ", message.status().message());
      absl::MutexLock lock(&mutex_);
      broken_ = message.status();
      break;
    }
    if (message->has_value()) {
      if ((*message)->empty()) {
        upstream_
            ->EndUp();  // As the executor asks, so that it can tell its status.
      } else if (!Send(**message)) {
        break;
      }
    } else if (ended) {
      return;
    } else {
      reader.Await(kLookAnyway);
    }
  }
  upstream_->Cancel();
}

std::string ExecuteCall::Times() const {
  if (clock_ == nullptr) [[likely]]
    return "";
  clock_->Mark(kResultCame);
  v1::ResultBatch batch;
  clock_->AddTo(batch.add_results()->mutable_times());
  return batch.SerializeAsString();
}

bool ExecuteCall::Send(absl::string_view results) {
  const std::string times = Times();
  const bool large = results.size() >= JoinedResults::kLargeBytes;
  const grpc::Slice slice =
      large ? Take(rings_->reader(), results.size()) : grpc::Slice();
  absl::MutexLock lock(&mutex_);
  const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return client_ == Client::kGone || results_.bytes() < kMaxWaitingBytes;
  };
  AwaitClient(absl::Condition(&room));
  if (client_ == Client::kGone) return false;
  results_.AddSmall(times);
  large ? results_.AddLarge(slice) : results_.AddSmall(results);
  if (client_ == Client::kReady) StartNextWrite();
  return true;
}

void ExecuteCall::AwaitClient(const absl::Condition& taken) {
  while (!mutex_.AwaitWithTimeout(taken, kLastTake)) {
    // A session that goes on leaves its client to the stall guard.
    if (upstream_->ended() && session_->lost()) context_.TryCancel();
  }
}

void ExecuteCall::StartNextWrite() {
  outgoing_ = results_.Take();
  client_ = Client::kTaking;
  watch_.emplace(stall_guard_, context_);
  PollEagerly();
  StartWrite(&outgoing_);
}

void ExecuteCall::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  watch_.reset();
  client_ = ok ? Client::kReady : Client::kGone;
  if (ok && results_.bytes() > 0) StartNextWrite();
}

void ExecuteCall::ReadNext() {
  absl::MutexLock lock(&mutex_);
  if (!finished_) StartRead(&incoming_);
}

void ExecuteCall::OnReadDone(bool ok) {
  if (!ok) return upstream_->EndUp();
  PollEagerly();
  if (clock_ != nullptr) clock_->Mark(kBatchCame);
  std::vector<grpc::Slice> slices;
  // One look at the executor's counter decides: gRPC's thread never waits for
  // an executor, which may say one thing now and another a moment later.
  const auto written = rings_->writer().TryWrite(PartsOf(incoming_, &slices));
  if (!written.ok()) return Break(written.status());
  if (clock_ != nullptr) clock_->Mark(kBatchInRing);
  if (*written) return ReadNext();
  WriteByThread();
}

void ExecuteCall::WriteByThread() {
  absl::Status started;
  {
    absl::MutexLock lock(&mutex_);
    if (finished_) return;
    if (!writer_.joinable()) {
      started = StartThreadOf(
          *session_, [this] { WriteBatchWhenThereIsRoom(); }, &writer_);
    }
    ring_full_ = started.ok();
  }
  if (!started.ok()) Break(started);
}

void ExecuteCall::Break(const absl::Status& status) {
  if (absl::IsCancelled(status)) return;  // The call has ended already.
  upstream_->Cancel();
  absl::MutexLock lock(&mutex_);
  broken_.Update(status);
}

void ExecuteCall::WriteBatchWhenThereIsRoom() {
  const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ring_full_ || finished_;
  };
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&due));
      if (!ring_full_) return;
    }
    std::vector<grpc::Slice> slices;
    const absl::Status written =
        rings_->writer().Write(PartsOf(incoming_, &slices));
    if (!written.ok()) Break(written);
    {
      absl::MutexLock lock(&mutex_);
      ring_full_ = false;
    }
    if (written.ok()) ReadNext();
  }
}

}  // namespace holdfast
