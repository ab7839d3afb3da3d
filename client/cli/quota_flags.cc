// SPDX-License-Identifier: Apache-2.0
#include "client/cli/quota_flags.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/usage_error.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {

absl::Status ReadDuration(const char* option, const std::string& text,
                          google::protobuf::Duration* read) {
  if (text.empty()) return absl::OkStatus();
  absl::Duration time;
  if (!absl::ParseDuration(text, &time)) {
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat(option, ": ", text, " is no duration; write 90s or 2h")));
  }
  read->set_seconds(absl::IDivDuration(time, absl::Seconds(1), &time));
  read->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(time)));
  return absl::OkStatus();
}

void AddBytes(CLI::App* command, const std::string& name, uint64_t* bytes,
              const std::string& help) {
  command->add_option(name, *bytes, help)
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES");
}

void AddSessionQuota(CLI::App* command, QuotaFlags* flags) {
  AddBytes(command, "--memory", &flags->device_bytes,
           "Device memory in buffers, e.g. 8GiB");
  AddBytes(command, "--pinned-memory", &flags->pinned_bytes,
           "Page-locked buffers");
  AddBytes(command, "--arena-memory", &flags->arena_bytes,
           "Memory shared with clients");
  command->add_option("--handles", flags->handles, "Handles of each kind");
  command->add_option("--outstanding-commands", flags->outstanding_commands,
                      "Commands that are accepted and not yet carried out; "
                      "further commands wait");
}

void AddTenantQuota(CLI::App* command, QuotaFlags* flags) {
  AddSessionQuota(command, flags);
  AddBytes(command, "--collection-memory", &flags->collection_bytes,
           "Device memory of the tenant's collections; default: --memory plus "
           "64 MiB");
  command->add_option("--sessions", flags->sessions, "Sessions at once");
  command
      ->add_option("--compile-time", flags->compile_time,
                   "The compilers' time within any hour, e.g. 10m")
      ->type_name("DURATION");
  command->add_option("--compile-requests", flags->compile_requests,
                      "Compilations at once, waiting or running");
}

absl::StatusOr<v1::Quota> QuotaOf(const QuotaFlags& flags) {
  v1::Quota quota;
  quota.set_device_bytes(flags.device_bytes);
  quota.set_pinned_bytes(flags.pinned_bytes);
  quota.set_arena_bytes(flags.arena_bytes);
  quota.set_collection_bytes(flags.collection_bytes);
  quota.set_handles(flags.handles);
  quota.set_outstanding_commands(flags.outstanding_commands);
  quota.set_sessions(flags.sessions);
  quota.set_compile_requests(flags.compile_requests);
  if (flags.compile_time.empty()) return quota;
  HOLDFAST_RETURN_IF_ERROR(ReadDuration("--compile-time", flags.compile_time,
                                        quota.mutable_compile_time()));
  return quota;
}

}  // namespace holdfast::cli
