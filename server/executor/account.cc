// SPDX-License-Identifier: Apache-2.0
#include "server/executor/account.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace holdfast::executor {
namespace {

constexpr char kBytes[] = "bytes";

constexpr HandleKind kKinds[] = {
    HandleKind::kStream, HandleKind::kEvent,     HandleKind::kBuffer,
    HandleKind::kModule, HandleKind::kKernel,    HandleKind::kArena,
    HandleKind::kGraph,  HandleKind::kGraphExec, HandleKind::kSemaphore};

// 0 stands for none.
uint64_t Limit(uint64_t limit) {
  return limit == 0 ? Quota::kUnlimited : limit;
}

Quota::Options HandleQuota(HandleKind kind, uint64_t limit) {
  const bool arenas = kind == HandleKind::kArena;
  return {.name = absl::StrCat(HandleKindName(kind), " handles of the session"),
          .unit = "handles",
          .limit = arenas ? std::min(limit, Account::kMaxArenas) : limit,
          .set_by = arenas ? "" : "--max-handles"};
}

}  // namespace

Account::Account(Options options)
    : options_(std::move(options)),
      device_memory_(
          OfBuffers({.name = "device memory of the session",
                     .unit = kBytes,
                     .limit = Limit(options_.limits.device_bytes()),
                     .set_by = options_.limits.device_bytes_set_by()})),
      pinned_memory_(OfHost(internal::HOST_MEMORY_PINNED,
                            {.name = "pinned memory of the session",
                             .unit = kBytes,
                             .limit = Limit(options_.limits.pinned_bytes()),
                             .set_by = "--pinned-memory"})),
      arena_memory_(OfHost(internal::HOST_MEMORY_ARENA,
                           {.name = "arenas of the session",
                            .unit = kBytes,
                            .limit = Limit(options_.limits.arena_bytes()),
                            .set_by = "--arena-memory"})),
      staging_memory_(OfHost(internal::HOST_MEMORY_STAGING,
                             {.name = "staging memory of the session",
                              .unit = kBytes,
                              .limit = kMaxStagingBytes})),
      graph_nodes_(Quota::Create({.name = "graph nodes of the session",
                                  .unit = "nodes",
                                  .limit = kMaxGraphNodes})),
      commands_(
          Quota::Create({.name = "outstanding commands of the session",
                         .unit = "commands",
                         .limit = Limit(options_.limits.outstanding_commands()),
                         .set_by = "--outstanding-commands"})) {
  const uint64_t handles = Limit(options_.limits.handles());
  for (const HandleKind kind : kKinds) {
    handles_[kind] = Quota::Create(HandleQuota(kind, handles));
  }
}

Account::QuotaPtr Account::OfPlace(const internal::MemoryPlace& place,
                                   Quota::Options quota) const {
  if (options_.reserve != nullptr) {
    quota.reserve = [place, reserve = options_.reserve](uint64_t bytes) {
      return reserve(place, bytes);
    };
    quota.release = [place, release = options_.release](uint64_t bytes) {
      release(place, bytes);
    };
  }
  return Quota::Create(std::move(quota));
}

Account::QuotaPtr Account::OfBuffers(Quota::Options quota) const {
  if (!options_.limits.reserve_buffers()) {
    return Quota::Create(std::move(quota));
  }
  internal::MemoryPlace buffers;
  buffers.set_buffers(true);
  return OfPlace(buffers, std::move(quota));
}

Account::QuotaPtr Account::OfHost(internal::HostMemory memory,
                                  Quota::Options quota) const {
  internal::MemoryPlace host;
  host.set_host(memory);
  return OfPlace(host, std::move(quota));
}

Account::QuotaPtr Account::reserved_memory(uint32_t device) {
  absl::MutexLock lock(&mutex_);
  QuotaPtr& quota = reserved_[device];
  if (quota == nullptr) {
    internal::MemoryPlace place;
    place.set_device(device);
    quota = OfPlace(place,
                    {.name = absl::StrCat("memory reserved of device ", device),
                     .unit = kBytes});
  }
  return quota;
}

void Account::Report(v1::SessionUsage* usage) const {
  device_memory_->Report(usage->mutable_device_bytes());
  pinned_memory_->Report(usage->mutable_pinned_bytes());
  arena_memory_->Report(usage->mutable_arena_bytes());
  staging_memory_->Report(usage->mutable_staging_bytes());
  commands_->Report(usage->mutable_outstanding_commands());
  for (const auto& [kind, quota] : handles_) {
    if (quota->used() == 0) continue;
    v1::HandleUsage& handles = *usage->add_handles();
    handles.set_kind(static_cast<v1::HandleKind>(kind));
    quota->Report(handles.mutable_handles());
  }
  uint64_t reserved = 0;
  absl::MutexLock lock(&mutex_);
  for (const auto& [device, quota] : reserved_) reserved += quota->used();
  usage->mutable_reserved_bytes()->set_used(reserved);
}

}  // namespace holdfast::executor
