// SPDX-License-Identifier: Apache-2.0
#include "server/memory/memory_ledger.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/account/account.h"
#include "server/account/chunk_limit.h"

namespace holdfast {
namespace {

constexpr char kBytes[] = "bytes";

uint64_t LimitOr(uint64_t limit) {
  return limit == 0 ? Quota::kUnlimited : limit;
}

// Sums and products here saturate: they are made of clients' numbers.
uint64_t Add(uint64_t a, uint64_t b) {
  return a > Quota::kUnlimited - b ? Quota::kUnlimited : a + b;
}

uint64_t HostLimit(const internal::AccountLimits& limits) {
  return Add(Add(LimitOr(limits.pinned_bytes()), LimitOr(limits.arena_bytes())),
             Account::kMaxStagingBytes);
}

}  // namespace

MemoryLedger::MemoryLedger(uint64_t host_bytes,
                           std::shared_ptr<DeviceShares> shares,
                           bool divide_host)
    : host_(Quota::Create({.name = "host memory of all sessions",
                           .unit = kBytes,
                           .limit = LimitOr(host_bytes),
                           .set_by = "--host-memory"})),
      shares_(shares == nullptr ? std::make_shared<DeviceShares>()
                                : std::move(shares)),
      host_shares_(divide_host ? std::make_shared<HostShares>(host_)
                               : nullptr) {}

void MemoryLedger::AddDevices(const internal::Ready& ready) {
  DeviceSizes sizes;
  for (const v1::Device& device : ready.devices()) {
    sizes[device.ordinal()] = device.total_memory();
  }
  shares_->AddDevices(sizes);
}

size_t MemoryLedger::device_count() const { return shares_->sizes().size(); }

bool MemoryLedger::HasDevice(uint32_t device) const {
  return shares_->sizes().contains(device);
}

std::shared_ptr<Quota> MemoryLedger::OnDevice(uint32_t device,
                                              const std::string& tenant) const {
  return Quota::Create({.name = absl::StrCat("memory of device ", device),
                        .unit = kBytes,
                        .reserve = [shares = shares_, device,
                                    tenant](uint64_t bytes) -> absl::Status {
                          return shares->Take(device, tenant, bytes);
                        },
                        .release =
                            [shares = shares_, device, tenant](uint64_t bytes) {
                              shares->Return(device, tenant, bytes);
                            }});
}

std::shared_ptr<Quota> MemoryLedger::HostOf(
    const std::string& tenant, std::shared_ptr<const Quota> own) const {
  if (host_shares_ == nullptr) return nullptr;
  return Quota::Create(
      {.name = absl::StrCat("share of host memory of tenant ", tenant),
       .unit = kBytes,
       .reserve = [shares = host_shares_, tenant, own](uint64_t bytes)
           -> absl::Status { return shares->Take(tenant, *own, bytes); },
       .release = [shares = host_shares_,
                   tenant](uint64_t bytes) { shares->Return(tenant, bytes); }});
}

absl::StatusOr<MemoryLedger::HostCharge> MemoryLedger::TakeHost(
    const std::string& tenant, std::shared_ptr<const Quota> own,
    uint64_t bytes) const {
  HostCharge charge;
  HOLDFAST_ASSIGN_OR_RETURN(charge.of_all, host_->Take(bytes));
  if (own == nullptr) return charge;
  const auto share = HostOf(tenant, std::move(own));
  if (share == nullptr) return charge;
  HOLDFAST_ASSIGN_OR_RETURN(charge.of_tenant, share->Take(bytes));
  return charge;
}

void MemoryLedger::Report(v1::MemoryTotals* totals) const {
  host_->Report(totals->mutable_host_bytes());
  for (const auto& [ordinal, sums] : shares_->totals()) {
    v1::MemoryTotals::Device& device = *totals->add_devices();
    device.set_device(ordinal);
    device.mutable_reserved_bytes()->set_used(sums.used);
    device.mutable_reserved_bytes()->set_limit(sums.size);
  }
}

void MemoryGrants::Open(const internal::AccountLimits& limits, size_t devices,
                        std::shared_ptr<Tenant> tenant) {
  tenant_ = std::move(tenant);
  if (devices == 0) devices = ledger_.device_count();
  devices_ = Quota::Create(
      {.name = "device memory reserved by the session",
       .unit = kBytes,
       .limit = ChunkLimit(LimitOr(limits.device_bytes()), devices),
       .set_by = "twice its limit, and 64 MiB a device"});
  host_ = Quota::Create({.name = "host memory of the session",
                         .unit = kBytes,
                         .limit = HostLimit(limits),
                         .set_by = "--pinned-memory, --arena-memory"});
  if (tenant_ == nullptr) return;
  pinned_share_ = ledger_.HostOf(tenant_->name(), tenant_->pinned_bytes());
  arena_share_ = ledger_.HostOf(tenant_->name(), tenant_->arena_bytes());
}

// A kind of host memory that does not exist counts as the executor's own.
MemoryGrants::PlaceKey MemoryGrants::KeyOf(const internal::MemoryPlace& place) {
  const auto place_case = place.place_case();
  if (place.has_device()) return {place_case, place.device()};
  if (!place.has_host()) return {place_case, 0};
  const bool known = internal::HostMemory_IsValid(place.host());
  return {place_case, known ? static_cast<uint32_t>(place.host()) : 0};
}

const std::shared_ptr<Quota>& MemoryGrants::OnDevice(uint32_t device) {
  std::shared_ptr<Quota>& quota = of_tenant_[device];
  if (quota == nullptr) {
    quota = ledger_.OnDevice(device, tenant_ == nullptr ? "" : tenant_->name());
  }
  return quota;
}

absl::StatusOr<MemoryGrants::Quotas> MemoryGrants::QuotasOf(
    const internal::MemoryPlace& place) {
  if (place.has_buffers()) {
    if (tenant_ != nullptr) return Quotas{tenant_->device_bytes()};
    return absl::InvalidArgumentError("no tenant to reserve buffers of");
  }
  if (!place.has_device() && !place.has_host()) {
    return absl::InvalidArgumentError("no place to reserve memory of");
  }
  if (place.has_device()) {
    if (!ledger_.HasDevice(place.device())) {
      return absl::NotFoundError(
          absl::StrCat("no device ", place.device(), " to reserve memory of"));
    }
    Quotas quotas = {devices_, OnDevice(place.device())};
    if (tenant_ != nullptr) quotas.push_back(tenant_->chunk_bytes());
    return quotas;
  }
  return QuotasOfHost(place.host());
}

// The tenant's share comes behind the sum of all tenants: HostShares counts on
// it.
MemoryGrants::Quotas MemoryGrants::QuotasOfHost(
    internal::HostMemory memory) const {
  Quotas quotas = {host_, ledger_.host()};
  if (tenant_ == nullptr) return quotas;
  if (memory == internal::HOST_MEMORY_PINNED) {
    quotas.push_back(tenant_->pinned_bytes());
    if (pinned_share_ != nullptr) quotas.push_back(pinned_share_);
  }
  if (memory == internal::HOST_MEMORY_ARENA) {
    quotas.push_back(tenant_->arena_bytes());
    if (arena_share_ != nullptr) quotas.push_back(arena_share_);
  }
  return quotas;
}

absl::Status MemoryGrants::Reserve(const internal::MemoryPlace& place,
                                   uint64_t bytes) {
  if (devices_ == nullptr) {
    return absl::FailedPreconditionError("no session to reserve memory for");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const Quotas quotas, QuotasOf(place));
  Granted& granted = granted_[KeyOf(place)];
  const uint64_t credit = std::min(bytes, granted.credit);
  const uint64_t inherited =
      granted.inherited.empty()
          ? 0
          : std::min(bytes - credit, granted.inherited[0].amount());
  std::vector<Charge> charges;
  for (const auto& quota : quotas) {
    HOLDFAST_ASSIGN_OR_RETURN(Charge charge,
                              quota->Take(bytes - credit - inherited));
    charges.push_back(std::move(charge));
  }
  granted.credit -= credit;
  granted.charges.resize(charges.size());
  for (size_t i = 0; i < charges.size(); ++i) {
    if (inherited > 0) {
      granted.charges[i].Add(granted.inherited[i].Split(inherited));
    }
    granted.charges[i].Add(std::move(charges[i]));
  }
  return absl::OkStatus();
}

absl::Status MemoryGrants::Release(const internal::MemoryPlace& place,
                                   uint64_t bytes) {
  if (devices_ == nullptr) return absl::OkStatus();  // It is back already.
  const auto found = granted_.find(KeyOf(place));
  if (found == granted_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it gave back ", bytes,
                     " bytes of memory, of which none were granted"));
  }
  Granted& granted = found->second;
  const uint64_t forgiven = std::min(bytes, granted.forgiven);
  granted.forgiven -= forgiven;
  bytes -= forgiven;
  if (bytes > granted.amount()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it gave back ", bytes, " bytes of memory, of which ",
                     granted.amount(), " were granted"));
  }
  for (Charge& charge : granted.charges) charge.Return(bytes);
  return absl::OkStatus();
}

absl::StatusOr<MemoryGrants::Detached> MemoryGrants::Detach(
    const internal::MemoryPlace& place, uint64_t bytes) {
  const auto found = granted_.find(KeyOf(place));
  const uint64_t amount = found == granted_.end() ? 0 : found->second.amount();
  if (found == granted_.end() || !place.has_device() || bytes > amount) {
    return absl::InvalidArgumentError(
        absl::StrCat("it shares ", bytes, " bytes of memory, of which ", amount,
                     " were granted"));
  }
  std::vector<Charge>& charges = found->second.charges;
  Detached detached = {.of_session = charges[0].Split(bytes),
                       .of_all = charges[1].Split(bytes)};
  if (charges.size() > 2) detached.of_tenant = charges[2].Split(bytes);
  return detached;
}

void MemoryGrants::Forgive(const internal::MemoryPlace& place, uint64_t bytes) {
  const auto found = granted_.find(KeyOf(place));
  if (found != granted_.end()) found->second.forgiven += bytes;
}

void MemoryGrants::Suspend() {
  internal::MemoryPlace arenas;
  arenas.set_host(internal::HOST_MEMORY_ARENA);
  std::erase_if(granted_, [kept = KeyOf(arenas)](const auto& granted) {
    return granted.first != kept;
  });
}

void MemoryGrants::BeginInheritance() {
  for (auto& [place, granted] : granted_) {
    granted.inherited.resize(granted.charges.size());
    for (size_t i = 0; i < granted.charges.size(); ++i) {
      granted.inherited[i].Add(std::move(granted.charges[i]));
    }
    granted.charges.clear();
    granted.credit = 0;
    granted.forgiven = 0;
  }
}

void MemoryGrants::EndInheritance() {
  for (auto& [place, granted] : granted_) {
    granted.inherited.clear();
    granted.credit = 0;
  }
}

void MemoryGrants::Credit(const internal::MemoryPlace& place, uint64_t bytes) {
  if (devices_ != nullptr) granted_[KeyOf(place)].credit += bytes;
}

void MemoryGrants::Close() {
  granted_.clear();
  devices_ = nullptr;
  host_ = nullptr;
  tenant_ = nullptr;
  of_tenant_.clear();
  pinned_share_ = nullptr;
  arena_share_ = nullptr;
}

void MemoryGrants::ReportReserved(v1::QuotaUsage* usage) const {
  if (devices_ != nullptr) devices_->Report(usage);
}

}  // namespace holdfast
