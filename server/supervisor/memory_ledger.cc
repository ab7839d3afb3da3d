// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/memory_ledger.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/executor/account.h"

namespace holdfast {
namespace {

constexpr char kBytes[] = "bytes";
constexpr uint64_t kSlackOfDevice = uint64_t{64} << 20;

uint64_t LimitOr(uint64_t limit) {
  return limit == 0 ? Quota::kUnlimited : limit;
}

// Sums and products here saturate: they are made of clients' numbers.
uint64_t Add(uint64_t a, uint64_t b) {
  return a > Quota::kUnlimited - b ? Quota::kUnlimited : a + b;
}

uint64_t ChunkLimit(uint64_t device_bytes, size_t devices) {
  if (device_bytes == 0) return Quota::kUnlimited;
  return Add(Add(device_bytes, device_bytes), devices * kSlackOfDevice);
}

uint64_t HostLimit(const internal::AccountLimits& limits) {
  return Add(Add(LimitOr(limits.pinned_bytes()), LimitOr(limits.arena_bytes())),
             executor::Account::kMaxStagingBytes);
}

}  // namespace

MemoryLedger::MemoryLedger(uint64_t host_bytes)
    : host_(Quota::Create({.name = "host memory of all sessions",
                           .unit = kBytes,
                           .limit = LimitOr(host_bytes),
                           .set_by = "--host-memory"})) {}

void MemoryLedger::AddDevices(const internal::Ready& ready) {
  absl::MutexLock lock(&mutex_);
  for (const v1::Device& device : ready.devices()) {
    auto& quota = devices_[device.ordinal()];
    if (quota != nullptr) continue;
    quota = Quota::Create(
        {.name = absl::StrCat("memory of device ", device.ordinal(),
                              ", reserved by all sessions"),
         .unit = kBytes,
         .limit = device.total_memory()});
  }
}

size_t MemoryLedger::device_count() const {
  absl::MutexLock lock(&mutex_);
  return devices_.size();
}

absl::StatusOr<std::shared_ptr<Quota>> MemoryLedger::Find(
    const internal::MemoryPlace& place) const {
  if (place.has_host()) return host_;
  absl::MutexLock lock(&mutex_);
  const auto found = devices_.find(place.device());
  if (found != devices_.end()) return found->second;
  return absl::NotFoundError(
      absl::StrCat("no device ", place.device(), " to reserve memory of"));
}

void MemoryLedger::Report(v1::MemoryTotals* totals) const {
  host_->Report(totals->mutable_host_bytes());
  absl::MutexLock lock(&mutex_);
  for (const auto& [ordinal, quota] : devices_) {
    v1::MemoryTotals::Device& device = *totals->add_devices();
    device.set_device(ordinal);
    quota->Report(device.mutable_reserved_bytes());
  }
}

void MemoryGrants::Open(const internal::AccountLimits& limits, size_t devices) {
  if (devices == 0) devices = ledger_.device_count();
  devices_ = Quota::Create({.name = "device memory reserved by the session",
                            .unit = kBytes,
                            .limit = ChunkLimit(limits.device_bytes(), devices),
                            .set_by = "twice its limit, and 64 MiB a device"});
  host_ = Quota::Create({.name = "host memory of the session",
                         .unit = kBytes,
                         .limit = HostLimit(limits),
                         .set_by = "--pinned-memory, --arena-memory"});
}

absl::Status MemoryGrants::Reserve(const internal::MemoryPlace& place,
                                   uint64_t bytes) {
  if (devices_ == nullptr) {
    return absl::FailedPreconditionError("no session to reserve memory for");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const auto of_all, ledger_.Find(place));
  Quota& of_session = place.has_host() ? *host_ : *devices_;
  HOLDFAST_ASSIGN_OR_RETURN(Charge first, of_session.Take(bytes));
  HOLDFAST_ASSIGN_OR_RETURN(Charge second, of_all->Take(bytes));
  Granted& granted = granted_[of_all.get()];
  granted.of_session.Add(std::move(first));
  granted.of_all.Add(std::move(second));
  return absl::OkStatus();
}

absl::Status MemoryGrants::Release(const internal::MemoryPlace& place,
                                   uint64_t bytes) {
  if (devices_ == nullptr) return absl::OkStatus();  // It is back already.
  HOLDFAST_ASSIGN_OR_RETURN(const auto of_all, ledger_.Find(place));
  Granted& granted = granted_[of_all.get()];
  if (bytes > granted.of_all.amount()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it gave back ", bytes, " bytes of memory, of which ",
                     granted.of_all.amount(), " were granted"));
  }
  granted.of_all.Return(bytes);
  granted.of_session.Return(bytes);
  return absl::OkStatus();
}

void MemoryGrants::Close() {
  granted_.clear();
  devices_ = nullptr;
  host_ = nullptr;
}

void MemoryGrants::ReportReserved(v1::QuotaUsage* usage) const {
  if (devices_ != nullptr) devices_->Report(usage);
}

}  // namespace holdfast
