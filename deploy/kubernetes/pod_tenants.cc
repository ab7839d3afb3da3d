// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/pod_tenants.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "deploy/kubernetes/resource.h"

namespace holdfast::kubernetes {
namespace {

constexpr absl::string_view kPrefix = "pod-";
constexpr absl::Duration kTimeToAppear = absl::Minutes(1);

absl::Status StatusOf(const node::Answer& answer) {
  switch (answer.kind) {
    case node::Answer::Kind::kDone:
      return absl::OkStatus();
    case node::Answer::Kind::kRefused:
      return absl::FailedPreconditionError(answer.text);
    case node::Answer::Kind::kBroken:
      return absl::UnavailableError(answer.text);
  }
  return absl::InternalError("an answer of no kind");
}

bool HaveOneInCommon(const std::set<PodDevice>& a,
                     const std::set<PodDevice>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const PodDevice& device) {
    return b.count(device) > 0;
  });
}

// "session-3" is of "holdfast.dev/session".
std::string ResourceOfDevice(absl::string_view device) {
  return absl::StrCat(kDomain, device.substr(0, device.rfind('-')));
}

}  // namespace

absl::Status PodTenants::Adopt() {
  absl::MutexLock lock(&mutex_);
  const node::Answer names = daemon_.NamesOfTenants(std::string(kPrefix));
  if (!names.done()) return StatusOf(names);
  for (const absl::string_view name :
       absl::StrSplit(names.text, '\n', absl::SkipEmpty())) {
    const std::string device(name.substr(kPrefix.size()));
    tenants_[std::string(name)] = {
        .devices = {{ResourceOfDevice(device), device}},
        .created = absl::Now()};
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> PodTenants::Create(
    const std::string& resource, const std::vector<std::string>& devices,
    const node::TenantOptions& options) {
  if (devices.empty()) {
    return absl::InvalidArgumentError("a container asks for no device");
  }
  std::set<PodDevice> given;
  for (const std::string& device : devices) given.insert({resource, device});
  absl::MutexLock lock(&mutex_);
  for (const std::string& name : Having(given)) {
    if (!End(name)) {
      return absl::UnavailableError(
          absl::StrCat("the devices of tenant ", name,
                       ", whose pod has ended, could not be freed"));
    }
  }
  const std::string name = absl::StrCat(kPrefix, given.begin()->second);
  const node::Answer answer = daemon_.CreateTenant(name, options);
  // A daemon that does not answer may have made the tenant.
  if (answer.kind != node::Answer::Kind::kRefused) {
    tenants_[name] = {.devices = std::move(given), .created = absl::Now()};
  }
  if (!answer.done()) return StatusOf(answer);
  return answer.text;
}

std::vector<std::string> PodTenants::Having(
    const std::set<PodDevice>& devices) const {
  std::vector<std::string> names;
  for (const auto& [name, tenant] : tenants_) {
    if (HaveOneInCommon(tenant.devices, devices)) names.push_back(name);
  }
  return names;
}

void PodTenants::EndAllBut(const std::set<PodDevice>& in_use, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> ended;
  for (auto& [name, tenant] : tenants_) {
    if (HaveOneInCommon(tenant.devices, in_use)) {
      tenant.seen = true;
    } else if (tenant.seen || now > tenant.created + kTimeToAppear) {
      ended.push_back(name);
    }
  }
  for (const std::string& name : ended) End(name);
}

bool PodTenants::End(const std::string& name) {
  const node::Answer answer = daemon_.EndTenant(name, "the pod has ended");
  if (!answer.done()) {
    LogWarning("tenant ", name, " was not ended: ", answer.text);
    return false;
  }
  LogInfo("tenant ", name, " ended");
  tenants_.erase(name);
  return true;
}

size_t PodTenants::size() const {
  absl::MutexLock lock(&mutex_);
  return tenants_.size();
}

}  // namespace holdfast::kubernetes
