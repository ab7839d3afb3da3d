// SPDX-License-Identifier: Apache-2.0
#include "client/cli/tenants_command.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/each_daemon.h"
#include "client/cli/json_writer.h"
#include "client/cli/quota_flags.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/tenants/tenants.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

// The options of a new tenant.
struct NewTenant {
  v1::CreateTenantRequest request;
  std::string name;
  QuotaFlags quota;
  uint64_t reserved_bytes = 0;
  uint32_t weight = 1;
  std::string stream_priorities;
  std::string group;
  std::vector<uint32_t> devices;
  int64_t uid = -1;
  std::string lifetime;
};

double SecondsOf(const google::protobuf::Duration& time) {
  return static_cast<double>(time.seconds()) + time.nanos() * 1e-9;
}

double GpuSeconds(const v1::TenantInfo& tenant) {
  return SecondsOf(tenant.gpu_time());
}

// "high"; "" for all of the range.
std::string PrioritiesOf(const v1::TenantInfo& tenant) {
  if (tenant.stream_priorities() == v1::STREAM_PRIORITY_CLASS_UNSPECIFIED) {
    return "";
  }
  const std::string name =
      v1::StreamPriorityClass_Name(tenant.stream_priorities());
  return absl::AsciiStrToLower(
      absl::StripPrefix(name, "STREAM_PRIORITY_CLASS_"));
}

void WriteTenant(const v1::TenantInfo& tenant, JsonWriter* json) {
  const v1::Quota& quota = tenant.quota();
  json->BeginObject()
      .Member("name", tenant.name())
      .Member("temporary", tenant.temporary())
      .Member("weight", tenant.weight())
      .Member("sessions", tenant.sessions())
      .Member("device_bytes", tenant.device_bytes())
      .Member("peak_device_bytes", tenant.peak_device_bytes())
      .Member("pinned_bytes", tenant.pinned_bytes())
      .Member("arena_bytes", tenant.arena_bytes())
      .Member("collection_bytes", tenant.collection_bytes())
      .Member("gpu_seconds", GpuSeconds(tenant))
      .Member("reserved_device_bytes", tenant.reserved_device_bytes())
      .Member("compile_seconds_of_last_hour", SecondsOf(tenant.compile_time()))
      .Member("launches", tenant.launches())
      .Member("faults", tenant.faults())
      .Member("recoveries", tenant.recoveries())
      .Member("stream_priorities", PrioritiesOf(tenant))
      .Member("shared_group", tenant.shared_group())
      .BeginObject("quota")
      .Member("sessions", quota.sessions())
      .Member("device_bytes", quota.device_bytes())
      .Member("pinned_bytes", quota.pinned_bytes())
      .Member("arena_bytes", quota.arena_bytes())
      .Member("collection_bytes", quota.collection_bytes())
      .Member("handles", quota.handles())
      .Member("outstanding_commands", quota.outstanding_commands())
      .Member("compile_seconds_per_hour", SecondsOf(quota.compile_time()))
      .Member("compile_requests", quota.compile_requests())
      .EndObject()
      .EndObject();
}

// "3 of 4", "3".
std::string OfLimit(const std::string& used, uint64_t limit,
                    const std::string& text) {
  return limit == 0 ? used : absl::StrCat(used, " of ", text);
}

std::string BytesOf(uint64_t used, uint64_t limit) {
  return OfLimit(HumanBytes(used), limit, HumanBytes(limit));
}

// "12.3 of 600 s", of the last hour.
std::string CompilingOf(const v1::TenantInfo& tenant) {
  const double limit = SecondsOf(tenant.quota().compile_time());
  const std::string used =
      absl::StrFormat("%.1f", SecondsOf(tenant.compile_time()));
  return limit == 0 ? used + " s" : absl::StrFormat("%s of %g s", used, limit);
}

std::string ReservedOf(const v1::TenantInfo& tenant) {
  const uint64_t bytes = tenant.reserved_device_bytes();
  return bytes == 0 ? "" : HumanBytes(bytes);
}

void PrintTenant(const v1::TenantInfo& tenant) {
  const v1::Quota& quota = tenant.quota();
  std::printf(
      "%-24s %-9s %6u %-9s %10.1f s %12" PRIu64
      " %-24s %-10s %-24s %-24s %-24s %s\n",
      ToPrintable(tenant.name()).c_str(), tenant.temporary() ? "temporary" : "",
      tenant.weight(),
      OfLimit(absl::StrCat(tenant.sessions()), quota.sessions(),
              absl::StrCat(quota.sessions()))
          .c_str(),
      GpuSeconds(tenant), tenant.launches(),
      BytesOf(tenant.device_bytes(), quota.device_bytes()).c_str(),
      ReservedOf(tenant).c_str(),
      BytesOf(tenant.pinned_bytes(), quota.pinned_bytes()).c_str(),
      BytesOf(tenant.arena_bytes(), quota.arena_bytes()).c_str(),
      BytesOf(tenant.collection_bytes(), quota.collection_bytes()).c_str(),
      CompilingOf(tenant).c_str());
}

absl::StatusOr<std::unique_ptr<Tenants>> ConnectTenants(
    const CommonOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  return std::make_unique<Tenants>(std::move(daemon));
}

absl::Status List(const std::shared_ptr<Daemon>& daemon, JsonWriter* json) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto list, Tenants(daemon).List());
  if (json != nullptr) {
    json->BeginArray("tenants");
    for (const auto& tenant : list.tenants()) WriteTenant(tenant, json);
    json->EndArray();
    return absl::OkStatus();
  }
  PrintTitle(absl::StrFormat(
      "%-24s %-9s %6s %-9s %12s %12s %-24s %-10s %-24s %-24s %-24s %s",
      "TENANT", "KIND", "WEIGHT", "SESSIONS", "GPU TIME", "LAUNCHES", "DEVICE",
      "RESERVED", "PINNED", "ARENAS", "COLLECTIONS", "COMPILING/H"));
  for (const auto& tenant : list.tenants()) PrintTenant(tenant);
  return absl::OkStatus();
}

v1::StreamPriorityClass ClassOf(absl::string_view name) {
  if (name == "low") return v1::STREAM_PRIORITY_CLASS_LOW;
  if (name == "normal") return v1::STREAM_PRIORITY_CLASS_NORMAL;
  if (name == "high") return v1::STREAM_PRIORITY_CLASS_HIGH;
  return v1::STREAM_PRIORITY_CLASS_UNSPECIFIED;
}

absl::StatusOr<v1::CreateTenantRequest> RequestOf(const NewTenant& tenant) {
  v1::CreateTenantRequest request;
  request.set_name(tenant.name);
  HOLDFAST_ASSIGN_OR_RETURN(*request.mutable_quota(), QuotaOf(tenant.quota));
  request.set_stream_priorities(ClassOf(tenant.stream_priorities));
  request.set_shared_group(tenant.group);
  request.set_reserved_device_bytes(tenant.reserved_bytes);
  request.set_weight(tenant.weight);
  request.mutable_devices()->Add(tenant.devices.begin(), tenant.devices.end());
  if (tenant.uid >= 0) request.set_uid(static_cast<uint32_t>(tenant.uid));
  if (tenant.lifetime.empty()) return request;
  HOLDFAST_RETURN_IF_ERROR(
      ReadDuration("--lifetime", tenant.lifetime, request.mutable_lifetime()));
  return request;
}

absl::Status Create(const CommonOptions& options, const NewTenant& tenant) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto request, RequestOf(tenant));
  HOLDFAST_ASSIGN_OR_RETURN(const auto tenants, ConnectTenants(options));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string token, tenants->Create(request));
  if (!options.json) {
    std::puts(token.c_str());
    return absl::OkStatus();
  }
  JsonWriter json;
  json.BeginObject()
      .Member("name", tenant.name)
      .Member("token", token)
      .EndObject();
  std::puts(json.text().c_str());
  return absl::OkStatus();
}

absl::Status End(const CommonOptions& options, const std::string& name,
                 const std::string& reason) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto tenants, ConnectTenants(options));
  HOLDFAST_ASSIGN_OR_RETURN(const auto tenant, tenants->End(name, reason));
  if (options.json) {
    JsonWriter json;
    WriteTenant(tenant, &json);
    std::puts(json.text().c_str());
    return absl::OkStatus();
  }
  std::printf(
      "%s ended; it had %s of device memory at most, and %.1f s of GPU time\n",
      ToPrintable(tenant.name()).c_str(),
      HumanBytes(tenant.peak_device_bytes()).c_str(), GpuSeconds(tenant));
  return absl::OkStatus();
}

void AddCreate(CLI::App* tenants, CommonOptions* options,
               absl::Status* status) {
  const auto tenant = std::make_shared<NewTenant>();
  CLI::App* command = AddCommand(
      tenants, options, "create",
      "Create a tenant for a job, and print its token, which clients take from "
      "HOLDFAST_TOKEN",
      [options, tenant] { return Create(*options, *tenant); }, status);
  command->add_option("NAME", tenant->name, "Letters, digits and ._-")
      ->required();
  AddTenantQuota(command, &tenant->quota);
  AddBytes(
      command, "--reserve", &tenant->reserved_bytes,
      "Memory of each of the tenant's devices that no other tenant can take");
  command
      ->add_option(
          "--weight", tenant->weight,
          "The tenant's share of a busy device, relative to other weights")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--stream-priorities", tenant->stream_priorities,
                   "The part of the devices' range of priorities for the "
                   "tenant's streams; default: all")
      ->check(CLI::IsMember({"low", "normal", "high"}))
      ->type_name("CLASS");
  command
      ->add_option("--group", tenant->group,
                   "A group of the policy that takes jobs; the tenants of a "
                   "group share an MPS server of each device; default: none")
      ->type_name("NAME");
  command
      ->add_option("--devices", tenant->devices,
                   "The ordinals of the tenant's devices; default: all")
      ->delimiter(',');
  command
      ->add_option(
          "--uid", tenant->uid,
          "The user whose connections on Unix sockets belong to this tenant")
      ->check(CLI::Range(int64_t{0}, int64_t{UINT32_MAX} - 1));
  command
      ->add_option("--lifetime", tenant->lifetime,
                   "The time after which the tenant ends by itself, e.g. 2h; "
                   "default: never")
      ->type_name("DURATION");
}

void AddQuota(CLI::App* tenants, CommonOptions* options, absl::Status* status) {
  const auto name = std::make_shared<std::string>();
  const auto flags = std::make_shared<QuotaFlags>();
  CLI::App* command = AddCommand(
      tenants, options, "quota",
      "Replace a tenant's quota, until the policy is loaded again; a flag that "
      "is not given sets no limit",
      [options, name, flags]() -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(const v1::Quota quota, QuotaOf(*flags));
        HOLDFAST_ASSIGN_OR_RETURN(const auto tenants, ConnectTenants(*options));
        HOLDFAST_RETURN_IF_ERROR(tenants->SetQuota(*name, quota));
        ReportDone(*options,
                   [&](JsonWriter& json) { json.Member("name", *name); });
        return absl::OkStatus();
      },
      status);
  command
      ->add_option(
          "NAME", *name,
          "The tenant's name in the policy or in `holdfast tenants create`")
      ->required();
  AddTenantQuota(command, flags.get());
}

}  // namespace

void AddTenantsCommand(CLI::App* app, CommonOptions* options,
                       absl::Status* status) {
  CLI::App* tenants = AddGroup(app, options, "tenants",
                               "List tenants; for operators: create and end "
                               "tenants, and replace quotas");
  AddLook(
      tenants, options, "ls",
      "List tenants with their use and quotas; an operator sees all tenants",
      List, status);
  AddCreate(tenants, options, status);
  AddQuota(tenants, options, status);
  const auto name = std::make_shared<std::string>();
  const auto reason = std::make_shared<std::string>();
  CLI::App* end = AddCommand(
      tenants, options, "end",
      "End a tenant of `holdfast tenants create`: its sessions, its "
      "collections and its token; one of the policy ends with its lines there",
      [options, name, reason] { return End(*options, *name, *reason); },
      status);
  end->add_option("NAME", *name,
                  "The tenant's name in `holdfast tenants create`")
      ->required();
  end->add_option("--reason", *reason,
                  "The reason, which the tenant's clients are shown");
}

}  // namespace holdfast::cli
