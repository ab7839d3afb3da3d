// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/policy_file.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "core/base/printable.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "server/tenants/key_set.h"
#include "server/tenants/tenant_name.h"
#include "server/tenants/token_key.h"

// Errors are values, with their places in the file.
#define TOML_EXCEPTIONS 0
#include "toml++/toml.h"

namespace holdfast {
namespace {

// Bytes of the buffer that a user's or group's entry is read into.
constexpr size_t kMaxEntryBytes = size_t{64} << 10;

constexpr size_t kMaxKeyFileBytes = size_t{64} << 10;
constexpr uint64_t kMaxLeewaySeconds = 300;
constexpr absl::Duration kMaxTime = absl::Hours(24);

// A table [groups.NAME].
struct GroupPolicy {
  Concurrency concurrency;
  // Tenants made by CreateTenant may join it.
  bool temporary_tenants = false;
};

// Reads one file; every error says where in it.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  absl::StatusOr<Policy> Read(const toml::table& root);
  absl::Status ErrorAt(const toml::source_position& at,
                       absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(PlaceOf(at), what));
  }

 private:
  std::string PlaceOf(const toml::source_position& at) const {
    return absl::StrCat(file_, ":", at.line, ":", at.column, ": ");
  }
  absl::Status ErrorAt(const toml::node& node, absl::string_view what) const {
    return ErrorAt(node.source().begin, what);
  }
  // Every key of `table` must be one of `known`.
  absl::Status CheckKeys(const toml::table& table,
                         std::initializer_list<absl::string_view> known) const;
  absl::StatusOr<const toml::table*> TableOf(const toml::node& node) const;
  absl::StatusOr<const toml::array*> ArrayOf(const toml::node& node) const;
  absl::StatusOr<std::string> TextOf(const toml::node& node) const;
  absl::StatusOr<uint64_t> NumberOf(const toml::node& node, uint64_t least,
                                    uint64_t most) const;
  absl::StatusOr<uint32_t> PercentageOf(const toml::node& node) const;
  absl::StatusOr<bool> BoolOf(const toml::node& node) const;
  absl::StatusOr<uint64_t> BytesOf(const toml::node& node) const;
  absl::StatusOr<absl::Duration> TimeOf(const toml::node& node) const;
  absl::StatusOr<uid_t> UserOf(const toml::node& node) const;
  absl::StatusOr<gid_t> GroupOf(const toml::node& node) const;

  absl::Status ReadIdentities(const toml::table& table, size_t number,
                              IdentityMap* map) const;
  template <typename Key>
  absl::Status Add(const toml::node& node, const Key& key, size_t number,
                   std::map<Key, size_t>* map) const;
  template <typename Key>
  using ReadKey = absl::StatusOr<Key> (Reader::*)(const toml::node&) const;
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

  const std::string file_;
  // By name. That of a group whose tenants do not share is as if there were
  // none.
  std::map<std::string, Concurrency> groups_;
};

absl::Status Reader::CheckKeys(
    const toml::table& table,
    std::initializer_list<absl::string_view> known) const {
  for (const auto& [key, value] : table) {
    const absl::string_view name(key.str().data(), key.str().size());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const absl::string_view one : known) {
      absl::StrAppend(&list, list.empty() ? "" : ", ", one);
    }
    return ErrorAt(key.source().begin,
                   absl::StrCat("unknown key '", ToPrintable(name),
                                "'; there are: ", list));
  }
  return absl::OkStatus();
}

absl::StatusOr<const toml::table*> Reader::TableOf(
    const toml::node& node) const {
  if (const auto* const table = node.as_table()) return table;
  return ErrorAt(node, "a table is wanted here");
}

absl::StatusOr<const toml::array*> Reader::ArrayOf(
    const toml::node& node) const {
  if (const auto* const array = node.as_array()) return array;
  return ErrorAt(node, "an array is wanted here");
}

absl::StatusOr<std::string> Reader::TextOf(const toml::node& node) const {
  if (const auto* const text = node.as_string()) {
    if (!text->get().empty()) return text->get();
  }
  return ErrorAt(node, "a string is wanted here, and not an empty one");
}

absl::StatusOr<absl::Duration> Reader::TimeOf(const toml::node& node) const {
  absl::Duration time;
  const auto* const text = node.as_string();
  if (text != nullptr && absl::ParseDuration(text->get(), &time) &&
      time >= absl::Nanoseconds(1) && time <= kMaxTime) {
    return time;
  }
  return ErrorAt(node, "a time is wanted, from \"1ns\" to \"24h\"");
}

absl::StatusOr<uint64_t> Reader::NumberOf(const toml::node& node,
                                          uint64_t least, uint64_t most) const {
  const auto* const number = node.as_integer();
  if (number != nullptr && number->get() >= 0) {
    const auto value = static_cast<uint64_t>(number->get());
    if (value >= least && value <= most) return value;
  }
  return ErrorAt(
      node, absl::StrCat("a number from ", least, " to ", most, " is wanted"));
}

absl::StatusOr<uint32_t> Reader::PercentageOf(const toml::node& node) const {
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t percent, NumberOf(node, 1, 100));
  return static_cast<uint32_t>(percent);
}

absl::StatusOr<bool> Reader::BoolOf(const toml::node& node) const {
  if (const auto* const word = node.as_boolean()) return word->get();
  return ErrorAt(node, "true or false is wanted");
}

absl::StatusOr<uint64_t> Reader::BytesOf(const toml::node& node) const {
  constexpr absl::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (node.is_integer()) {
    return NumberOf(node, 1, std::numeric_limits<int64_t>::max());
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string text, TextOf(node));
  for (size_t i = 0; i < std::size(kUnits); ++i) {
    absl::string_view digits = text;
    if (!absl::ConsumeSuffix(&digits, kUnits[i])) continue;
    const uint64_t unit = uint64_t{1} << (10 * (i + 1));
    uint64_t number = 0;
    if (absl::SimpleAtoi(digits, &number) && number > 0 &&
        number <= std::numeric_limits<int64_t>::max() / unit) {
      return number * unit;
    }
  }
  return ErrorAt(node, absl::StrCat("'", ToPrintable(text),
                                    "' is no size; write 8GiB, with one of "
                                    "KiB, MiB, GiB, TiB, or a number"));
}

absl::StatusOr<uid_t> Reader::UserOf(const toml::node& node) const {
  if (node.is_integer()) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t number,
                              NumberOf(node, 0, UINT32_MAX - 1));
    return static_cast<uid_t>(number);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string name, TextOf(node));
  std::vector<char> buffer(kMaxEntryBytes);
  passwd entry = {};
  passwd* found = nullptr;
  getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return entry.pw_uid;
  return ErrorAt(
      node, absl::StrCat("this machine has no user '", ToPrintable(name), "'"));
}

absl::StatusOr<gid_t> Reader::GroupOf(const toml::node& node) const {
  if (node.is_integer()) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t number,
                              NumberOf(node, 0, UINT32_MAX - 1));
    return static_cast<gid_t>(number);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string name, TextOf(node));
  std::vector<char> buffer(kMaxEntryBytes);
  group entry = {};
  group* found = nullptr;
  getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return entry.gr_gid;
  return ErrorAt(node, absl::StrCat("this machine has no group '",
                                    ToPrintable(name), "'"));
}

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
      ReadNames(table, "users", &Reader::UserOf, number, &map->users));
  HOLDFAST_RETURN_IF_ERROR(
      ReadNames(table, "groups", &Reader::GroupOf, number, &map->groups));
  HOLDFAST_RETURN_IF_ERROR(ReadNames(table, "certificates", &Reader::TextOf,
                                     number, &map->certificates));
  HOLDFAST_RETURN_IF_ERROR(
      ReadNames(table, "subjects", &Reader::TextOf, number, &map->subjects));
  return ReadNames(table, "token-groups", &Reader::TextOf, number,
                   &map->token_groups);
}

// Paths are relative to the policy's own folder.
absl::Status Reader::ReadKeys(const toml::node& node, TokenRules* rules) const {
  HOLDFAST_ASSIGN_OR_RETURN(const auto* const list, ArrayOf(node));
  if (list->empty()) return ErrorAt(node, "no files of keys");
  std::set<std::string> ids;
  for (const toml::node& one : *list) {
    HOLDFAST_ASSIGN_OR_RETURN(const std::string name, TextOf(one));
    const auto path = std::filesystem::path(file_).parent_path() / name;
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
      table,
      {"users", "groups", "certificates", "subjects", "token-groups", "weight",
       "devices", "kernel-time-limit", "collections", "reserved-memory",
       "stream-priorities", "group", "thread-percentage", "quota"}));
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
  HOLDFAST_RETURN_IF_ERROR(CheckKeys(
      root,
      {"unnamed", "overcommit", "operators", "tokens", "groups", "tenants"}));
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
  return ParsePolicy(text, file);
}

}  // namespace holdfast
