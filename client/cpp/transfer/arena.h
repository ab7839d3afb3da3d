// SPDX-License-Identifier: Apache-2.0
//
// Memory of this process that the session's executor has also mapped and
// page-locked. A copy between an arena and a buffer is one command: no byte
// passes through a socket or through the daemon.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto arena, session->CreateArena(64 << 20));
//   HOLDFAST_ASSIGN_OR_RETURN(ArenaSpan x, arena->Allocate(n * sizeof(float)));
//   Produce(x.As<float>());
//   HOLDFAST_RETURN_IF_ERROR(buffer.CopyFrom(x, stream));
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_ARENA_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_ARENA_H_

#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "client/cpp/transfer/free_list.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"

namespace holdfast {

struct SessionState;
class ArenaSpan;

// The options of Arena::Create and Session::CreateArena.
struct ArenaOptions {
  // Create returns at once, and the arena can be written while the executor
  // page-locks it. The first copy, and Ready, wait for the executor and report
  // its failure.
  bool in_background = false;
  // A memfd of fixed size (core/base/memfd.h), which other processes may share.
  // Its size is exactly the arena's, in whole pages. Borrowed. Default: the
  // arena makes its own memory.
  int memory = -1;
};

// An arena has one address, in this process and in the session's kernels
// (core/base/arena_range.h), so pointers to its bytes can be stored wherever
// kernels read pointers. ArenaSpan::address documents the exceptions.
//
// Belongs to one session, whose executor must be on this machine and reached by
// a Unix socket. Creation takes some 40 ms a GiB: make one arena and allocate
// spans from it. It lives until it and its spans are destroyed, and in the
// executor until submitted copies are done. Thread-safe, except for the bytes
// themselves.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  // Makes an arena of `size` bytes, not 0, rounded up to whole pages. The
  // memory that the arena makes starts as zeros. Waits unless
  // options.in_background. FAILED_PRECONDITION: no memory can be shared with
  // the executor. RESOURCE_EXHAUSTED: the arena would exceed the session's
  // limit for the number or the bytes of arenas. INVALID_ARGUMENT: `size` is
  // wrong, or options.memory is not as ArenaOptions requires.
  static absl::StatusOr<std::shared_ptr<Arena>> Create(
      std::shared_ptr<SessionState> session, uint64_t size,
      const ArenaOptions& options = {});
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Returns a span of `size` unused bytes, aligned to 256 bytes. The bytes are
  // not cleared. RESOURCE_EXHAUSTED: no free range is large enough; the message
  // has the size of the largest. INVALID_ARGUMENT: `size` is 0.
  absl::StatusOr<ArenaSpan> Allocate(uint64_t size);
  // Returns a span of bytes that another process has allocated in the same
  // memory. The bytes do not count as allocated here, so one arena should use
  // either Allocate or SpanAt. OUT_OF_RANGE: the bytes are not in the arena.
  absl::StatusOr<ArenaSpan> SpanAt(uint64_t offset, uint64_t size);

  // Blocks until copies can use the arena. Returns the executor's error if it
  // could not map the memory. Create returns the same error if it waits.
  absl::Status Ready() const;
  // Returns true if Ready would not wait.
  bool IsDecided() const { return ready_.HasBeenNotified(); }

  // Bytes, in whole pages.
  uint64_t size() const { return mapping_.size(); }
  // Returns the address of the first byte in kernels, and fails, as
  // ArenaSpan::address does.
  absl::StatusOr<uint64_t> address() const;
  // The first byte in this process. Valid as long as the arena.
  void* data() const { return mapping_.data(); }
  // The handle by which commands name the arena.
  uint64_t handle() const { return handle_; }
  // Kept alive by the arena.
  const std::shared_ptr<SessionState>& session() const { return session_; }
  // The memfd that contains the bytes. Valid as long as the arena.
  int memory() const { return memory_.get(); }

 private:
  friend class ArenaSpan;
  Arena(std::shared_ptr<SessionState> session, uint64_t handle, UniqueFd memory,
        FileMapping mapping);

  // Sets ready_. Called once, by Create or by the background thread.
  void Register();
  // Calls the executor; repeats the call if a suspension has ended it.
  absl::Status CallRegister();
  absl::Status TryRegister();

  const std::shared_ptr<SessionState> session_;
  const uint64_t handle_;
  const UniqueFd memory_;
  const FileMapping mapping_;
  FreeList free_;
  // Set before ready_ is notified; the address is 0 if it is not stable.
  absl::Status registered_;
  uint64_t address_ = 0;
  absl::Notification ready_;
  std::thread background_;
};

// Bytes of an arena, which the destructor frees for reuse, even if a copy still
// uses them: synchronize first. Move-only; a moved-from span is empty.
//
// Keeps its arena alive. Thread-safe, except for moves and the bytes.
class ArenaSpan {
 public:
  ArenaSpan(ArenaSpan&& other) noexcept
      : arena_(std::move(other.arena_)),
        offset_(other.offset_),
        size_(std::exchange(other.size_, 0)),
        is_taken_(other.is_taken_) {}
  // Frees the bytes that this span had before.
  ArenaSpan& operator=(ArenaSpan&& other) noexcept;
  ~ArenaSpan();

  // Null if the span is empty. Valid as long as the span.
  void* data() const;
  uint64_t size() const { return size_; }

  // Returns the address of the first byte in kernels of the session. It equals
  // data() unless the address is taken in this process or in the executor, and
  // stays the same over faults, upgrades and suspensions. Only pointers that
  // kernels read from memory need it: a launch translates 64-bit arguments that
  // are addresses of data(). Waits as Arena::Ready does. FAILED_PRECONDITION:
  // the arena has no stable address.
  absl::StatusOr<uint64_t> address() const;

  // Returns the span as elements of T, as many as fit, aligned to 256 bytes.
  template <typename T>
  std::span<T> As() const {
    return {static_cast<T*>(data()), size_ / sizeof(T)};
  }

  // The arena that the span belongs to. REQUIRES: the span is not empty.
  const Arena& arena() const { return *arena_; }
  // Bytes from the arena's start.
  uint64_t offset() const { return offset_; }

 private:
  friend class Arena;
  ArenaSpan(std::shared_ptr<Arena> arena, uint64_t offset, uint64_t size,
            bool is_taken)
      : arena_(std::move(arena)),
        offset_(offset),
        size_(size),
        is_taken_(is_taken) {}

  std::shared_ptr<Arena> arena_;
  uint64_t offset_ = 0;
  uint64_t size_ = 0;
  // The destructor frees the bytes in the arena.
  bool is_taken_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_ARENA_H_
