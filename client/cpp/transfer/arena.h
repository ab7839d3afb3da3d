// SPDX-License-Identifier: Apache-2.0
//
// Memory of this process that the session's executor has mapped and page-locked
// too. A copy between it and a buffer is one command: no byte passes through a
// socket, or through the daemon's processors.
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

namespace holdfast {

struct SessionState;
class ArenaSpan;

// For Arena::Create and Session::CreateArena.
struct ArenaOptions {
  // Return at once: data can be made in the arena while the executor page-locks
  // it. The first copy waits for that, and tells if it failed; so does Ready.
  bool in_background = false;
  // The descriptor of a memfd that keeps its size (core/base/memfd.h), which
  // other processes may have too: the arena is its first `size` bytes. Not
  // closed. Default: memory of the arena's own.
  int memory = -1;
};

// It has one address, here and for the session's kernels (core/base/
// arena_range.h): a pointer to its bytes may be put wherever kernels look for
// pointers. See ArenaSpan::address for where that is not so.
//
// Belongs to one session; needs one whose executor is on this machine, reached
// by a Unix socket. Making one takes milliseconds, some forty a GiB, so make it
// once and take spans of it. It lives until it and its spans are gone; in the
// executor, until the copies that were submitted are done, too. Thread-safe;
// the bytes themselves are not synchronised with anything.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  // `size` in bytes, not 0; rounded up to whole pages. Zeros at first.
  // FAILED_PRECONDITION: no memory can be shared with the executor.
  // RESOURCE_EXHAUSTED: over the session's number or bytes of arenas.
  static absl::StatusOr<std::shared_ptr<Arena>> Create(
      std::shared_ptr<SessionState> session, uint64_t size,
      const ArenaOptions& options = {});
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Bytes that nobody else uses, aligned to 256; with what was there before.
  // RESOURCE_EXHAUSTED: no free place is large enough. INVALID_ARGUMENT: 0. The
  // message tells the largest free piece.
  absl::StatusOr<ArenaSpan> Allocate(uint64_t size);
  // Bytes that another process has allocated in the same memory. They do not
  // count as taken here: an arena either allocates or looks at another's spans.
  // OUT_OF_RANGE: they are not in the arena.
  absl::StatusOr<ArenaSpan> SpanAt(uint64_t offset, uint64_t size);

  // Waits until copies can use the arena; what Create returns where it waits.
  // Any thread. The error of the executor, if it could not map the memory.
  absl::Status Ready() const;
  // Would Ready not wait? Any thread.
  bool IsDecided() const { return ready_.HasBeenNotified(); }

  // Bytes, in whole pages.
  uint64_t size() const { return mapping_.size(); }
  // The address of the first byte as kernels have it, as ArenaSpan::address.
  absl::StatusOr<uint64_t> address() const;
  // The first byte here. Valid as long as the arena.
  void* data() const { return mapping_.data(); }
  // The name of the arena in commands.
  uint64_t handle() const { return handle_; }
  // Kept alive by the arena.
  const std::shared_ptr<SessionState>& session() const { return session_; }

 private:
  friend class ArenaSpan;
  Arena(std::shared_ptr<SessionState> session, uint64_t handle,
        FileMapping mapping);

  // Sets ready_. Called once, by Create or by the background thread.
  void Register(int fd);
  // Tries again if a suspension of the session has ended the call.
  absl::Status CallRegister(int fd);
  absl::Status TryRegister(int fd);

  const std::shared_ptr<SessionState> session_;
  const uint64_t handle_;
  const FileMapping mapping_;
  FreeList free_;
  // Before ready_ is notified; the address is 0 if it does not last.
  absl::Status registered_;
  uint64_t address_ = 0;
  absl::Notification ready_;
  std::thread background_;
};

// Bytes of an arena, given back when it ends. They may then be given out again
// even if a copy still uses them: synchronize first. Move-only; a moved-from
// span is empty.
//
// Keeps its arena. Thread-safe but for moving; the bytes are the owner's
// matter.
class ArenaSpan {
 public:
  ArenaSpan(ArenaSpan&& other) noexcept
      : arena_(std::move(other.arena_)),
        offset_(other.offset_),
        size_(std::exchange(other.size_, 0)),
        is_taken_(other.is_taken_) {}
  // Gives back what it had before.
  ArenaSpan& operator=(ArenaSpan&& other) noexcept;
  ~ArenaSpan();

  // Null if it is empty. Valid as long as the span.
  void* data() const;
  uint64_t size() const { return size_; }

  // The address of the first byte as kernels of the session have it. It is that
  // of data(), unless this process, or the executor, has something else there;
  // it stays over faults, upgrades and suspensions. A launch takes addresses of
  // data() in any case, as 64-bit arguments, and passes the kernel's: only
  // pointers that kernels find in memory need this. Waits as Arena::Ready does.
  // FAILED_PRECONDITION: the arena has no address that lasts.
  absl::StatusOr<uint64_t> address() const;

  // As many T as there is room for. The address is a multiple of 256, which
  // suits any T.
  template <typename T>
  std::span<T> As() const {
    return {static_cast<T*>(data()), size_ / sizeof(T)};
  }

  // REQUIRES: it is not empty.
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
  // Whether the bytes are given back to the arena.
  bool is_taken_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_ARENA_H_
