// SPDX-License-Identifier: Apache-2.0
#include "server/services/tenant_admin.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// The wait for devices that memory is to be reserved of.
constexpr absl::Duration kDevicesTime = absl::Seconds(30);

// The ends of tenants are times of the wall clock, which may be set.
constexpr absl::Duration kLookAgain = absl::Minutes(1);

// Sessions of one tenant, together.
struct Held {
  uint32_t sessions = 0;
  uint64_t device_bytes = 0;
};

}  // namespace

TenantAdmin::TenantAdmin(TenantTable& tenants,
                         supervisor::SessionRegistry& sessions,
                         collections::CollectionTable& collections)
    : tenants_(tenants), sessions_(sessions), collections_(collections) {
  expiry_ = std::thread([this] { EndExpired(); });
}

TenantAdmin::~TenantAdmin() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  expiry_.join();
}

absl::StatusOr<std::string> TenantAdmin::Create(
    const v1::CreateTenantRequest& request) {
  if (request.reserved_device_bytes() > 0) {
    tenants_.AwaitDevices(absl::Now() + kDevicesTime);
  }
  HOLDFAST_ASSIGN_OR_RETURN(std::string token, tenants_.Create(request));
  LogInfo("tenant ", request.name(), " created");
  absl::MutexLock lock(&mutex_);
  changed_ = true;
  return token;
}

absl::StatusOr<v1::TenantInfo> TenantAdmin::End(const std::string& name,
                                                const std::string& reason) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::shared_ptr<Tenant> tenant,
                            tenants_.BeginEnd(name));
  sessions_.CloseAllOf(
      *tenant,
      reason.empty() ? absl::StrCat("tenant ", name, " has ended") : reason);
  collections_.DeleteAllOf(name);
  tenants_.Forget(*tenant);
  LogInfo("tenant ", name, " ended", reason.empty() ? "" : ": ", reason);
  return tenant->Info();
}

v1::ListTenantsResponse TenantAdmin::List(const Caller& caller) const {
  std::map<std::string, Held> held;
  for (const auto& session : sessions_.List()) {
    if (!caller.is_operator() && session->client() != caller.client()) continue;
    Held& of_tenant = held[session->client()];
    ++of_tenant.sessions;
    of_tenant.device_bytes += session->Info().memory_bytes();
  }
  const std::map<std::string, uint64_t> collections =
      collections_.BytesByClient();
  v1::ListTenantsResponse response;
  for (const auto& tenant : tenants_.List()) {
    const bool own = tenant == caller.tenant;
    if (!own && !caller.is_operator()) continue;
    v1::TenantInfo& info = *response.add_tenants();
    info = tenant->Info();
    const Held& of_tenant = held[tenant->name()];
    info.set_sessions(of_tenant.sessions);
    if (!tenant->counts_buffers()) {
      info.set_device_bytes(of_tenant.device_bytes);
    }
    const auto bytes = collections.find(tenant->name());
    info.set_collection_bytes(bytes == collections.end() ? 0 : bytes->second);
  }
  return response;
}

void TenantAdmin::EndExpired() {
  while (true) {
    for (const std::string& name : tenants_.Expired(absl::Now())) {
      // NOT_FOUND: somebody else has ended it.
      End(name, "its lifetime is over").status().IgnoreError();
    }
    absl::MutexLock lock(&mutex_);
    const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || changed_;
    };
    const absl::Time end = tenants_.next_end();
    mutex_.AwaitWithDeadline(absl::Condition(&due),
                             end == absl::InfiniteFuture()
                                 ? end
                                 : std::min(end, absl::Now() + kLookAgain));
    changed_ = false;
    if (stopping_) return;
  }
}

}  // namespace holdfast
