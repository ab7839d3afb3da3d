// SPDX-License-Identifier: Apache-2.0
#include "server/relay/shared_blocks.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/sanitizer.h"
#include "core/base/status_macros.h"

#ifdef HOLDFAST_TSAN
extern "C" void __tsan_release(void* address);
#endif

namespace holdfast {
namespace {

// The daemon's first.
constexpr size_t kAll =
    SharedBlocks::kDaemonBlocks + SharedBlocks::kExecutorBlocks;
constexpr size_t kHolderBytes = 8192;  // whole pages
constexpr size_t kBytes = kHolderBytes + kAll * SharedBlocks::kBlockBytes;

// For so long at most does an end sleep before it looks again: the other end
// writes the same words, and an executor that is not ours any more may write
// what it likes without waking anybody.
constexpr timespec kLookAgain = {.tv_sec = 0, .tv_nsec = 500'000'000};

// Not the private kind: the other thread is in another process.
void FutexWait(std::atomic<uint32_t>* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT, value, &kLookAgain, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

absl::StatusOr<UniqueFd> SharedBlocks::CreateMemory() {
  return CreateFixedMemfd("holdfast-blocks", kBytes);
}

absl::StatusOr<std::unique_ptr<SharedBlocks>> SharedBlocks::Map(int memfd,
                                                                End end) {
  HOLDFAST_ASSIGN_OR_RETURN(
      FileMapping mapping,
      FileMapping::Map(memfd, FileMapping::Access::kReadWrite, kBytes));
  return std::unique_ptr<SharedBlocks>(
      new SharedBlocks(std::move(mapping), end));
}

SharedBlocks::SharedBlocks(FileMapping mapping, End end)
    : mapping_(std::move(mapping)),
      holders_(static_cast<Holder*>(mapping_.data())),
      bytes_(static_cast<char*>(mapping_.data()) + kHolderBytes),
      first_(end == End::kDaemon ? 0 : kDaemonBlocks),
      count_(end == End::kDaemon ? kDaemonBlocks : kExecutorBlocks),
      last_ticket_(static_cast<uint32_t>(absl::GetCurrentTimeNanos())) {
  static_assert(kAll * sizeof(Holder) <= kHolderBytes);
}

uint32_t SharedBlocks::NewTicket() {
  const uint32_t ticket = ++last_ticket_;
  return ticket == 0 ? ++last_ticket_ : ticket;
}

// The lowest is taken first: as few pages are used as the traffic needs.
std::optional<SharedBlocks::Block> SharedBlocks::Take(size_t size) {
  if (size > kBlockBytes) return std::nullopt;
  const uint32_t ticket = NewTicket();
  for (uint32_t i = first_; i < first_ + count_; ++i) {
    uint32_t free = 0;
    if (holders_[i].ticket.compare_exchange_strong(free, ticket)) {
      return Block{i, ticket, static_cast<uint32_t>(size)};
    }
  }
  return std::nullopt;
}

SharedBlocks::Block SharedBlocks::TakeOwn(uint32_t number, size_t size) {
  const Block block{first_ + number, NewTicket(), static_cast<uint32_t>(size)};
  holders_[block.index].ticket = block.ticket;
  return block;
}

bool SharedBlocks::IsTaken(const Block& block) const {
  return block.index < kAll && block.size <= kBlockBytes && block.ticket != 0 &&
         holders_[block.index].ticket == block.ticket;
}

void SharedBlocks::NoteWritten([[maybe_unused]] const Block& block) {
#ifdef HOLDFAST_TSAN
  __tsan_release(&holders_[block.index].ticket);  // Take acquires it
#endif
}

void SharedBlocks::GiveBack(const Block& block) {
  if (!IsTaken(block)) return;
  std::atomic<uint32_t>& holder = holders_[block.index].ticket;
  uint32_t ticket = block.ticket;
  if (holder.compare_exchange_strong(ticket, 0)) FutexWake(&holder);
}

void SharedBlocks::AwaitReturn(const Block& block,
                               const std::stop_token& cancelled) const {
  while (IsTaken(block) && !cancelled.stop_requested()) {
    FutexWait(&holders_[block.index].ticket, block.ticket);
  }
}

}  // namespace holdfast
