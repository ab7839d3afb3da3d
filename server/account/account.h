// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_ACCOUNT_ACCOUNT_H_
#define HOLDFAST_SERVER_ACCOUNT_ACCOUNT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "core/base/handle.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/account/quota.h"
#include "server/account/tenant_share.h"

namespace holdfast {

// The quotas of a session, one for each kind of resource. No other part of an
// executor stores a limit. A quota counts over all of the session's devices,
// unless its method takes a device. Thread-safe. The account may be destroyed
// before the charges on its quotas.
class Account {
 public:
  // The most arenas of a session.
  static constexpr uint64_t kMaxArenas = 64;
  // The most chunks of device memory of a session, over all devices. The
  // supervisor enforces the same limit (server/holdings/session_memory.h).
  static constexpr uint64_t kMaxChunks = 4096;
  // The most nodes of all graphs of a session.
  static constexpr uint64_t kMaxGraphNodes = uint64_t{1} << 20;
  // The most bytes of the executor's own page-locked blocks, including the
  // block of kImageBlockBytes.
  static constexpr uint64_t kMaxStagingBytes = uint64_t{84} << 20;
  // The bytes of the block through which memory is copied when a session or a
  // version of a collection is suspended or resumed.
  static constexpr uint64_t kImageBlockBytes = uint64_t{4} << 20;

  struct Options {
    internal::AccountLimits limits;
    // `reserve` requests memory from the supervisor, under the limits that all
    // sessions share (see internal.Reserve), and `release` gives the memory
    // back. Null: only the session's own limits hold.
    std::function<absl::Status(const internal::MemoryPlace&, uint64_t bytes)>
        reserve;
    std::function<void(const internal::MemoryPlace&, uint64_t bytes)> release;
    // Counts handles and outstanding commands with the tenant's other sessions;
    // null: only the session's own limits hold.
    std::shared_ptr<TenantShare> tenant;
  };

  explicit Account(Options options);
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  using QuotaPtr = std::shared_ptr<Quota>;

  // Device memory in buffers: the bytes that clients asked for.
  const QuotaPtr& device_memory() const { return device_memory_; }
  // Device memory in chunks of this device. The quota has no limit of its own:
  // Options::reserve refuses what exceeds the supervisor's limit.
  QuotaPtr reserved_memory(uint32_t device);
  // The number of chunks of device memory.
  const QuotaPtr& chunks() const { return chunks_; }
  // Page-locked buffers, arenas, and the executor's own blocks.
  const QuotaPtr& pinned_memory() const { return pinned_memory_; }
  const QuotaPtr& arena_memory() const { return arena_memory_; }
  const QuotaPtr& staging_memory() const { return staging_memory_; }
  // The live handles of one kind. Arenas are a kind of handle, too.
  const QuotaPtr& handles(HandleKind kind) const { return handles_.at(kind); }
  // Nodes of graphs and of instantiated graphs. They are limited because they
  // take the executor's own memory.
  const QuotaPtr& graph_nodes() const { return graph_nodes_; }
  // Commands that were accepted and are not carried out yet.
  const QuotaPtr& outstanding_commands() const { return commands_; }

  // Changes the limits. Existing charges stay.
  void SetLimits(const internal::AccountLimits& limits);

  // Makes present and later waits for room for commands fail with UNAVAILABLE.
  void Close();

  // Fills in the usage and the limits of the quotas in `usage`.
  void Report(v1::SessionUsage* usage) const;

 private:
  QuotaPtr OfBuffers(Quota::Options quota) const;
  QuotaPtr OfHost(internal::HostMemory memory, Quota::Options quota) const;
  QuotaPtr OfPlace(const internal::MemoryPlace& place,
                   Quota::Options quota) const;
  QuotaPtr OfHandles(HandleKind kind) const;
  QuotaPtr OfCommands() const;

  const Options options_;
  const QuotaPtr device_memory_;
  const QuotaPtr pinned_memory_;
  const QuotaPtr arena_memory_;
  const QuotaPtr staging_memory_;
  const QuotaPtr chunks_;
  const QuotaPtr graph_nodes_;
  const QuotaPtr commands_;
  std::map<HandleKind, QuotaPtr> handles_;  // constant
  mutable absl::Mutex mutex_;
  std::map<uint32_t, QuotaPtr> reserved_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_ACCOUNT_ACCOUNT_H_
