// SPDX-License-Identifier: Apache-2.0
#include "server/executor/service/command_stream.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/rpc/metadata.h"

namespace holdfast::executor {
namespace {

// Arrivals and the end of the call wake a reader. It also polls, in case that
// the client suppresses the wake-ups.
constexpr absl::Duration kLookAnyway = absl::Seconds(10);

// How often a call whose client sends no more is looked at: does it still take?
constexpr absl::Duration kCancelPoll = absl::Milliseconds(50);

// A client that is asked to end the call has so long before it is cancelled.
constexpr absl::Duration kEndPatience = absl::Seconds(1);

// Results of at most so many bytes are sent by the thread that made them.
constexpr size_t kSmallBytes = 2048;

// Null: the client offers none, or none that can be used.
std::unique_ptr<RingPair> ClaimRings(const grpc::ServerContext& context,
                                     FdReceiver& inbox,
                                     size_t max_batch_bytes) {
  const auto digits = FindMetadata(context, kRingsKey);
  if (!digits.has_value() || digits->size() > kRingsKey.max_bytes) {
    return nullptr;
  }
  const std::string token = absl::HexStringToBytes(*digits);
  const auto map = [&]() -> absl::StatusOr<std::unique_ptr<RingPair>> {
    HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd memory, inbox.Claim(token));
    return RingPair::Map(memory.get(), RingPair::End::kExecutor,
                         max_batch_bytes);
  };
  auto rings = map();
  if (rings.ok()) return *std::move(rings);
  LogWarning("commands go through gRPC: ", rings.status().message());
  return nullptr;
}

}  // namespace

CommandStream::CommandStream(grpc::ServerContext& context, Grpc& grpc,
                             FdReceiver& inbox, size_t max_batch_bytes)
    : context_(context),
      grpc_(grpc),
      rings_(ClaimRings(context, inbox, max_batch_bytes)) {
  if (rings_ != nullptr) context_.AddInitialMetadata(kRingsKey.name, "taken");
  grpc_.SendInitialMetadata();
  if (rings_ != nullptr) end_ = std::thread([this] { AwaitEnd(); });
}

CommandStream::~CommandStream() {
  if (rings_ == nullptr) return;
  finished_.Notify();
  if (!rings_->reader().closed()) AskForEnd();
  end_.join();
}

// A call that is cancelled loses its status.
void CommandStream::AskForEnd() {
  const bool asked = rings_->writer().TryWrite("").value_or(false);
  if (!asked || !half_closed_.WaitForNotificationWithTimeout(kEndPatience)) {
    context_.TryCancel();
  }
}

void CommandStream::AwaitEnd() {
  for (v1::CommandBatch none; grpc_.Read(&none);) {
  }
  rings_->reader().Close();
  half_closed_.Notify();
  // A client that has half-closed still takes results, until it goes.
  while (!context_.IsCancelled()) {
    if (finished_.WaitForNotificationWithTimeout(kCancelPoll)) return;
  }
  rings_->writer().Close();
}

absl::StatusOr<bool> CommandStream::Read(v1::CommandBatch* batch,
                                         SessionGate& gate,
                                         SessionGate::Pass* pass) {
  const auto enter = [&] {
    auto entered = gate.Enter();
    if (!entered.ok()) return false;
    *pass = *std::move(entered);
    return true;
  };
  if (rings_ == nullptr) return grpc_.Read(batch) && enter();
  RingReader& reader = rings_->reader();
  for (;;) {
    // Batches sent before the end are read before it.
    const bool ended = reader.closed();
    if (ended && context_.IsCancelled()) return false;
    if (!pass->held() && !enter()) return false;
    HOLDFAST_ASSIGN_OR_RETURN(const std::optional<absl::string_view> message,
                              reader.Read());
    if (message.has_value()) {
      const int size = static_cast<int>(message->size());
      if (batch->ParseFromArray(message->data(), size)) return true;
      return absl::InvalidArgumentError(
          absl::StrCat("a message of ", size, " bytes is no CommandBatch"));
    }
    if (ended) return false;
    // One that has begun is taken in as a whole.
    if (!reader.InMessage()) pass->Release();
    reader.Await(kLookAnyway);
  }
}

bool CommandStream::Write(const v1::ResultBatch& results) {
  if (rings_ == nullptr) return grpc_.Write(results);
  return rings_->writer().Write(results.SerializeAsString()).ok();
}

bool CommandStream::WriteNow(const v1::ResultBatch& results) {
  char bytes[kSmallBytes];
  const size_t size = results.ByteSizeLong();
  if (size > sizeof bytes) return false;
  results.SerializeToArray(bytes, static_cast<int>(size));
  return rings_->writer().TryWrite({bytes, size}).value_or(false);
}

}  // namespace holdfast::executor
