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

// The resources of a session and their limits, as one quota for each kind. No
// other part of an executor knows a limit. Quotas count over all of the
// session's devices. Thread-safe. The account may end before the charges on its
// quotas.
class Account {
 public:
  // The most arenas of a session.
  static constexpr uint64_t kMaxArenas = 64;
  // The most chunks of device memory of a session, over all devices. The
  // supervisor holds no more: server/holdings/session_memory.h.
  static constexpr uint64_t kMaxChunks = 4096;
  // The most nodes of all graphs of a session.
  static constexpr uint64_t kMaxGraphNodes = uint64_t{1} << 20;
  // The most bytes of the executor's own page-locked blocks, including one for
  // the suspension or resumption of the session.
  static constexpr uint64_t kMaxStagingBytes = uint64_t{84} << 20;
  static constexpr uint64_t kImageBlockBytes = uint64_t{4} << 20;

  struct Options {
    internal::AccountLimits limits;
    // Ask the supervisor for memory that all sessions share, and give it back;
    // see internal.Reserve. Null: the executor does not ask.
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
  // Device memory in chunks. Has no limit here: the supervisor sets one.
  QuotaPtr reserved_memory(uint32_t device);
  // The number of chunks of device memory.
  const QuotaPtr& chunks() const { return chunks_; }
  // Page-locked buffers, arenas, and the executor's own blocks.
  const QuotaPtr& pinned_memory() const { return pinned_memory_; }
  const QuotaPtr& arena_memory() const { return arena_memory_; }
  const QuotaPtr& staging_memory() const { return staging_memory_; }
  // The live handles of one kind. Arenas are a kind of handle, too.
  const QuotaPtr& handles(HandleKind kind) const { return handles_.at(kind); }
  // Nodes of graphs and of instantiated graphs, because they take the
  // executor's own memory.
  const QuotaPtr& graph_nodes() const { return graph_nodes_; }
  // Commands accepted and not yet carried out.
  const QuotaPtr& outstanding_commands() const { return commands_; }

  // Changes the limits. Existing charges stay.
  void SetLimits(const internal::AccountLimits& limits);

  // Ends the waits for room for commands.
  void Close();

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
