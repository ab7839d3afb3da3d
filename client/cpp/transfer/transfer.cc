// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/attach/retried_transfer.h"
#include "client/cpp/connection/forked_process.h"
#include "client/cpp/transfer/staged_copy.h"
#include "client/cpp/transfer/staging_ring.h"
#include "client/cpp/transfer/transfer_stream.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Flushes, so that the transfer comes after all that was submitted.
v1::TransferRange RangeOf(SessionState& session, const TransferTarget& target) {
  v1::TransferRange range;
  range.set_buffer(target.buffer);
  range.set_offset(target.offset);
  range.set_size(target.size);
  range.set_stream(target.stream);
  range.set_after_sequence(session.queue.Flush());
  session.queue.AwaitServing();
  return range;
}

// A copy of up to so many times what one command may hold is that many
// commands: fewer steps than a call of its own, which makes up for that only
// where there are more bytes.
constexpr uint64_t kMaxInlineParts = 16;

// Calls `each` with the beginning and the size of each part.
template <typename Each>
absl::Status ForEachPart(const SessionState& session,
                         const TransferTarget& target, Each each) {
  const uint64_t most = session.limits.max_inline_bytes();
  if (target.size > most) HOLDFAST_RETURN_IF_ERROR(target.CheckRange());
  for (uint64_t at = 0; at < target.size; at += most) {
    HOLDFAST_RETURN_IF_ERROR(each(at, std::min(most, target.size - at)));
  }
  return absl::OkStatus();
}

absl::Status WriteInline(SessionState& session, const TransferTarget& target,
                         const char* data) {
  return ForEachPart(session, target, [&](uint64_t at, uint64_t size) {
    return session.queue
        .Submit([&](WireWriter& writer) {
          writer.Message(v1::fields::Command::kWriteBuffer, [&] {
            writer.Write(v1::fields::WriteBuffer::kStream, target.stream);
            writer.Write(v1::fields::WriteBuffer::kBuffer, target.buffer);
            writer.Write(v1::fields::WriteBuffer::kOffset, target.offset + at);
            writer.WriteLast(v1::fields::WriteBuffer::kData, {data + at, size});
          });
        })
        .status();
  });
}

// Asks for the part of `target` that begins at `at`.
void AskForPart(v1::Command& command, const TransferTarget& target, uint64_t at,
                uint64_t size) {
  v1::ReadBuffer& read = *command.mutable_read_buffer();
  read.set_stream(target.stream);
  read.set_buffer(target.buffer);
  read.set_offset(target.offset + at);
  read.set_size(size);
}

absl::Status TakePart(const v1::Result& result, uint64_t size, char* data) {
  if (result.data().size() != size) {
    return absl::InternalError(absl::StrCat(
        "the daemon sent ", result.data().size(), " of ", size, " bytes"));
  }
  std::memcpy(data, result.data().data(), size);
  return absl::OkStatus();
}

// The last part is waited for as a call is, which can be interrupted; the
// others come before it.
absl::Status ReadInline(SessionState& session, const TransferTarget& target,
                        char* data) {
  std::vector<PendingResult> others;
  v1::Result last;
  HOLDFAST_RETURN_IF_ERROR(ForEachPart(
      session, target, [&](uint64_t at, uint64_t size) -> absl::Status {
        const auto ask = [&](v1::Command& command) {
          AskForPart(command, target, at, size);
        };
        if (at + size < target.size) {
          HOLDFAST_ASSIGN_OR_RETURN(PendingResult part,
                                    session.queue.SubmitForResult(ask));
          others.push_back(std::move(part));
          return absl::OkStatus();
        }
        HOLDFAST_ASSIGN_OR_RETURN(last, session.queue.Call(ask));
        return absl::OkStatus();
      }));
  size_t next = 0;
  HOLDFAST_RETURN_IF_ERROR(ForEachPart(
      session, target, [&](uint64_t at, uint64_t size) -> absl::Status {
        if (next == others.size()) return TakePart(last, size, data + at);
        HOLDFAST_ASSIGN_OR_RETURN(const v1::Result part,
                                  std::move(others[next++]).Wait());
        return TakePart(part, size, data + at);
      }));
  return session.queue.TakeFailure();
}

// Copies more bytes than one ReadInline or WriteInline takes, a group of
// commands at a time. `copy(group, at)` returns when the group's commands are
// done: a stream that stands still then holds up this copy, and no command of
// another thread.
template <typename Copy>
absl::Status InGroups(const SessionState& session, const TransferTarget& target,
                      Copy copy) {
  HOLDFAST_RETURN_IF_ERROR(target.CheckRange());
  const uint64_t most = kMaxInlineParts * session.limits.max_inline_bytes();
  for (uint64_t at = 0; at < target.size; at += most) {
    TransferTarget group = target;
    group.offset += at;
    group.size = std::min(most, target.size - at);
    HOLDFAST_RETURN_IF_ERROR(copy(group, at));
  }
  return absl::OkStatus();
}

absl::Status WriteInGroups(SessionState& session, const TransferTarget& target,
                           const char* data) {
  return InGroups(
      session, target, [&](const TransferTarget& group, uint64_t at) {
        HOLDFAST_RETURN_IF_ERROR(WriteInline(session, group, data + at));
        HOLDFAST_RETURN_IF_ERROR(
            session.queue
                .Call([&](v1::Command& command) {
                  command.mutable_synchronize_stream()->set_stream(
                      target.stream);
                })
                .status());
        return session.queue.TakeFailure();
      });
}

absl::Status ReadInGroups(SessionState& session, const TransferTarget& target,
                          char* data) {
  return InGroups(session, target,
                  [&](const TransferTarget& group, uint64_t at) {
                    return ReadInline(session, group, data + at);
                  });
}

// Before a transfer is tried again: its connection is made anew meanwhile.
constexpr absl::Duration kRetryPause = absl::Milliseconds(50);

// Blocks until commands get through, or says why none will.
absl::Status AwaitConnection(SessionState& session) {
  absl::SleepFor(kRetryPause);
  return session.queue
      .Call([](v1::Command& command) { command.mutable_fence(); })
      .status();
}

TransferRoute RouteOf(SessionState& session, const TransferTry& which) {
  return {session.transfer_channels, session.token,
          session.limits.max_chunk_bytes(), session.transfer_calls,
          which.ToString()};
}

absl::Status UploadLarge(SessionState& session, const TransferTarget& target,
                         const char* data) {
  const uint64_t faults = session.queue.faults();
  return session.queue.Explain(
      RetriedTransfer(
          RangeOf(session, target), session.limits.max_chunk_bytes(),
          [&](const v1::TransferRange& part, uint64_t begin,
              const TransferTry& which) {
            return UploadStream(RouteOf(session, which), part, data + begin);
          },
          [&] { return AwaitConnection(session); }),
      faults);
}

absl::Status DownloadLarge(SessionState& session, const TransferTarget& target,
                           char* data) {
  const uint64_t faults = session.queue.faults();
  const v1::TransferRange range = RangeOf(session, target);
  // Its result brings the failures of the commands before, while bytes flow.
  HOLDFAST_ASSIGN_OR_RETURN(
      const PendingResult fence,
      session.queue.SubmitForResult(
          [](v1::Command& command) { command.mutable_fence(); }));
  session.queue.Flush();
  HOLDFAST_RETURN_IF_ERROR(session.queue.Explain(
      RetriedTransfer(
          range, session.limits.max_chunk_bytes(),
          [&](const v1::TransferRange& part, uint64_t begin,
              const TransferTry& which) {
            return DownloadStream(RouteOf(session, which), part, data + begin);
          },
          [&] { return AwaitConnection(session); }),
      faults));
  HOLDFAST_RETURN_IF_ERROR(fence.Wait().status());
  return session.queue.TakeFailure();
}

// Fewer bytes are there sooner with their command, or its result.
constexpr uint64_t kLeastStagedIn = 32 << 10, kLeastStagedOut = 4096;

// Makes the ring if so much is copied, at once or in all, that the time for it
// is soon made up for. Small copies do not wait for it.
std::shared_ptr<StagingRing> RingFor(SessionState& session, uint64_t size,
                                     uint64_t least) {
  constexpr uint64_t kLarge = 1 << 20, kManySmall = 8 << 20;
  using Make = StagingRing::Make;
  if (size < least) return nullptr;
  const uint64_t copied = session.copied += size;
  return StagingRing::Of(session, size >= kLarge         ? Make::kNow
                                  : copied >= kManySmall ? Make::kInBackground
                                                         : Make::kNot);
}

bool FitsInline(const SessionState& session, uint64_t size,
                uint64_t commands = 1) {
  return size <= commands * session.limits.max_inline_bytes();
}

}  // namespace

absl::Status UploadBytes(SessionState& session, const TransferTarget& target,
                         const void* data) {
  if (target.size == 0) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  const char* const bytes = static_cast<const char*>(data);
  const auto ring = RingFor(session, target.size, kLeastStagedIn);
  if (FitsInline(session, target.size)) {
    if (ring != nullptr) {
      const auto staged = UploadThroughSlot(session, *ring, target, bytes);
      if (!staged.ok() || *staged) return staged.status();
    }
    return WriteInline(session, target, bytes);
  }
  if (ring != nullptr) return StagedUpload(session, *ring, target, bytes);
  if (FitsInline(session, target.size, kMaxInlineParts)) {
    return WriteInline(session, target, bytes);
  }
  if (session.is_local()) return WriteInGroups(session, target, bytes);
  return UploadLarge(session, target, bytes);
}

absl::Status DownloadBytes(SessionState& session, const TransferTarget& target,
                           void* data) {
  if (target.size == 0) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  char* const bytes = static_cast<char*>(data);
  const auto ring = RingFor(session, target.size, kLeastStagedOut);
  if (FitsInline(session, target.size)) {
    if (ring != nullptr) {
      const auto staged = DownloadThroughSlot(session, *ring, target, bytes);
      if (!staged.ok()) return staged.status();
      if (*staged) return session.queue.TakeFailure();
    }
    return ReadInline(session, target, bytes);
  }
  if (ring != nullptr) {
    HOLDFAST_RETURN_IF_ERROR(StagedDownload(session, *ring, target, bytes));
    return session.queue.TakeFailure();
  }
  if (FitsInline(session, target.size, kMaxInlineParts)) {
    return ReadInline(session, target, bytes);
  }
  if (session.is_local()) return ReadInGroups(session, target, bytes);
  return DownloadLarge(session, target, bytes);
}

}  // namespace holdfast
