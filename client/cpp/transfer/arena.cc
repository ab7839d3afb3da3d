// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/arena.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/connection/forked_process.h"
#include "client/cpp/connection/rpc_status.h"
#include "client/cpp/state/session_state.h"
#include "client/cpp/transfer/arena_index.h"
#include "core/base/arena_range.h"
#include "core/base/descriptor_socket.h"
#include "core/base/handle.h"
#include "core/base/populate.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "proto/metadata.h"

namespace holdfast {
namespace {

absl::StatusOr<uint64_t> WholePages(uint64_t size) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (size == 0 || size > INT64_MAX - page) {
    return absl::InvalidArgumentError(
        absl::StrCat("an arena of ", size, " bytes: 1 to ", INT64_MAX - page,
                     " are possible"));
  }
  return (size + page - 1) / page * page;
}

// A descriptor of the memory that was given, or of new memory.
absl::StatusOr<UniqueFd> MemoryOf(uint64_t size, int given) {
  if (given < 0) return CreateFixedMemfd("holdfast-arena", size);
  if (!IsFixedMemfd(given, size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("descriptor ", given, " is no memfd of ", size,
                     " bytes that keeps its size"));
  }
  UniqueFd fd(fcntl(given, F_DUPFD_CLOEXEC, 0));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "duplicate a descriptor");
  return fd;
}

// A random place in the range, so that two processes do not want the same one.
// An address that is taken, here or in the executor, is no error.
void* RandomPlace(uint64_t size) {
  static_assert(kArenaRangeBytes % kArenaAlignment == 0);
  if (size > kArenaRangeBytes) return nullptr;
  static thread_local std::mt19937_64 random{std::random_device()()};
  const uint64_t last = (kArenaRangeBytes - size) / kArenaAlignment;
  const uint64_t place =
      std::uniform_int_distribution<uint64_t>(0, last)(random);
  return reinterpret_cast<void*>(kArenaRangeBase + place * kArenaAlignment);
}

absl::StatusOr<FileMapping> MapMemory(int fd, uint64_t size) {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    void* const place = RandomPlace(size);
    if (place == nullptr) break;
    auto mapping = FileMapping::MapAt(fd, size, place);
    if (mapping.ok()) return mapping;
  }
  return FileMapping::Map(fd, FileMapping::Access::kReadWrite);
}

// A call is not ordered after commands: that what had the handle's index before
// was freed, has to be known first.
absl::Status AwaitRelease(SessionState& session, uint64_t handle) {
  if (session.handles.IsFirstOfIndex(handle)) return absl::OkStatus();
  return session.queue
      .Call([](v1::Command& command) { command.mutable_fence(); })
      .status();
}

}  // namespace

absl::StatusOr<std::shared_ptr<Arena>> Arena::Create(
    std::shared_ptr<SessionState> session, uint64_t size,
    const ArenaOptions& options) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  HOLDFAST_ASSIGN_OR_RETURN(size, WholePages(size));
  if (session->descriptor_path.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "an arena of ", size,
        " bytes: the session's executor is not reached "
        "by a Unix socket of this machine and shares no memory with it; use "
        "ordinary memory"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd fd, MemoryOf(size, options.memory));
  HOLDFAST_ASSIGN_OR_RETURN(FileMapping mapping, MapMemory(fd.get(), size));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t handle,
                            session->handles.Allocate(HandleKind::kArena));
  const std::shared_ptr<Arena> arena = KeepIfForked(
      new Arena(std::move(session), handle, std::move(fd), std::move(mapping)));
  ArenaIndex::Get().Add(reinterpret_cast<uint64_t>(arena->data()),
                        arena->size(), arena);
  if (options.in_background) {
    auto thread =
        StartThread("an arena", [self = arena.get()] { self->Register(); });
    if (thread.ok()) {
      arena->background_ = *std::move(thread);
      return arena;
    }
  }
  arena->Register();
  HOLDFAST_RETURN_IF_ERROR(arena->Ready());
  return arena;
}

Arena::Arena(std::shared_ptr<SessionState> session, uint64_t handle,
             UniqueFd memory, FileMapping mapping)
    : session_(std::move(session)),
      handle_(handle),
      memory_(std::move(memory)),
      mapping_(std::move(mapping)),
      free_(mapping_.size()) {}

void Arena::Register() {
  registered_ = CallRegister();
  // The executor has made the pages: what is left is to map them.
  if (registered_.ok()) Populate(mapping_.data(), size());
  ready_.Notify();
}

absl::Status Arena::Ready() const {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  ready_.WaitForNotification();
  return registered_;
}

// A suspension ends the call, which is made again after it.
absl::Status Arena::CallRegister() {
  while (true) {
    const uint64_t suspensions = session_->queue.suspensions();
    const absl::Status status = TryRegister();
    if (status.ok() || session_->queue.suspensions() == suspensions) {
      return status;
    }
  }
}

absl::Status Arena::TryRegister() {
  const uint64_t faults = session_->queue.faults();
  HOLDFAST_RETURN_IF_ERROR(AwaitRelease(*session_, handle_));
  session_->queue.AwaitServing();
  v1::RegisterArenaRequest request;
  auto token = SendFd(session_->descriptor_path,
                      absl::HexStringToBytes(session_->token), memory());
  if (!token.ok()) return session_->queue.Explain(token.status(), faults);
  request.set_descriptor_token(*std::move(token));
  request.set_arena(handle_);
  request.set_size(size());
  const auto place = reinterpret_cast<uintptr_t>(data());
  if (IsInArenaRange(place, size())) request.set_address(place);
  grpc::ClientContext context;
  context.AddMetadata(kSessionTokenKey.name, session_->token);
  v1::RegisterArenaResponse response;
  const auto channel = session_->transfer_channels.Take();
  if (!channel.ok()) return session_->queue.Explain(channel.status(), faults);
  v1::TransferService::Stub transfers(*channel);
  HOLDFAST_RETURN_IF_ERROR(session_->queue.Explain(
      ToStatus(transfers.RegisterArena(&context, request, &response)), faults));
  address_ = response.address();
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Arena::address() const {
  HOLDFAST_RETURN_IF_ERROR(Ready());
  if (address_ != 0) return address_;
  return absl::FailedPreconditionError(absl::StrCat(
      "an arena of ", size(),
      " bytes has no address that lasts: the session's "
      "executor cannot have the addresses for arenas; give the span itself to "
      "the launch"));
}

Arena::~Arena() {
  ArenaIndex::Get().Remove(reinterpret_cast<uint64_t>(data()));
  if (background_.joinable()) background_.join();
  if (ready_.HasBeenNotified() && registered_.ok()) {
    session_->queue.SubmitDestruction(
        [this](WireWriter& writer) {
          writer.Message(v1::fields::Command::kFreeArena, [this, &writer] {
            writer.Write(v1::fields::FreeArena::kArena, handle_);
          });
        },
        /*creation=*/0);
  }
  session_->handles.Free(handle_);
}

absl::StatusOr<ArenaSpan> Arena::Allocate(uint64_t size) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  if (size == 0) {
    return absl::InvalidArgumentError("a span of an arena has to have a size");
  }
  const std::optional<uint64_t> offset = free_.Take(size);
  if (!offset.has_value()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no ", size, " bytes are free in one piece in an arena of ",
        this->size(), " bytes; the largest free piece has ", free_.largest()));
  }
  return ArenaSpan(shared_from_this(), *offset, size, /*is_taken=*/true);
}

absl::StatusOr<ArenaSpan> Arena::SpanAt(uint64_t offset, uint64_t size) {
  if (offset > this->size() || size > this->size() - offset) {
    return absl::OutOfRangeError(absl::StrCat(size, " bytes at ", offset,
                                              " of an arena of ", this->size(),
                                              " bytes"));
  }
  return ArenaSpan(shared_from_this(), offset, size, /*is_taken=*/false);
}

ArenaSpan& ArenaSpan::operator=(ArenaSpan&& other) noexcept {
  ArenaSpan old(std::move(other));
  std::swap(arena_, old.arena_);
  std::swap(offset_, old.offset_);
  std::swap(size_, old.size_);
  std::swap(is_taken_, old.is_taken_);
  return *this;
}

ArenaSpan::~ArenaSpan() {
  if (arena_ == nullptr || !is_taken_ || IsForked()) return;
  arena_->free_.GiveBack(offset_, size_);
}

absl::StatusOr<uint64_t> ArenaSpan::address() const {
  if (arena_ == nullptr) {
    return absl::InvalidArgumentError("an empty span has no address");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t first, arena_->address());
  return first + offset_;
}

void* ArenaSpan::data() const {
  if (arena_ == nullptr) return nullptr;
  return static_cast<char*>(arena_->mapping_.data()) + offset_;
}

}  // namespace holdfast
