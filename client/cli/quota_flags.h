// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_QUOTA_FLAGS_H_
#define HOLDFAST_CLIENT_CLI_QUOTA_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/v1/admin.pb.h"

namespace holdfast::cli {

// The limits of a quota, as options of a command. 0: no limit.
struct QuotaFlags {
  uint64_t device_bytes = 0;
  uint64_t pinned_bytes = 0;
  uint64_t arena_bytes = 0;
  uint64_t collection_bytes = 0;
  uint64_t handles = 0;
  uint64_t outstanding_commands = 0;
  uint64_t sessions = 0;
  std::string compile_time;
  uint64_t compile_requests = 0;
};

// Adds the options for the limits of a session. `flags` must outlive the
// command.
void AddSessionQuota(CLI::App* command, QuotaFlags* flags);

// Adds the options for the limits of a tenant, which hold for all its sessions
// together. Some of these limits exist only for tenants.
void AddTenantQuota(CLI::App* command, QuotaFlags* flags);

// Returns the quota with these limits. INVALID_ARGUMENT: --compile-time is no
// duration.
absl::StatusOr<v1::Quota> QuotaOf(const QuotaFlags& flags);

// Sets *read to the duration in `text`, such as "90s" or "2h". Does nothing if
// `text` is empty. INVALID_ARGUMENT: `text` is no duration; the message names
// the option.
absl::Status ReadDuration(const char* option, const std::string& text,
                          google::protobuf::Duration* read);

// Adds an option for bytes, which takes "8GiB".
void AddBytes(CLI::App* command, const std::string& name, uint64_t* bytes,
              const std::string& help);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_QUOTA_FLAGS_H_
