// SPDX-License-Identifier: Apache-2.0
#include "server/sharing/export_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "core/base/token.h"

namespace holdfast {
namespace {

constexpr size_t kMaxSessionIdBytes = 64;
constexpr size_t kMaxTenantBytes = 256;

absl::StatusOr<absl::Duration> LifetimeOf(const v1::ExportResource& terms) {
  if (!terms.has_lifetime()) return ExportRegistry::kDefaultLifetime;
  const absl::Duration lifetime = absl::Seconds(terms.lifetime().seconds()) +
                                  absl::Nanoseconds(terms.lifetime().nanos());
  if (lifetime <= absl::ZeroDuration() ||
      lifetime > ExportRegistry::kMaxLifetime) {
    return absl::InvalidArgumentError(
        absl::StrCat("lifetime is ", absl::FormatDuration(lifetime),
                     ", allowed is more than 0 and up to 24 hours"));
  }
  return lifetime;
}

absl::StatusOr<uint32_t> ImportsOf(const v1::ExportResource& terms) {
  if (terms.max_imports() <= ExportRegistry::kMaxImports) {
    return std::max(terms.max_imports(), uint32_t{1});
  }
  return absl::InvalidArgumentError(
      absl::StrCat("max_imports is ", terms.max_imports(), ", the limit is ",
                   ExportRegistry::kMaxImports));
}

absl::Status CheckLength(const char* field, const std::string& value,
                         size_t limit) {
  if (value.size() <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, " has ", value.size(), " bytes, the limit is ", limit));
}

// Whom the export is for. A process outside Holdfast is neither a session nor
// of a tenant.
absl::Status CheckBinding(const v1::ExportResource& terms) {
  HOLDFAST_RETURN_IF_ERROR(
      CheckLength("session_id", terms.session_id(), kMaxSessionIdBytes));
  HOLDFAST_RETURN_IF_ERROR(
      CheckLength("tenant", terms.tenant(), kMaxTenantBytes));
  if (terms.foreign() == v1::FOREIGN_HANDLE_UNSPECIFIED ||
      (terms.session_id().empty() && terms.tenant().empty())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "an export for processes outside Holdfast cannot be bound to a session "
      "or a tenant, which they have not");
}

absl::Status TooMany(size_t count, absl::string_view of) {
  return absl::ResourceExhaustedError(
      absl::StrCat(count, " exports of ", of,
                   " can be redeemed, which is the limit; revoke some"));
}

absl::string_view NameOf(v1::HandleKind kind) {
  return kind == v1::HANDLE_KIND_BUFFER  ? "a buffer"
         : kind == v1::HANDLE_KIND_EVENT ? "an event"
                                         : "a semaphore";
}

}  // namespace

ExportRegistry::ExportRegistry() : thread_([this] { RemoveExpired(); }) {}

ExportRegistry::~ExportRegistry() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

absl::StatusOr<std::string> ExportRegistry::Export(
    const std::string& session, SharedResource resource,
    const v1::ExportResource& terms) {
  HOLDFAST_ASSIGN_OR_RETURN(const absl::Duration lifetime, LifetimeOf(terms));
  HOLDFAST_ASSIGN_OR_RETURN(const uint32_t imports, ImportsOf(terms));
  HOLDFAST_RETURN_IF_ERROR(CheckBinding(terms));
  HOLDFAST_ASSIGN_OR_RETURN(std::string token, RandomToken(kTokenBytes));
  absl::MutexLock lock(&mutex_);
  if (entries_.size() >= kMaxOfAll) return TooMany(kMaxOfAll, "all sessions");
  size_t& count = of_session_[session];
  if (count >= kMaxOfSession) return TooMany(count, "this session");
  ++count;
  const bool foreign = terms.foreign() == v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR;
  const absl::Time end = SteadyNow() + lifetime;
  entries_[ToBytes(Sha256(token))] = {session,
                                      std::move(resource),
                                      terms.session_id(),
                                      terms.tenant(),
                                      foreign,
                                      imports,
                                      end};
  next_end_ = std::min(next_end_, end);
  return token;
}

absl::StatusOr<ExportRegistry::Entries::iterator> ExportRegistry::Find(
    absl::string_view token) {
  const auto found = entries_.find(ToBytes(Sha256(token)));
  if (found != entries_.end() && SteadyNow() < found->second.end) return found;
  return absl::NotFoundError(
      "no export has this token: it has expired, was revoked or redeemed as "
      "often as it may be, or its session has ended");
}

absl::StatusOr<SharedResource> ExportRegistry::Redeem(absl::string_view token,
                                                      const Importer& importer,
                                                      v1::HandleKind kind) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(const auto found, Find(token));
  const Entry& entry = found->second;
  if (!entry.bound_to.empty() && entry.bound_to != importer.session) {
    return absl::PermissionDeniedError(
        absl::StrCat("the export is for session ", entry.bound_to, " only"));
  }
  if (!entry.tenant.empty() && entry.tenant != importer.tenant) {
    return absl::PermissionDeniedError(
        absl::StrCat("the export is for sessions of tenant ",
                     ToPrintable(entry.tenant), " only"));
  }
  if (entry.resource.kind != kind) {
    return absl::InvalidArgumentError(
        absl::StrCat("the export is ", NameOf(entry.resource.kind),
                     ", the handle is of ", NameOf(kind)));
  }
  return Take(found);
}

absl::StatusOr<SharedResource> ExportRegistry::RedeemForeign(
    absl::string_view token) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(const auto found, Find(token));
  if (!found->second.foreign) {
    return absl::PermissionDeniedError(
        "the export is not for processes outside Holdfast: "
        "FOREIGN_HANDLE_POSIX_DESCRIPTOR");
  }
  return Take(found);
}

// The result holds the chunk, so nothing large is destroyed with the entry.
SharedResource ExportRegistry::Take(Entries::iterator entry) {
  SharedResource resource = entry->second.resource;
  if (--entry->second.imports_left == 0) static_cast<void>(Remove(entry));
  return resource;
}

ExportRegistry::Entries::node_type ExportRegistry::Remove(
    Entries::iterator entry) {
  const auto count = of_session_.find(entry->second.session);
  if (--count->second == 0) of_session_.erase(count);
  return entries_.extract(entry);
}

absl::Status ExportRegistry::Revoke(absl::string_view token,
                                    const std::string& session) {
  Entries::node_type removed;
  absl::MutexLock lock(&mutex_);
  const auto found = entries_.find(ToBytes(Sha256(token)));
  if (found == entries_.end()) return absl::OkStatus();
  if (found->second.session != session) {
    return absl::NotFoundError("no export of this session has this token");
  }
  removed = Remove(found);
  return absl::OkStatus();
}

void ExportRegistry::EndSession(const std::string& session) {
  Removed removed;
  absl::MutexLock lock(&mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto entry = it++;
    if (entry->second.session == session) removed.push_back(Remove(entry));
  }
}

size_t ExportRegistry::CountOf(const std::string& session) const {
  absl::MutexLock lock(&mutex_);
  const auto found = of_session_.find(session);
  return found == of_session_.end() ? 0 : found->second;
}

void ExportRegistry::Track(const std::shared_ptr<SharedChunk>& chunk) {
  absl::MutexLock lock(&mutex_);
  if (chunks_.size() >= prune_at_) {
    chunks_.erase(
        std::remove_if(chunks_.begin(), chunks_.end(),
                       [](const auto& held) { return held.expired(); }),
        chunks_.end());
    prune_at_ = std::max(kPruneFrom, 2 * chunks_.size());
  }
  chunks_.push_back(chunk->footprint());
}

void ExportRegistry::ReportOrphans(v1::MemoryTotals* totals) const {
  absl::MutexLock lock(&mutex_);
  for (const auto& held : chunks_) {
    const auto chunk = held.lock();
    if (chunk == nullptr || !chunk->orphaned()) continue;
    for (auto& device : *totals->mutable_devices()) {
      if (device.device() != chunk->device) continue;
      device.set_orphaned_bytes(device.orphaned_bytes() + chunk->size);
    }
  }
}

// Sleeps until the first token expires. A new token that expires earlier wakes
// the thread.
std::optional<ExportRegistry::Removed> ExportRegistry::AwaitExpired() {
  absl::MutexLock lock(&mutex_);
  const absl::Time until = next_end_;
  const auto changed = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || next_end_ < until;
  };
  const bool early =
      mutex_.AwaitWithTimeout(absl::Condition(&changed), until - SteadyNow());
  if (stopping_) return std::nullopt;
  Removed removed;
  if (early) return removed;
  next_end_ = absl::InfiniteFuture();
  const absl::Time now = SteadyNow();
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto entry = it++;
    if (entry->second.end <= now) {
      removed.push_back(Remove(entry));
    } else {
      next_end_ = std::min(next_end_, entry->second.end);
    }
  }
  return removed;
}

void ExportRegistry::RemoveExpired() {
  while (AwaitExpired().has_value()) {
  }
}

}  // namespace holdfast
