// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/policy_file.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/printable.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "server/tenants/key_set.h"
#include "server/tenants/tenant_name.h"
#include "server/tenants/token_key.h"
#include "server/tenants/toml_reader.h"

namespace holdfast {
namespace {

constexpr size_t kMaxKeyFileBytes = size_t{64} << 10;
constexpr uint64_t kMaxLeewaySeconds = 300;

// A table [groups.NAME].
struct GroupPolicy {
  Concurrency concurrency;
  // Tenants made by CreateTenant may join it.
  bool temporary_tenants = false;
};

// Reads one policy.
class Reader : public TomlReader {
 public:
  explicit Reader(const std::string& file) : TomlReader(file) {}

  absl::StatusOr<Policy> Read(const toml::table& root);

 private:
  absl::Status ReadIdentities(const toml::table& table, size_t number,
                              IdentityMap* map) const;
  template <typename Key>
  absl::Status Add(const toml::node& node, const Key& key, size_t number,
                   std::map<Key, size_t>* map) const;
  template <typename Key>
  using ReadKey = absl::StatusOr<Key> (TomlReader::*)(const toml::node&) const;
  template <typename Key>
  absl::Status ReadNames(const toml::table& table, const char* list,
                         ReadKey<Key> read, size_t number,
                         std::map<Key, size_t>* map) const;
  absl::Status ReadOvercommit(const toml::node& node, Policy* policy) const;
  absl::Status ReadTokens(const toml::table& table, Policy* policy) const;
  absl::Status ReadKeys(const toml::node& node, TokenRules* rules) const;
  absl::Status ReadTenants(const toml::table& table, Policy* policy) const;
  absl::Status ReadTenant(const toml::table& table, Policy* policy,
                          TenantPolicy* tenant) const;
  absl::Status ReadReservation(const toml::table& table,
                               TenantPolicy* tenant) const;
  absl::Status ReadQuota(const toml::table& table, v1::Quota* quota) const;
  absl::Status ReadDevices(const toml::node& node,
                           std::vector<uint32_t>* devices) const;
  absl::Status ReadVisibility(const toml::node& node,
                              v1::Visibility* visibility) const;
  absl::StatusOr<v1::StreamPriorityClass> PriorityClassOf(
      const toml::node& node) const;
  absl::Status ReadGroups(const toml::table& table, Policy* policy);
  absl::Status ReadGroup(const toml::table& table, const std::string& name,
                         GroupPolicy* group) const;
  absl::Status ReadConcurrency(const toml::table& table,
                               Concurrency* concurrency) const;

  // By name. That of a group whose tenants do not share is as if there were
  // none.
  std::map<std::string, Concurrency> groups_;
};

template <typename Key>
absl::Status Reader::Add(const toml::node& node, const Key& key, size_t number,
                         std::map<Key, size_t>* map) const {
  if (map->emplace(key, number).second) return absl::OkStatus();
  return ErrorAt(node, "this identity is named before");
}

// Adds the elements of the array `list`, if the table has it.
template <typename Key>
absl::Status Reader::ReadNames(const toml::table& table, const char* list,
                               ReadKey<Key> read, size_t number,
                               std::map<Key, size_t>* map) const {
  const toml::node* const names = table.get(list);
  if (names == nullptr) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(const auto* const array, ArrayOf(*names));
  for (const toml::node& node : *array) {
    HOLDFAST_ASSIGN_OR_RETURN(const Key name, (this->*read)(node));
    HOLDFAST_RETURN_IF_ERROR(Add(node, name, number, map));
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadIdentities(const toml::table& table, size_t number,
                                    IdentityMap* map) const {
  HOLDFAST_RETURN_IF_ERROR(
      ReadNames(table, "users", &TomlReader::UserOf, number, &map->users));
  HOLDFAST_RETURN_IF_ERROR(
      ReadNames(table, "groups", &TomlReader::GroupOf, number, &map->groups));
  HOLDFAST_RETURN_IF_ERROR(ReadNames(table, "certificates", &TomlReader::TextOf,
                                     number, &map->certificates));
  HOLDFAST_RETURN_IF_ERROR(ReadNames(table, "subjects", &TomlReader::TextOf,
                                     number, &map->subjects));
  return ReadNames(table, "token-groups", &TomlReader::TextOf, number,
                   &map->token_groups);
}

// Paths are relative to the policy's own folder.
absl::Status Reader::ReadKeys(const toml::node& node, TokenRules* rules) const {
  HOLDFAST_ASSIGN_OR_RETURN(const auto* const list, ArrayOf(node));
  if (list->empty()) return ErrorAt(node, "no files of keys");
  std::set<std::string> ids;
  for (const toml::node& one : *list) {
    HOLDFAST_ASSIGN_OR_RETURN(const std::string name, TextOf(one));
    const auto path = std::filesystem::path(file()).parent_path() / name;
    const auto text = ReadFile(path.string(), kMaxKeyFileBytes);
    if (!text.ok()) return ErrorAt(one, ToPrintable(text.status().message()));
    auto keys = IsKeySet(*text) ? ParseKeySet(*text) : ParseTokenKeys(*text);
    if (!keys.ok()) {
      return ErrorAt(one, absl::StrCat(ToPrintable(path.string()), ": ",
                                       keys.status().message()));
    }
    for (const TokenKey& key : *keys) {
      if (key.id().empty() || ids.insert(key.id()).second) continue;
      return ErrorAt(one, absl::StrCat(ToPrintable(path.string()),
                                       ": a file before it has a key '",
                                       ToPrintable(key.id()), "', too"));
    }
    std::move(keys->begin(), keys->end(), std::back_inserter(rules->keys));
    if (rules->keys.size() > kMaxTokenKeys) {
      return ErrorAt(one, absl::StrCat("more than ", kMaxTokenKeys, " keys"));
    }
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadTokens(const toml::table& table,
                                Policy* policy) const {
  HOLDFAST_RETURN_IF_ERROR(CheckKeys(
      table, {"keys", "issuer", "audience", "leeway", "groups-claim"}));
  TokenRules rules;
  for (const char* const key : {"keys", "issuer", "audience"}) {
    if (table.contains(key)) continue;
    return ErrorAt(table, absl::StrCat("signed tokens need '", key, "'"));
  }
  HOLDFAST_RETURN_IF_ERROR(ReadKeys(*table.get("keys"), &rules));
  HOLDFAST_ASSIGN_OR_RETURN(rules.issuer, TextOf(*table.get("issuer")));
  HOLDFAST_ASSIGN_OR_RETURN(rules.audience, TextOf(*table.get("audience")));
  if (const toml::node* const leeway = table.get("leeway")) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t seconds,
                              NumberOf(*leeway, 0, kMaxLeewaySeconds));
    rules.leeway = absl::Seconds(seconds);
  }
  if (const toml::node* const claim = table.get("groups-claim")) {
    HOLDFAST_ASSIGN_OR_RETURN(rules.groups_claim, TextOf(*claim));
  }
  policy->tokens = std::make_shared<TokenVerifier>(std::move(rules));
  return absl::OkStatus();
}

absl::Status Reader::ReadQuota(const toml::table& table,
                               v1::Quota* quota) const {
  HOLDFAST_RETURN_IF_ERROR(CheckKeys(
      table, {"device-memory", "pinned-memory", "arena-memory",
              "collection-memory", "sessions", "handles",
              "outstanding-commands", "compile-seconds", "compile-requests"}));
  for (const auto& [key, node] : table) {
    const std::string_view name = key.str();
    if (absl::EndsWith({name.data(), name.size()}, "-memory")) {
      HOLDFAST_ASSIGN_OR_RETURN(const uint64_t bytes, BytesOf(node));
      if (name == "device-memory") quota->set_device_bytes(bytes);
      if (name == "pinned-memory") quota->set_pinned_bytes(bytes);
      if (name == "arena-memory") quota->set_arena_bytes(bytes);
      if (name == "collection-memory") quota->set_collection_bytes(bytes);
      continue;
    }
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t number,
                              NumberOf(node, 1, uint64_t{1} << 32));
    if (name == "sessions") quota->set_sessions(number);
    if (name == "handles") quota->set_handles(number);
    if (name == "outstanding-commands") {
      quota->set_outstanding_commands(number);
    }
    if (name == "compile-requests") quota->set_compile_requests(number);
    if (name == "compile-seconds") {
      quota->mutable_compile_time()->set_seconds(static_cast<int64_t>(number));
    }
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadReservation(const toml::table& table,
                                     TenantPolicy* tenant) const {
  const toml::node* const reserved = table.get("reserved-memory");
  if (reserved == nullptr) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(tenant->reserved_device_bytes, BytesOf(*reserved));
  tenant->reservation_place = PlaceOf(reserved->source().begin);
  const uint64_t quota = tenant->quota.device_bytes();
  if (quota == 0 || tenant->reserved_device_bytes <= quota) {
    return absl::OkStatus();
  }
  return ErrorAt(*reserved,
                 absl::StrCat(tenant->reserved_device_bytes,
                              " bytes are reserved, and the tenant's quota "
                              "device-memory is ",
                              quota));
}

absl::Status Reader::ReadDevices(const toml::node& node,
                                 std::vector<uint32_t>* devices) const {
  HOLDFAST_ASSIGN_OR_RETURN(const auto* const list, ArrayOf(node));
  if (list->empty()) {
    return ErrorAt(node, "no devices; leave the key out for all");
  }
  for (const toml::node& one : *list) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t ordinal, NumberOf(one, 0, 255));
    const auto device = static_cast<uint32_t>(ordinal);
    if (std::find(devices->begin(), devices->end(), device) != devices->end()) {
      return ErrorAt(one, absl::StrCat("device ", device, " is named twice"));
    }
    devices->push_back(device);
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadVisibility(const toml::node& node,
                                    v1::Visibility* visibility) const {
  if (node.is_string()) {
    HOLDFAST_ASSIGN_OR_RETURN(const std::string word, TextOf(node));
    visibility->set_everybody(word == "everybody");
    if (word == "everybody" || word == "private") return absl::OkStatus();
    return ErrorAt(node,
                   "\"private\", \"everybody\" or an array of tenants is "
                   "wanted");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const auto* const list, ArrayOf(node));
  if (list->size() > 256) return ErrorAt(node, "more than 256 tenants");
  for (const toml::node& one : *list) {
    HOLDFAST_ASSIGN_OR_RETURN(*visibility->add_clients(), TextOf(one));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::StreamPriorityClass> Reader::PriorityClassOf(
    const toml::node& node) const {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string word, TextOf(node));
  if (word == "low") return v1::STREAM_PRIORITY_CLASS_LOW;
  if (word == "normal") return v1::STREAM_PRIORITY_CLASS_NORMAL;
  if (word == "high") return v1::STREAM_PRIORITY_CLASS_HIGH;
  return ErrorAt(node, "\"low\", \"normal\" or \"high\" is wanted");
}

absl::Status Reader::ReadGroup(const toml::table& table,
                               const std::string& name,
                               GroupPolicy* group) const {
  HOLDFAST_RETURN_IF_ERROR(
      CheckKeys(table, {"concurrency", "pipe-directory", "thread-percentage",
                        "temporary-tenants"}));
  const toml::node* const concurrency = table.get("concurrency");
  if (concurrency == nullptr) {
    return ErrorAt(table, "a group needs 'concurrency'");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string word, TextOf(*concurrency));
  if (word != "shared" && word != "separate") {
    return ErrorAt(*concurrency, "\"shared\" or \"separate\" is wanted");
  }
  Concurrency settings = {.group = name};
  if (const toml::node* const pipes = table.get("pipe-directory")) {
    HOLDFAST_ASSIGN_OR_RETURN(settings.pipe_directory, TextOf(*pipes));
    if (!absl::StartsWith(settings.pipe_directory, "/")) {
      return ErrorAt(*pipes, "an absolute path is wanted");
    }
  }
  if (const toml::node* const percentage = table.get("thread-percentage")) {
    HOLDFAST_ASSIGN_OR_RETURN(settings.thread_percentage,
                              PercentageOf(*percentage));
  }
  if (const toml::node* const temporary = table.get("temporary-tenants")) {
    HOLDFAST_ASSIGN_OR_RETURN(group->temporary_tenants, BoolOf(*temporary));
  }
  if (word == "shared") group->concurrency = std::move(settings);
  return absl::OkStatus();
}

absl::Status Reader::ReadGroups(const toml::table& table, Policy* policy) {
  if (table.size() > kMaxPolicyGroups) {
    return ErrorAt(table, absl::StrCat(table.size(), " groups, the limit is ",
                                       kMaxPolicyGroups));
  }
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const absl::Status named = CheckTenantName(name);
    if (!named.ok()) return ErrorAt(key.source().begin, named.message());
    HOLDFAST_ASSIGN_OR_RETURN(const auto* const of, TableOf(node));
    GroupPolicy group;
    HOLDFAST_RETURN_IF_ERROR(ReadGroup(*of, name, &group));
    if (group.temporary_tenants) {
      policy->temporary_groups[name] = group.concurrency;
    }
    groups_[name] = std::move(group.concurrency);
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadConcurrency(const toml::table& table,
                                     Concurrency* concurrency) const {
  const toml::node* const group = table.get("group");
  const toml::node* const percentage = table.get("thread-percentage");
  if (group == nullptr) {
    if (percentage == nullptr) return absl::OkStatus();
    return ErrorAt(*percentage, "only tenants with a 'group' have it");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string name, TextOf(*group));
  const auto found = groups_.find(name);
  if (found == groups_.end()) {
    return ErrorAt(*group, absl::StrCat("there is no table [groups.",
                                        ToPrintable(name), "]"));
  }
  *concurrency = found->second;
  if (percentage == nullptr) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(const uint32_t percent, PercentageOf(*percentage));
  if (concurrency->shared()) concurrency->thread_percentage = percent;
  return absl::OkStatus();
}

absl::Status Reader::ReadTenant(const toml::table& table, Policy* policy,
                                TenantPolicy* tenant) const {
  HOLDFAST_RETURN_IF_ERROR(CheckKeys(
      table, {"users", "groups", "certificates", "subjects", "token-groups",
              "weight", "devices", "kernel-time-limit", "collections",
              "reserved-memory", "stream-priorities", "group",
              "thread-percentage", "foreign-exports", "quota"}));
  for (const char* const key : {"subjects", "token-groups"}) {
    const toml::node* const node = table.get(key);
    if (node == nullptr || policy->tokens != nullptr) continue;
    return ErrorAt(*node, "no token is taken without a table [tokens]");
  }
  HOLDFAST_RETURN_IF_ERROR(
      ReadIdentities(table, policy->tenants.size(), &policy->tenant_of));
  if (const toml::node* const weight = table.get("weight")) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t number,
                              NumberOf(*weight, 1, kMaxTenantWeight));
    tenant->weight = static_cast<uint32_t>(number);
  }
  if (const toml::node* const devices = table.get("devices")) {
    HOLDFAST_RETURN_IF_ERROR(ReadDevices(*devices, &tenant->devices));
  }
  if (const toml::node* const limit = table.get("kernel-time-limit")) {
    HOLDFAST_ASSIGN_OR_RETURN(tenant->kernel_time_limit, TimeOf(*limit));
  }
  if (const toml::node* const part = table.get("stream-priorities")) {
    HOLDFAST_ASSIGN_OR_RETURN(tenant->stream_priorities,
                              PriorityClassOf(*part));
  }
  HOLDFAST_RETURN_IF_ERROR(ReadConcurrency(table, &tenant->concurrency));
  if (const toml::node* const collections = table.get("collections")) {
    HOLDFAST_RETURN_IF_ERROR(
        ReadVisibility(*collections, &tenant->collections));
  }
  tenant->foreign_exports = policy->foreign_exports;
  if (const toml::node* const exports = table.get("foreign-exports")) {
    HOLDFAST_ASSIGN_OR_RETURN(tenant->foreign_exports, BoolOf(*exports));
  }
  if (const toml::node* const quota = table.get("quota")) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto* const of, TableOf(*quota));
    HOLDFAST_RETURN_IF_ERROR(ReadQuota(*of, &tenant->quota));
  }
  return ReadReservation(table, tenant);
}

bool StandsBefore(const toml::key* a, const toml::key* b) {
  const auto& first = a->source().begin;
  const auto& second = b->source().begin;
  return std::make_pair(first.line, first.column) <
         std::make_pair(second.line, second.column);
}

// A table has its keys in alphabetical order; the file's order counts.
absl::Status Reader::ReadTenants(const toml::table& table,
                                 Policy* policy) const {
  std::vector<const toml::key*> keys;
  for (const auto& [key, node] : table) keys.push_back(&key);
  std::sort(keys.begin(), keys.end(), StandsBefore);
  if (keys.size() > kMaxPolicyTenants) {
    return ErrorAt(table, absl::StrCat(keys.size(), " tenants, the limit is ",
                                       kMaxPolicyTenants));
  }
  for (const toml::key* const key : keys) {
    TenantPolicy tenant;
    tenant.name = std::string(key->str());
    const absl::Status named = CheckTenantName(tenant.name);
    if (!named.ok()) return ErrorAt(key->source().begin, named.message());
    HOLDFAST_ASSIGN_OR_RETURN(const auto* const of,
                              TableOf(*table.get(key->str())));
    HOLDFAST_RETURN_IF_ERROR(ReadTenant(*of, policy, &tenant));
    tenant.place = PlaceOf(key->source().begin);
    if (!policy->overcommit && tenant.quota.device_bytes() == 0) {
      return ErrorAt(key->source().begin,
                     "without overcommit a tenant needs a quota device-memory");
    }
    policy->tenants.push_back(std::move(tenant));
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadOvercommit(const toml::node& node,
                                    Policy* policy) const {
  HOLDFAST_ASSIGN_OR_RETURN(policy->overcommit, BoolOf(node));
  if (policy->overcommit || !policy->serves_unnamed) return absl::OkStatus();
  return ErrorAt(node,
                 "there is overcommit where unnamed = \"serve\": those have no "
                 "quota");
}

absl::StatusOr<Policy> Reader::Read(const toml::table& root) {
  HOLDFAST_RETURN_IF_ERROR(
      CheckKeys(root, {"unnamed", "overcommit", "foreign-exports", "operators",
                       "tokens", "groups", "tenants"}));
  Policy policy;
  policy.serves_unnamed = false;
  if (const toml::node* const unnamed = root.get("unnamed")) {
    HOLDFAST_ASSIGN_OR_RETURN(const std::string word, TextOf(*unnamed));
    policy.serves_unnamed = word == "serve";
    if (word != "serve" && word != "refuse") {
      return ErrorAt(*unnamed, "\"refuse\" or \"serve\" is wanted");
    }
  }
  if (const toml::node* const overcommit = root.get("overcommit")) {
    HOLDFAST_RETURN_IF_ERROR(ReadOvercommit(*overcommit, &policy));
  }
  if (const toml::node* const exports = root.get("foreign-exports")) {
    HOLDFAST_ASSIGN_OR_RETURN(policy.foreign_exports, BoolOf(*exports));
  }
  if (const toml::node* const operators = root.get("operators")) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto* const of, TableOf(*operators));
    HOLDFAST_RETURN_IF_ERROR(
        CheckKeys(*of, {"users", "groups", "certificates"}));
    HOLDFAST_RETURN_IF_ERROR(ReadIdentities(*of, 0, &policy.operators));
  }
  if (const toml::node* const tokens = root.get("tokens")) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto* const of, TableOf(*tokens));
    HOLDFAST_RETURN_IF_ERROR(ReadTokens(*of, &policy));
  }
  if (const toml::node* const groups = root.get("groups")) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto* const of, TableOf(*groups));
    HOLDFAST_RETURN_IF_ERROR(ReadGroups(*of, &policy));
  }
  if (const toml::node* const tenants = root.get("tenants")) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto* const of, TableOf(*tenants));
    HOLDFAST_RETURN_IF_ERROR(ReadTenants(*of, &policy));
  }
  return policy;
}

}  // namespace

absl::StatusOr<Policy> ParsePolicy(absl::string_view text,
                                   const std::string& file) {
  Reader reader(file);
  if (text.size() > kMaxPolicyBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, " has ", text.size(), " bytes, the limit is ", kMaxPolicyBytes));
  }
  const toml::parse_result parsed =
      toml::parse(std::string_view(text.data(), text.size()));
  if (parsed.failed()) {
    const toml::parse_error& error = parsed.error();
    return reader.ErrorAt(
        error.source().begin,
        ToPrintable(absl::string_view(error.description().data(),
                                      error.description().size())));
  }
  return reader.Read(parsed.table());
}

absl::StatusOr<Policy> ReadPolicy(const std::string& file) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string text,
                            ReadFile(file, kMaxPolicyBytes));
  if (absl::StripAsciiWhitespace(text).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file,
                     " is empty, as while an editor writes it; a policy that "
                     "refuses everybody says unnamed = \"refuse\""));
  }
  return ParsePolicy(text, file);
}

}  // namespace holdfast
