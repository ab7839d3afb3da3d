// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/policy.h"

#include <algorithm>
#include <optional>

#include "core/base/status_macros.h"

namespace holdfast {
namespace {

template <typename Key>
std::optional<size_t> Look(const std::map<Key, size_t>& map, const Key& key) {
  const auto found = map.find(key);
  if (found == map.end()) return std::nullopt;
  return found->second;
}

struct Finder {
  const IdentityMap& map;

  std::optional<size_t> operator()(const UserIdentity& user) const {
    const auto by_uid = Look(map.users, user.uid);
    if (by_uid.has_value()) return by_uid;
    std::optional<size_t> first = Look(map.groups, user.gid);
    for (const gid_t group : user.groups) {
      const auto found = Look(map.groups, group);
      if (found.has_value()) first = std::min(first.value_or(*found), *found);
    }
    return first;
  }
  std::optional<size_t> operator()(const CertificateIdentity& peer) const {
    for (const std::string& name : peer.alternative_names) {
      const auto found = Look(map.certificates, name);
      if (found.has_value()) return found;
    }
    const auto found = Look(map.certificates, peer.subject);
    return found.has_value() ? found : Look(map.certificates, peer.common_name);
  }
  std::optional<size_t> operator()(const AddressIdentity&) const {
    return std::nullopt;
  }
  std::optional<size_t> operator()(const TokenIdentity& token) const {
    const auto by_subject = Look(map.subjects, token.subject);
    if (by_subject.has_value()) return by_subject;
    std::optional<size_t> first;
    for (const std::string& group : token.groups) {
      const auto found = Look(map.token_groups, group);
      if (found.has_value()) first = std::min(first.value_or(*found), *found);
    }
    return first;
  }
};

}  // namespace

int64_t IdentityMap::Find(const Identity& identity) const {
  const std::optional<size_t> found = std::visit(Finder{*this}, identity);
  return found.has_value() ? static_cast<int64_t>(*found) : -1;
}

std::vector<Concurrency> SharingOf(const Policy& policy) {
  std::vector<Concurrency> sharing;
  for (const TenantPolicy& tenant : policy.tenants) {
    if (tenant.concurrency.shared()) sharing.push_back(tenant.concurrency);
  }
  for (const auto& [name, group] : policy.temporary_groups) {
    if (group.shared()) sharing.push_back(group);
  }
  return sharing;
}

std::vector<Reservation> ReservationsOf(const Policy& policy) {
  std::vector<Reservation> reservations;
  for (const TenantPolicy& tenant : policy.tenants) {
    if (tenant.reserved_device_bytes == 0) continue;
    reservations.push_back({.tenant = tenant.name,
                            .devices = tenant.devices,
                            .bytes = tenant.reserved_device_bytes,
                            .place = tenant.reservation_place});
  }
  return reservations;
}

bool NeedsDevices(const Policy& policy) {
  return !policy.overcommit || !ReservationsOf(policy).empty();
}

Reservation ShareOfQuota(const std::string& tenant,
                         const std::vector<uint32_t>& devices,
                         uint64_t quota_bytes, const DeviceSizes& sizes) {
  const size_t count =
      std::max<size_t>(devices.empty() ? sizes.size() : devices.size(), 1);
  const uint64_t rest = quota_bytes % count == 0 ? 0 : 1;
  return {.tenant = tenant,
          .devices = devices,
          .bytes = quota_bytes / count + rest};
}

absl::Status CheckDevices(const Policy& policy, const DeviceSizes& sizes) {
  HOLDFAST_RETURN_IF_ERROR(
      CheckReservations(ReservationsOf(policy), sizes, "reserves"));
  if (policy.overcommit) return absl::OkStatus();
  std::vector<Reservation> quotas;
  for (const TenantPolicy& tenant : policy.tenants) {
    quotas.push_back(ShareOfQuota(tenant.name, tenant.devices,
                                  tenant.quota.device_bytes(), sizes));
    quotas.back().place = tenant.place;
  }
  return CheckReservations(quotas, sizes,
                           "has, without overcommit, a quota of");
}

}  // namespace holdfast
