// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/policy.h"

#include <algorithm>
#include <optional>

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

}  // namespace holdfast
