// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_ARENA_H_
#define HOLDFAST_SERVER_EXECUTOR_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "core/cuda/context.h"
#include "core/cuda/host_memory.h"

namespace holdfast::executor {

// What a session's arenas may take together: page-locked memory is memory that
// the machine cannot use otherwise. Thread-safe; outlives the arenas.
class ArenaBudget {
 public:
  static constexpr size_t kMaxArenas = 64;

  // Half of the machine's memory.
  ArenaBudget();
  explicit ArenaBudget(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // RESOURCE_EXHAUSTED names the limits.
  absl::Status Reserve(uint64_t bytes);
  void Return(uint64_t bytes);

  uint64_t bytes() const { return bytes_; }

 private:
  const uint64_t max_bytes_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<size_t> arenas_{0};
};

// Memory that a client shares with us: a memfd of the client's, mapped and
// page-locked. The client can write to it at any time, so its bytes are copied
// by devices and never interpreted; it cannot take the pages away, since only
// memfds that cannot shrink are accepted, and only ordinary pages, which come
// back as zeros if the client punches holes.
class Arena {
 public:
  // As TransferService.RegisterArena says. Takes about 40 ms a GiB.
  static absl::StatusOr<std::unique_ptr<Arena>> Create(
      std::shared_ptr<const cuda::Context> context, UniqueFd memfd,
      uint64_t size, std::shared_ptr<ArenaBudget> budget);

  // No device may be using it any more.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  CUdeviceptr device_address() const { return memory_->device_address(); }
  uint64_t size() const { return size_; }

 private:
  Arena(uint64_t size, std::shared_ptr<ArenaBudget> budget)
      : size_(size), budget_(std::move(budget)) {}

  const uint64_t size_;
  const std::shared_ptr<ArenaBudget> budget_;
  FileMapping mapping_;
  std::unique_ptr<cuda::HostMemory> memory_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_ARENA_H_
