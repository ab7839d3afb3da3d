// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/device_shares.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/quota_exceeded.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// A tenant is refused `bytes` of a device of which `used` are in use and
// `kept` more are held back for other tenants.
absl::Status Refusal(uint32_t device, const DeviceShares::Totals& totals,
                     uint64_t kept, uint64_t bytes) {
  const std::string name =
      absl::StrCat("memory of device ", device, ", of all sessions");
  std::string message = absl::StrCat(name, ": ", bytes, " bytes asked for, ",
                                     totals.used, " are in use, ");
  if (kept > 0) {
    absl::StrAppend(&message, kept, " more are reserved for other tenants, ");
  }
  absl::StrAppend(&message, "the limit is ", totals.size, " bytes");
  absl::Status status = absl::ResourceExhaustedError(message);
  SetQuotaExceeded({.quota = name,
                    .limit = totals.size,
                    .used = totals.used + kept,
                    .requested = bytes},
                   &status);
  return status;
}

}  // namespace

void DeviceShares::Change(Device& device, const std::string& tenant,
                          const std::function<void(Share&)>& change) {
  Share& share = device.shares[tenant];
  const Share before = share;
  change(share);
  device.totals.used += share.used - before.used;
  device.totals.reserved += share.reserved - before.reserved;
  device.held += std::max(share.used, share.reserved) -
                 std::max(before.used, before.reserved);
  if (share.used == 0 && share.reserved == 0) device.shares.erase(tenant);
}

void DeviceShares::AddDevices(const DeviceSizes& sizes) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [device, bytes] : sizes) {
    if (!devices_.contains(device)) Add(device, bytes);
  }
}

void DeviceShares::AwaitDevices(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  const auto known = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !devices_.empty();
  };
  mutex_.AwaitWithDeadline(absl::Condition(&known), deadline);
}

void DeviceShares::Add(uint32_t ordinal, uint64_t bytes) {
  Device& device = devices_[ordinal];
  device.totals.size = bytes;
  const auto add = [&](const Reservation& reservation) {
    if (!reservation.Covers(ordinal)) return;
    Change(device, reservation.tenant,
           [&](Share& share) { share.reserved = reservation.bytes; });
  };
  for (const Reservation& reservation : of_policy_) add(reservation);
  for (const auto& [tenant, reservation] : temporary_) add(reservation);
}

DeviceSizes DeviceShares::sizes() const {
  absl::MutexLock lock(&mutex_);
  DeviceSizes sizes;
  for (const auto& [ordinal, device] : devices_) {
    sizes[ordinal] = device.totals.size;
  }
  return sizes;
}

std::map<uint32_t, DeviceShares::Totals> DeviceShares::totals() const {
  absl::MutexLock lock(&mutex_);
  std::map<uint32_t, Totals> totals;
  for (const auto& [ordinal, device] : devices_) {
    totals[ordinal] = device.totals;
  }
  return totals;
}

absl::Status DeviceShares::Take(uint32_t device, const std::string& tenant,
                                uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end()) {
    return absl::NotFoundError(
        absl::StrCat("no device ", device, " to take memory of"));
  }
  Device& entry = found->second;
  const auto own = entry.shares.find(tenant);
  const Share share = own == entry.shares.end() ? Share() : own->second;
  // Held by others, beyond what they use.
  const uint64_t kept = (entry.held - std::max(share.used, share.reserved)) -
                        (entry.totals.used - share.used);
  const uint64_t size = entry.totals.size;
  const uint64_t used = entry.totals.used;
  const bool fits = used <= size && bytes <= size - used;
  const bool is_reserved =
      share.used <= share.reserved && bytes <= share.reserved - share.used;
  const bool leaves_reserved = fits && kept <= size - used - bytes;
  if (!taking_over_ && (!fits || !(is_reserved || leaves_reserved))) {
    return Refusal(device, entry.totals, kept, bytes);
  }
  Change(entry, tenant, [&](Share& changed) { changed.used += bytes; });
  return absl::OkStatus();
}

void DeviceShares::SetTakingOver(bool taking_over) {
  absl::MutexLock lock(&mutex_);
  taking_over_ = taking_over;
}

void DeviceShares::Return(uint32_t device, const std::string& tenant,
                          uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end()) return;
  Change(found->second, tenant, [&](Share& share) { share.used -= bytes; });
}

void DeviceShares::Apply(const Reservation& reservation, bool reserve) {
  for (auto& [ordinal, device] : devices_) {
    if (!reservation.Covers(ordinal)) continue;
    Change(device, reservation.tenant, [&](Share& share) {
      share.reserved = reserve ? reservation.bytes : 0;
    });
  }
}

void DeviceShares::SetPolicy(const std::vector<Reservation>& reservations) {
  absl::MutexLock lock(&mutex_);
  for (const Reservation& old : of_policy_) Apply(old, /*reserve=*/false);
  of_policy_ = reservations;
  for (const Reservation& now : of_policy_) Apply(now, /*reserve=*/true);
}

absl::Status DeviceShares::Reserve(const Reservation& reservation) {
  absl::MutexLock lock(&mutex_);
  if (devices_.empty()) {
    return absl::UnavailableError(
        "no memory can be reserved: the devices are not known yet");
  }
  for (const uint32_t device : reservation.devices) {
    if (devices_.contains(device)) continue;
    return absl::InvalidArgumentError(absl::StrCat("no device ", device));
  }
  for (const auto& [ordinal, device] : devices_) {
    if (!reservation.Covers(ordinal)) continue;
    const Totals& totals = device.totals;
    if (device.held <= totals.size &&
        reservation.bytes <= totals.size - device.held) {
      continue;
    }
    return Refusal(ordinal, totals, device.held - totals.used,
                   reservation.bytes);
  }
  temporary_[reservation.tenant] = reservation;
  Apply(reservation, /*reserve=*/true);
  return absl::OkStatus();
}

void DeviceShares::Release(const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  const auto found = temporary_.find(tenant);
  if (found == temporary_.end()) return;
  Apply(found->second, /*reserve=*/false);
  temporary_.erase(found);
}

}  // namespace holdfast
