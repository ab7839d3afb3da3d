// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/tenant.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/quota_exceeded.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "server/account/chunk_limit.h"

namespace holdfast {
namespace {

constexpr char kQuota[] = "the tenant's quota";

uint64_t LimitOr(uint64_t limit) {
  return limit == 0 ? Quota::kUnlimited : limit;
}

std::shared_ptr<Quota> MakeQuota(const std::string& what,
                                 const std::string& tenant, uint64_t limit,
                                 const std::string& set_by = kQuota) {
  return Quota::Create({.name = absl::StrCat(what, " of tenant ", tenant),
                        .unit = "bytes",
                        .limit = LimitOr(limit),
                        .set_by = set_by});
}

// Collections take device memory, too: a quota that says nothing of them bounds
// them by what it says of buffers. They are counted by chunks, which are larger
// than the buffers.
v1::Quota Complete(v1::Quota quota) {
  if (quota.collection_bytes() == 0 && quota.device_bytes() != 0) {
    quota.set_collection_bytes(
        quota.device_bytes() +
        std::min(kChunkSlackOfDevice,
                 Quota::kUnlimited - quota.device_bytes()));
  }
  return quota;
}

// Returns what sets the limit of collection-memory, for refusals.
std::string CollectionLimitSetBy(const v1::Quota& quota) {
  if (quota.collection_bytes() != 0) return kQuota;
  return "the tenant's quota of device-memory, and 64 MiB, as none is set for "
         "collection-memory";
}

uint64_t ChunkLimitOf(const v1::Quota& quota) {
  return ChunkLimit(LimitOr(quota.device_bytes()), /*devices=*/1);
}

std::shared_ptr<Quota> MakeChunkQuota(const std::string& what,
                                      const std::string& tenant,
                                      const v1::Quota& quota) {
  return Quota::Create({.name = absl::StrCat(what, " ", tenant),
                        .unit = "bytes",
                        .limit = ChunkLimitOf(quota),
                        .set_by = "twice the tenant's quota, and 64 MiB"});
}

CompileBudget::Limits CompileLimits(const v1::Quota& quota) {
  return {.time_per_hour = absl::Seconds(quota.compile_time().seconds()) +
                           absl::Nanoseconds(quota.compile_time().nanos()),
          .requests = quota.compile_requests()};
}

}  // namespace

Tenant::Tenant(const Options& options)
    : name_(options.name),
      kind_(options.kind),
      code_owner_(options.code_owner),
      device_bytes_(
          MakeQuota("device-memory", name_, options.quota.device_bytes())),
      chunk_bytes_(MakeChunkQuota("device memory reserved by tenant", name_,
                                  options.quota)),
      suspended_bytes_(MakeChunkQuota("memory of suspended sessions of tenant",
                                      name_, options.quota)),
      pinned_bytes_(
          MakeQuota("pinned-memory", name_, options.quota.pinned_bytes())),
      arena_bytes_(
          MakeQuota("arena-memory", name_, options.quota.arena_bytes())),
      collection_bytes_(MakeQuota("collection-memory", name_,
                                  Complete(options.quota).collection_bytes(),
                                  CollectionLimitSetBy(options.quota))),
      compile_budget_(std::make_shared<CompileBudget>(
          name_, CompileLimits(options.quota), options.compile_group)),
      group_(options.group),
      quota_(Complete(options.quota)),
      reserved_device_bytes_(options.reserved_device_bytes),
      weight_(options.weight),
      kernel_time_limit_(options.kernel_time_limit),
      devices_(options.devices),
      stream_priorities_(options.stream_priorities),
      concurrency_(options.concurrency),
      collections_(options.collections),
      foreign_exports_(options.foreign_exports) {}

void Tenant::SetQuota(const v1::Quota& quota) {
  device_bytes_->SetLimit(LimitOr(quota.device_bytes()));
  chunk_bytes_->SetLimit(ChunkLimitOf(quota));
  suspended_bytes_->SetLimit(ChunkLimitOf(quota));
  pinned_bytes_->SetLimit(LimitOr(quota.pinned_bytes()));
  arena_bytes_->SetLimit(LimitOr(quota.arena_bytes()));
  collection_bytes_->SetLimit(LimitOr(Complete(quota).collection_bytes()),
                              CollectionLimitSetBy(quota));
  compile_budget_->SetLimits(CompileLimits(quota));
  absl::MutexLock lock(&mutex_);
  quota_ = Complete(quota);
  if (counts_ != nullptr) counts_->SetLimits(quota);
}

absl::StatusOr<std::unique_ptr<TenantCounts::Lease>> Tenant::TakeSlot() {
  if (kind_ == Kind::kOwn) return nullptr;
  absl::MutexLock lock(&mutex_);
  if (counts_ == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(counts_, TenantCounts::Create(name_));
    counts_->SetLimits(quota_);
  }
  return counts_->TakeSlot();
}

internal::TenantCounters Tenant::Counters() const {
  internal::TenantCounters counters;
  *counters.mutable_executions() = execution_->Record();
  compile_budget_->Record(&counters);
  counters.set_peak_device_bytes(device_bytes_->peak());
  return counters;
}

void Tenant::Add(const internal::TenantCounters& counters) {
  execution_->Add(counters.executions());
  compile_budget_->Add(counters);
  device_bytes_->NotePeak(counters.peak_device_bytes());
}

void Tenant::Update(const Options& options) {
  SetQuota(options.quota);
  absl::MutexLock lock(&mutex_);
  reserved_device_bytes_ = options.reserved_device_bytes;
  weight_ = options.weight;
  kernel_time_limit_ = options.kernel_time_limit;
  devices_ = options.devices;
  stream_priorities_ = options.stream_priorities;
  concurrency_ = options.concurrency;
  collections_ = options.collections;
  foreign_exports_ = options.foreign_exports;
}

std::vector<uint32_t> Tenant::devices() const {
  absl::MutexLock lock(&mutex_);
  return devices_;
}

uint64_t Tenant::reserved_device_bytes() const {
  absl::MutexLock lock(&mutex_);
  return reserved_device_bytes_;
}

uint32_t Tenant::weight() const {
  absl::MutexLock lock(&mutex_);
  return weight_;
}

absl::Duration Tenant::kernel_time_limit() const {
  absl::MutexLock lock(&mutex_);
  return kernel_time_limit_;
}

v1::StreamPriorityClass Tenant::stream_priorities() const {
  absl::MutexLock lock(&mutex_);
  return stream_priorities_;
}

bool Tenant::foreign_exports() const {
  absl::MutexLock lock(&mutex_);
  return foreign_exports_;
}

Concurrency Tenant::concurrency() const {
  absl::MutexLock lock(&mutex_);
  return concurrency_;
}

v1::Visibility Tenant::collections() const {
  absl::MutexLock lock(&mutex_);
  return collections_;
}

std::vector<std::shared_ptr<ExecutionTotals>> Tenant::executions() const {
  if (group_ == nullptr) return {execution_};
  return {execution_, group_};
}

v1::Quota Tenant::quota() const {
  absl::MutexLock lock(&mutex_);
  return quota_;
}

absl::Status Tenant::CheckMayOpen(uint64_t open) const {
  if (ending_) {
    return absl::UnavailableError(
        absl::StrCat("tenant ", name(), " is ending"));
  }
  const uint64_t limit = quota().sessions();
  if (limit == 0 || open < limit) return absl::OkStatus();
  const QuotaExceeded exceeded = {
      .quota = absl::StrCat("sessions of tenant ", name()),
      .limit = limit,
      .used = open,
      .requested = 1};
  absl::Status status = absl::ResourceExhaustedError(
      absl::StrCat(exceeded.quota, ": 1 asked for, ", open,
                   " are open, the limit is ", limit, " (the tenant's quota)"));
  SetQuotaExceeded(exceeded, &status);
  return status;
}

v1::TenantInfo Tenant::Info() const {
  v1::TenantInfo info;
  info.set_name(name());
  *info.mutable_quota() = quota();
  info.set_temporary(temporary());
  info.set_device_bytes(device_bytes_->used());
  info.set_pinned_bytes(pinned_bytes_->used());
  info.set_arena_bytes(arena_bytes_->used());
  info.set_collection_bytes(collection_bytes_->used());
  info.set_peak_device_bytes(device_bytes_->peak());
  const ExecutionCounts execution = execution_->Sum();
  *info.mutable_gpu_time() = ToDuration(execution.gpu_time());
  const absl::Duration compiled = compile_budget_->TimeOfLastHour(SteadyNow());
  *info.mutable_compile_time() =
      ToDuration(static_cast<uint64_t>(absl::ToInt64Nanoseconds(compiled)));
  info.set_launches(execution.all_launches());
  info.set_faults(execution_->lost());
  info.set_recoveries(execution_->recovered());
  absl::MutexLock lock(&mutex_);
  info.set_weight(weight_);
  info.set_reserved_device_bytes(reserved_device_bytes_);
  info.set_stream_priorities(stream_priorities_);
  info.set_shared_group(concurrency_.group);
  return info;
}

}  // namespace holdfast
