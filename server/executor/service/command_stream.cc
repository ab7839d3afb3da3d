// SPDX-License-Identifier: Apache-2.0
#include "server/executor/service/command_stream.h"

#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/spin.h"
#include "core/base/status_macros.h"
#include "server/rpc/metadata.h"

namespace holdfast::executor {
namespace {

// Arrivals and the end of the call wake a reader. It also polls, in case that
// the client suppresses the wake-ups.
constexpr absl::Duration kLookAnyway = absl::Seconds(10);

// A client that is asked to end the call has so long before it is cancelled.
constexpr absl::Duration kEndPatience = absl::Seconds(1);

// Results of at most so many bytes are sent by the thread that made them.
constexpr size_t kSmallBytes = 2048;

// Null: the client offers none, or none that can be used.
std::unique_ptr<RingPair> ClaimRings(const grpc::ServerContextBase& context,
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

absl::Status NoBatch(size_t size) {
  return absl::InvalidArgumentError(
      absl::StrCat("a message of ", size, " bytes is no CommandBatch"));
}

absl::Status ParseBatch(grpc::ByteBuffer& message, DecodedBatch* batch) {
  const size_t size = message.Length();
  grpc::ProtoBufferReader reader(&message);
  if (reader.status().ok() && batch->Decode(reader, size)) {
    return absl::OkStatus();
  }
  return NoBatch(size);
}

grpc::ByteBuffer BytesOf(const v1::ResultBatch& results) {
  const grpc::Slice slice(results.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// An executor that is about to end waits until such results are sent, which it
// learns from the thread that writes them; see ResultQueue::AwaitSent.
bool IsAwaited(const v1::ResultBatch& results) {
  return absl::c_any_of(results.results(), [](const v1::Result& result) {
    return result.has_error() || result.has_output();
  });
}

bool Enter(SessionGate& gate, const std::stop_token& cancelled,
           SessionGate::Pass* pass) {
  auto entered = gate.Enter(cancelled);
  if (!entered.ok()) return false;
  *pass = *std::move(entered);
  return true;
}

}  // namespace

void CommandStream::Accept(FdReceiver& inbox, size_t max_batch_bytes) {
  rings_ = ClaimRings(context(), inbox, max_batch_bytes);
  if (rings_ != nullptr) {
    context().AddInitialMetadata(kRingsKey.name, "taken");
    close_rings_.emplace(cancelled(), [this] { rings_->Close(); });
  }
  StartSendInitialMetadata();
  ReadAhead();
}

// A client that has half-closed still takes results, until it goes.
void CommandStream::OnReadDone(bool ok) {
  if (rings_ != nullptr && ok) return ReadOn();  // None belongs here.
  if (rings_ != nullptr) rings_->reader().Close();
  ServedStream::OnReadDone(ok);
}

// A call that is cancelled loses its status.
void CommandStream::AskForEnd() {
  if (rings_ == nullptr || rings_->reader().closed()) return;
  const bool asked = rings_->writer().TryWrite("").value_or(false);
  if (!asked || !AwaitNoMore(kEndPatience)) context().TryCancel();
}

absl::StatusOr<bool> CommandStream::ReadBatch(DecodedBatch* batch,
                                              SessionGate& gate,
                                              SessionGate::Pass* pass) {
  if (rings_ != nullptr) return ReadFromRing(batch, gate, pass);
  SpinUntil([this] { return Readable(); });
  grpc::ByteBuffer message;
  if (!Read(&message)) return false;
  HOLDFAST_RETURN_IF_ERROR(ParseBatch(message, batch));
  return Enter(gate, cancelled(), pass);
}

absl::StatusOr<bool> CommandStream::ReadFromRing(DecodedBatch* batch,
                                                 SessionGate& gate,
                                                 SessionGate::Pass* pass) {
  RingReader& reader = rings_->reader();
  for (;;) {
    // Batches sent before the end are read before it.
    const bool ended = reader.closed();
    if (ended && cancelled().stop_requested()) return false;
    if (!pass->held() && !Enter(gate, cancelled(), pass)) return false;
    HOLDFAST_ASSIGN_OR_RETURN(const std::optional<absl::string_view> message,
                              reader.Read());
    if (message.has_value()) {
      if (batch->Decode(*message)) return true;
      return NoBatch(message->size());
    }
    if (ended) return false;
    // One that has begun is taken in as a whole.
    if (!reader.InMessage()) pass->Release();
    reader.Await(kLookAnyway);
  }
}

bool CommandStream::WriteResults(const v1::ResultBatch& results) {
  if (rings_ == nullptr) return Write(BytesOf(results)) && AwaitWritten();
  RingWriter& writer = rings_->writer();
  const size_t size = results.ByteSizeLong();
  const absl::StatusOr<char*> place = writer.Reserve(size);
  if (!place.ok()) return false;
  if (*place == nullptr) return writer.Write(results.SerializeAsString()).ok();
  results.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(*place));
  writer.Commit(size);
  return true;
}

bool CommandStream::WriteNow(const v1::ResultBatch& results) {
  char bytes[kSmallBytes];
  const size_t size = results.ByteSizeLong();
  if (size > sizeof bytes) return false;
  if (rings_ == nullptr) {
    return !IsAwaited(results) && TryWrite(BytesOf(results));
  }
  results.SerializeToArray(bytes, static_cast<int>(size));
  return rings_->writer().TryWrite({bytes, size}).value_or(false);
}

}  // namespace holdfast::executor
