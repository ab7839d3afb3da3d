// SPDX-License-Identifier: Apache-2.0
#include "server/account/account.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace holdfast {
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

// A limit, and where it comes from, for error messages.
struct SourcedLimit {
  uint64_t limit = Quota::kUnlimited;
  std::string set_by;
};

SourcedLimit PinnedLimit(const internal::AccountLimits& limits) {
  const std::string& set_by = limits.pinned_bytes_set_by();
  return {Limit(limits.pinned_bytes()),
          set_by.empty() ? "--pinned-memory" : set_by};
}

SourcedLimit ArenaLimit(const internal::AccountLimits& limits) {
  const std::string& set_by = limits.arena_bytes_set_by();
  return {Limit(limits.arena_bytes()),
          set_by.empty() ? "--arena-memory" : set_by};
}

SourcedLimit CommandLimit(const internal::AccountLimits& limits) {
  const std::string& set_by = limits.outstanding_commands_set_by();
  return {Limit(limits.outstanding_commands()),
          set_by.empty() ? "--outstanding-commands" : set_by};
}

SourcedLimit HandleLimit(HandleKind kind,
                         const internal::AccountLimits& limits) {
  const uint64_t limit = Limit(limits.handles());
  if (kind == HandleKind::kArena && limit >= Account::kMaxArenas) {
    return {Account::kMaxArenas, ""};
  }
  const std::string& set_by = limits.handles_set_by();
  return {limit, set_by.empty() ? "--max-handles" : set_by};
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
                             .limit = PinnedLimit(options_.limits).limit,
                             .set_by = PinnedLimit(options_.limits).set_by})),
      arena_memory_(OfHost(internal::HOST_MEMORY_ARENA,
                           {.name = "arenas of the session",
                            .unit = kBytes,
                            .limit = ArenaLimit(options_.limits).limit,
                            .set_by = ArenaLimit(options_.limits).set_by})),
      staging_memory_(OfHost(internal::HOST_MEMORY_STAGING,
                             {.name = "staging memory of the session",
                              .unit = kBytes,
                              .limit = kMaxStagingBytes})),
      chunks_(Quota::Create({.name = "chunks of device memory of the session",
                             .unit = "chunks",
                             .limit = kMaxChunks})),
      graph_nodes_(Quota::Create({.name = "graph nodes of the session",
                                  .unit = "nodes",
                                  .limit = kMaxGraphNodes})),
      commands_(OfCommands()) {
  for (const HandleKind kind : kKinds) handles_[kind] = OfHandles(kind);
}

Account::QuotaPtr Account::OfHandles(HandleKind kind) const {
  const SourcedLimit limit = HandleLimit(kind, options_.limits);
  const std::string what = absl::StrCat(HandleKindName(kind), " handles");
  Quota::Options quota = {.name = absl::StrCat(what, " of the session"),
                          .unit = "handles",
                          .limit = limit.limit,
                          .set_by = limit.set_by};
  if (options_.tenant != nullptr) {
    const auto number = static_cast<size_t>(kind);
    quota.reserve = [share = options_.tenant, number, what](uint64_t count) {
      return share->Take(number, count, what);
    };
    quota.release = [share = options_.tenant, number](uint64_t count) {
      share->Return(number, count);
    };
  }
  return Quota::Create(std::move(quota));
}

Account::QuotaPtr Account::OfCommands() const {
  const SourcedLimit limit = CommandLimit(options_.limits);
  Quota::Options quota = {.name = "outstanding commands of the session",
                          .unit = "commands",
                          .limit = limit.limit,
                          .set_by = limit.set_by};
  if (options_.tenant != nullptr) {
    quota.reserve = [share = options_.tenant](uint64_t count) {
      return share->Await(TenantPage::kCommands, count, "outstanding commands");
    };
    quota.release = [share = options_.tenant](uint64_t count) {
      share->Return(TenantPage::kCommands, count);
    };
  }
  return Quota::Create(std::move(quota));
}

void Account::SetLimits(const internal::AccountLimits& limits) {
  const auto set = [](Quota& quota, const SourcedLimit& limit) {
    quota.SetLimit(limit.limit, limit.set_by);
  };
  set(*device_memory_,
      {Limit(limits.device_bytes()), limits.device_bytes_set_by()});
  set(*pinned_memory_, PinnedLimit(limits));
  set(*arena_memory_, ArenaLimit(limits));
  set(*commands_, CommandLimit(limits));
  for (const auto& [kind, quota] : handles_) {
    set(*quota, HandleLimit(kind, limits));
  }
}

void Account::Close() {
  commands_->Close();
  if (options_.tenant != nullptr) options_.tenant->Close();
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

}  // namespace holdfast
