// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/tenant_table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "server/tenants/tenant_name.h"

namespace holdfast {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr int64_t kMaxSeconds = int64_t{1} << 32;  // of a quota

absl::StatusOr<std::string> MakeToken() {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string random, RandomToken(kTokenBytes));
  return absl::StrCat("holdfast-", absl::BytesToHexString(random));
}

absl::StatusOr<absl::Time> EndOf(const v1::CreateTenantRequest& request) {
  if (!request.has_lifetime()) return absl::InfiniteFuture();
  const absl::Duration lifetime = absl::Seconds(request.lifetime().seconds()) +
                                  absl::Nanoseconds(request.lifetime().nanos());
  if (lifetime <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "lifetime is ", absl::FormatDuration(lifetime), ", not above 0"));
  }
  return absl::Now() + lifetime;
}

absl::Status CheckQuota(const v1::Quota& quota) {
  const auto& time = quota.compile_time();
  const bool is_time = time.seconds() >= 0 && time.seconds() <= kMaxSeconds &&
                       time.nanos() >= 0 && time.nanos() < 1'000'000'000;
  if (is_time) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("compile_time of the quota is ", time.seconds(), " s and ",
                   time.nanos(), " ns; wanted are 0 to ", kMaxSeconds, " s"));
}

absl::Status CheckRequest(const v1::CreateTenantRequest& request) {
  HOLDFAST_RETURN_IF_ERROR(CheckTenantName(request.name()));
  const std::set<uint32_t> devices(request.devices().begin(),
                                   request.devices().end());
  if (devices.size() != static_cast<size_t>(request.devices_size())) {
    return absl::InvalidArgumentError("a device is named twice");
  }
  if (request.weight() > kMaxTenantWeight) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weight is ", request.weight(), "; the limit is ", kMaxTenantWeight));
  }
  if (!v1::StreamPriorityClass_IsValid(request.stream_priorities())) {
    return absl::InvalidArgumentError(absl::StrCat("stream_priorities is ",
                                                   request.stream_priorities(),
                                                   ", which is no class"));
  }
  HOLDFAST_RETURN_IF_ERROR(CheckQuota(request.quota()));
  const uint64_t quota = request.quota().device_bytes();
  if (quota != 0 && request.reserved_device_bytes() > quota) {
    return absl::InvalidArgumentError(
        absl::StrCat("the reserved memory of ", request.reserved_device_bytes(),
                     " bytes exceeds the quota of device memory of ", quota));
  }
  return EndOf(request).status();
}

}  // namespace

absl::Status TenantTable::CheckFree(
    const v1::CreateTenantRequest& request) const {
  const bool named = std::any_of(policy_.tenants.begin(), policy_.tenants.end(),
                                 [&](const TenantPolicy& tenant) {
                                   return tenant.name == request.name();
                                 });
  // One of an older policy that still has sessions.
  const auto old = own_.find(request.name());
  const bool lives = old != own_.end() && !old->second.expired();
  if (named || lives || temporary_.contains(request.name())) {
    return absl::AlreadyExistsError(
        absl::StrCat("there is a tenant ", request.name()));
  }
  if (request.has_uid()) {
    const auto found = by_uid_.find(request.uid());
    if (found != by_uid_.end()) {
      return absl::AlreadyExistsError(
          absl::StrCat("uid ", request.uid(), " is tenant ",
                       found->second->name(), "; tell its jobs by tokens"));
    }
  }
  if (temporary_.size() >= kMaxTemporary) {
    return absl::ResourceExhaustedError(absl::StrCat(
        temporary_.size(), " temporary tenants, which is the limit"));
  }
  return absl::OkStatus();
}

absl::Status TenantTable::CheckGroup(const std::string& name) const {
  if (name.empty() || policy_.temporary_groups.contains(name)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the policy has no group '",
                   absl::CEscape(name.substr(0, kMaxTenantName)),
                   "' with temporary-tenants = true"));
}

absl::Status TenantTable::CheckOvercommit(const std::string& name,
                                          const std::vector<uint32_t>& devices,
                                          uint64_t quota_bytes) const {
  if (policy_.overcommit || shares_ == nullptr) return absl::OkStatus();
  if (quota_bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the policy allows no overcommit, so tenant ", name,
                     " needs a quota of device memory"));
  }
  const DeviceSizes sizes = shares_->sizes();
  std::vector<Reservation> quotas;
  const auto add = [&](const Tenant& tenant) {
    if (tenant.name() == name) return;
    quotas.push_back(ShareOfQuota(tenant.name(), tenant.devices(),
                                  tenant.quota().device_bytes(), sizes));
  };
  for (const auto& tenant : named_) add(*tenant);
  for (const auto& [other, entry] : temporary_) add(*entry.tenant);
  quotas.push_back(ShareOfQuota(name, devices, quota_bytes, sizes));
  const absl::Status fits =
      CheckReservations(quotas, sizes, "has, without overcommit, a quota of");
  if (fits.ok()) return fits;
  return absl::ResourceExhaustedError(fits.message());
}

absl::Status TenantTable::Reserve(const v1::CreateTenantRequest& request) {
  if (request.reserved_device_bytes() == 0) return absl::OkStatus();
  if (shares_ == nullptr) {
    return absl::UnimplementedError("this daemon reserves no memory");
  }
  return shares_->Reserve(
      {.tenant = request.name(),
       .devices = {request.devices().begin(), request.devices().end()},
       .bytes = request.reserved_device_bytes()});
}

absl::StatusOr<std::string> TenantTable::Create(
    const v1::CreateTenantRequest& request) {
  HOLDFAST_RETURN_IF_ERROR(CheckRequest(request));
  HOLDFAST_ASSIGN_OR_RETURN(const absl::Time end, EndOf(request));
  HOLDFAST_ASSIGN_OR_RETURN(std::string token, MakeToken());
  const std::string& name = request.name();
  internal::TenantRecord record;
  *record.mutable_request() = request;
  record.set_token_hash(ToHex(Sha256(token)));
  if (end != absl::InfiniteFuture()) {
    record.mutable_end()->set_seconds(absl::ToUnixSeconds(end));
    record.mutable_end()->set_nanos(static_cast<int32_t>(
        absl::ToInt64Nanoseconds(end - absl::UnixEpoch()) % 1'000'000'000));
  }
  absl::MutexLock lock(&mutex_);
  // A later tenant of the same name is another one.
  record.set_code_owner(absl::StrCat(
      "tenant ", name, " ", absl::ToUnixNanos(absl::Now()), ".", ++made_));
  HOLDFAST_RETURN_IF_ERROR(CheckGroup(request.shared_group()));
  HOLDFAST_RETURN_IF_ERROR(Add(record));
  return token;
}

Tenant::Options TenantTable::OptionsOf(
    const internal::TenantRecord& record) const {
  const v1::CreateTenantRequest& request = record.request();
  Tenant::Options options = {
      .name = request.name(),
      .kind = Tenant::Kind::kTemporary,
      .code_owner = record.code_owner(),
      .quota = request.quota(),
      .reserved_device_bytes = request.reserved_device_bytes(),
      .weight = std::max(request.weight(), uint32_t{1}),
      .devices = {request.devices().begin(), request.devices().end()},
      .stream_priorities = request.stream_priorities(),
      .foreign_exports = policy_.foreign_exports,
      .group = others_,
      .compile_group = other_compiling_};
  const auto group = policy_.temporary_groups.find(request.shared_group());
  if (group != policy_.temporary_groups.end()) {
    options.concurrency = group->second;
  }
  return options;
}

absl::Status TenantTable::Add(const internal::TenantRecord& record) {
  const v1::CreateTenantRequest& request = record.request();
  const std::string& name = request.name();
  HOLDFAST_RETURN_IF_ERROR(CheckFree(request));
  HOLDFAST_RETURN_IF_ERROR(CheckOvercommit(
      name, {request.devices().begin(), request.devices().end()},
      request.quota().device_bytes()));
  HOLDFAST_RETURN_IF_ERROR(Reserve(request));
  const auto tenant = std::make_shared<Tenant>(OptionsOf(record));
  Temporary& entry = temporary_[name];
  entry.tenant = tenant;
  entry.token_hash = record.token_hash();
  if (record.has_end()) {
    entry.end = absl::FromUnixSeconds(record.end().seconds()) +
                absl::Nanoseconds(record.end().nanos());
  }
  entry.record = record;
  entry.kept_number = ++last_kept_;
  Keep(entry);
  by_token_[entry.token_hash] = tenant;
  if (request.has_uid()) {
    entry.uid = request.uid();
    by_uid_[request.uid()] = tenant;
  }
  return absl::OkStatus();
}

void TenantTable::Keep(Temporary& entry) {
  if (store_ == nullptr) return;
  entry.kept =
      store_->KeepRecord({"tenant", {entry.kept_number}}, entry.record);
}

absl::Status TenantTable::Adopt(const internal::TenantRecord& record) {
  absl::MutexLock lock(&mutex_);
  return Add(record);
}

std::shared_ptr<Tenant> TenantTable::OfName(const std::string& name,
                                            const std::string& code_owner) {
  absl::MutexLock lock(&mutex_);
  const auto temporary = temporary_.find(name);
  if (temporary != temporary_.end()) return temporary->second.tenant;
  for (const auto& tenant : named_) {
    if (tenant->name() == name) return tenant;
  }
  return OwnNamed(name, code_owner);
}

absl::Status TenantTable::NotTemporary(absl::string_view name) const {
  for (const auto& tenant : named_) {
    if (tenant->name() != name) continue;
    return absl::NotFoundError(absl::StrCat(
        name,
        " is a tenant of the policy: remove it there and reload; this "
        "ends tenants of CreateTenant (`holdfast tenants create`)"));
  }
  return absl::NotFoundError(absl::StrCat(
      "CreateTenant (`holdfast tenants create`) has made no tenant '",
      absl::CEscape(name.substr(0, kMaxTenantName)), "', or it has ended"));
}

absl::StatusOr<std::shared_ptr<Tenant>> TenantTable::BeginEnd(
    absl::string_view name) {
  absl::MutexLock lock(&mutex_);
  const auto found = temporary_.find(name);
  if (found == temporary_.end()) return NotTemporary(name);
  Temporary& entry = found->second;
  entry.tenant->BeginEnd();
  entry.kept = DescriptorStore::Kept();
  entry.end = absl::InfiniteFuture();
  by_token_.erase(entry.token_hash);
  if (entry.uid.has_value()) by_uid_.erase(*entry.uid);
  entry.uid = std::nullopt;
  return entry.tenant;
}

void TenantTable::Forget(const Tenant& tenant) {
  absl::MutexLock lock(&mutex_);
  const auto found = temporary_.find(tenant.name());
  if (found == temporary_.end() || found->second.tenant.get() != &tenant) {
    return;
  }
  temporary_.erase(found);
  if (shares_ != nullptr) shares_->Release(tenant.name());
}

absl::Status TenantTable::Apply(const Policy& policy) {
  absl::MutexLock lock(&mutex_);
  for (const TenantPolicy& tenant : policy.tenants) {
    if (!temporary_.contains(tenant.name)) continue;
    return absl::AlreadyExistsError(
        absl::StrCat("the policy has a tenant ", tenant.name,
                     ", and so has CreateTenant made one"));
  }
  if (shares_ != nullptr) {
    HOLDFAST_RETURN_IF_ERROR(CheckDevices(policy, shares_->sizes()));
    shares_->SetPolicy(ReservationsOf(policy));
  }
  std::vector<std::shared_ptr<Tenant>> named;
  named.reserve(policy.tenants.size());
  for (const TenantPolicy& tenant : policy.tenants) {
    named.push_back(Renew(tenant));
  }
  for (const auto& tenant : named_) own_[tenant->name()] = tenant;
  named_ = std::move(named);
  policy_ = policy;
  for (const auto& [name, entry] : temporary_) {
    entry.tenant->Update(OptionsOf(entry.record));
  }
  ForgetUnused();
  return absl::OkStatus();
}

// The tenant that had this name before, with what the policy says now.
std::shared_ptr<Tenant> TenantTable::Renew(const TenantPolicy& policy) {
  const Tenant::Options options = {
      .name = policy.name,
      .kind = Tenant::Kind::kNamed,
      .code_owner = absl::StrCat("tenant ", policy.name),
      .quota = policy.quota,
      .reserved_device_bytes = policy.reserved_device_bytes,
      .weight = policy.weight,
      .devices = policy.devices,
      .kernel_time_limit = policy.kernel_time_limit,
      .stream_priorities = policy.stream_priorities,
      .concurrency = policy.concurrency,
      .collections = policy.collections,
      .foreign_exports = policy.foreign_exports};
  std::shared_ptr<Tenant> tenant;
  for (const auto& named : named_) {
    if (named->name() == policy.name) tenant = named;
  }
  const auto found = own_.find(policy.name);
  if (tenant == nullptr && found != own_.end()) tenant = found->second.lock();
  if (tenant == nullptr) return std::make_shared<Tenant>(options);
  tenant->Update(options);
  return tenant;
}

std::shared_ptr<Tenant> TenantTable::FindNamed(const Identity& identity) const {
  if (const auto* const user = std::get_if<UserIdentity>(&identity)) {
    const auto found = by_uid_.find(user->uid);
    if (found != by_uid_.end()) return found->second;
  }
  const int64_t number = policy_.tenant_of.Find(identity);
  return number < 0 ? nullptr : named_[static_cast<size_t>(number)];
}

std::shared_ptr<Tenant> TenantTable::Own(const Identity& identity) {
  const std::string name = NameOf(identity);
  return OwnNamed(name, IsAuthenticated(identity) ? name : "");
}

std::shared_ptr<Tenant> TenantTable::OwnNamed(const std::string& name,
                                              const std::string& code_owner) {
  std::weak_ptr<Tenant>& own = own_[name];
  std::shared_ptr<Tenant> tenant = own.lock();
  if (tenant != nullptr) return tenant;
  tenant = std::make_shared<Tenant>(
      Tenant::Options{.name = name,
                      .kind = Tenant::Kind::kOwn,
                      .code_owner = code_owner,
                      .foreign_exports = policy_.foreign_exports,
                      .group = others_,
                      .compile_group = other_compiling_});
  own = tenant;
  if (own_.size() >= forget_at_) ForgetUnused();
  return tenant;
}

absl::Status TenantTable::SetQuota(absl::string_view name,
                                   const v1::Quota& quota) {
  HOLDFAST_RETURN_IF_ERROR(CheckQuota(quota));
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<Tenant> tenant;
  const auto found = temporary_.find(name);
  if (found != temporary_.end()) tenant = found->second.tenant;
  for (const auto& named : named_) {
    if (named->name() == name) tenant = named;
  }
  if (tenant == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("neither the policy nor CreateTenant has a tenant '",
                     absl::CEscape(name.substr(0, kMaxTenantName)), "'"));
  }
  HOLDFAST_RETURN_IF_ERROR(
      CheckOvercommit(tenant->name(), tenant->devices(), quota.device_bytes()));
  tenant->SetQuota(quota);
  if (found != temporary_.end()) {
    *found->second.record.mutable_request()->mutable_quota() = quota;
    Keep(found->second);
  }
  return absl::OkStatus();
}

bool TenantTable::NamesOperator(const Identity& identity) const {
  absl::MutexLock lock(&mutex_);
  return policy_.operators.Find(identity) >= 0;
}

std::shared_ptr<Tenant> TenantTable::Of(const Identity& identity) {
  absl::MutexLock lock(&mutex_);
  auto named = FindNamed(identity);
  if (named != nullptr || !policy_.serves_unnamed) return named;
  return Own(identity);
}

std::shared_ptr<Tenant> TenantTable::OfOperator(const Identity& identity) {
  absl::MutexLock lock(&mutex_);
  auto named = FindNamed(identity);
  return named != nullptr ? named : Own(identity);
}

void TenantTable::ForgetUnused() {
  for (auto it = own_.begin(); it != own_.end();) {
    const auto entry = it++;
    if (entry->second.expired()) own_.erase(entry);
  }
  forget_at_ = std::max<size_t>(64, 2 * own_.size());
}

std::shared_ptr<Tenant> TenantTable::OfToken(absl::string_view token) const {
  const std::string hash = ToHex(Sha256(token));
  absl::MutexLock lock(&mutex_);
  const auto found = by_token_.find(hash);
  return found == by_token_.end() ? nullptr : found->second;
}

absl::StatusOr<std::shared_ptr<Tenant>> TenantTable::OfSignedToken(
    absl::string_view token, absl::Time now) {
  std::shared_ptr<TokenVerifier> verifier;
  {
    absl::MutexLock lock(&mutex_);
    verifier = policy_.tokens;
  }
  if (verifier == nullptr) {
    return absl::UnauthenticatedError(
        "the policy of this daemon takes no signed tokens");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const Identity identity,
                            verifier->Verify(token, now));
  auto tenant = Of(identity);
  if (tenant != nullptr) return tenant;
  return absl::PermissionDeniedError(
      absl::StrCat("this daemon's policy names no tenant for ",
                   ToPrintable(NameOf(identity))));
}

std::vector<std::shared_ptr<Tenant>> TenantTable::List() const {
  std::map<std::string, std::shared_ptr<Tenant>> by_name;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [name, entry] : temporary_) by_name[name] = entry.tenant;
    for (const auto& tenant : named_) by_name[tenant->name()] = tenant;
    for (const auto& [name, own] : own_) {
      auto tenant = own.lock();
      if (tenant != nullptr) by_name[name] = std::move(tenant);
    }
  }
  std::vector<std::shared_ptr<Tenant>> list;
  list.reserve(by_name.size());
  for (auto& [name, tenant] : by_name) list.push_back(std::move(tenant));
  return list;
}

void TenantTable::Record(internal::CountersRecord* counters) const {
  auto& tenants = *counters->mutable_tenants();
  for (const auto& tenant : List()) {
    tenants[tenant->name()] = tenant->Counters();
  }
  internal::TenantCounters& others = tenants[kOtherTenants];
  *others.mutable_executions() = others_->Record();
  other_compiling_->Record(&others);
}

void TenantTable::Add(const internal::CountersRecord& counters) {
  for (const auto& tenant : List()) {
    const auto found = counters.tenants().find(tenant->name());
    if (found != counters.tenants().end()) tenant->Add(found->second);
  }
  const auto others = counters.tenants().find(kOtherTenants);
  if (others == counters.tenants().end()) return;
  others_->Add(others->second.executions());
  other_compiling_->Add(others->second);
}

std::vector<std::string> TenantTable::Expired(absl::Time now) const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : temporary_) {
    if (entry.end <= now) names.push_back(name);
  }
  return names;
}

absl::Time TenantTable::next_end() const {
  absl::MutexLock lock(&mutex_);
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [name, entry] : temporary_) next = std::min(next, entry.end);
  return next;
}

}  // namespace holdfast
