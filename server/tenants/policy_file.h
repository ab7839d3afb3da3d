// SPDX-License-Identifier: Apache-2.0
//
// The policy file, in TOML. An unknown key is an error.
//
//   unnamed = "refuse"               # or "serve": each is its own tenant
//   overcommit = false               # quotas of device memory fit the devices
//   foreign-exports = false          # for tenants that do not set it
//
//   [operators]
//   users = ["alice", 1000]          # names or numbers
//   groups = ["gpu-admins"]
//   certificates = ["CN=ops,O=Example"]  # subject, common or alternative name
//
//   [tokens]                         # accepts signed tokens (JWT)
//   keys = ["issuer.pem"]            # PEM or JWKS; relative to this file
//   issuer = "https://id.example"
//   audience = "holdfast"
//   leeway = 30                      # seconds
//   groups-claim = "groups"
//
//   [groups.inference]               # tenants that share an MPS server
//   concurrency = "shared"           # or "separate"
//   pipe-directory = "/run/mps"      # of an MPS server that already runs
//   temporary-tenants = true         # tenants of CreateTenant may join it
//   thread-percentage = 50           # for tenants that do not set their own
//
//   [tenants.team-a]
//   groups = ["team-a"]              # users and certificates, too
//   subjects = ["ci@example"]        # of signed tokens
//   token-groups = ["ml"]
//   group = "inference"              # see [groups.inference]
//   weight = 3
//   stream-priorities = "normal"     # or "low", "high"
//   kernel-time-limit = "2s"         # a kernel that runs longer is a fault
//   devices = [0, 1]
//   reserved-memory = "4GiB"         # of each device; no other tenant gets it
//   collections = ["team-b"]         # or "private" (default), "everybody"
//   foreign-exports = true           # processes outside map its memory
//
//   [tenants.team-a.quota]
//   device-memory = "8GiB"           # pinned-memory, arena-memory,
//   sessions = 4                     # collection-memory, handles,
//                                    # outstanding-commands,
//                                    # compile-requests
//   compile-seconds = 600            # of compilers' time, in any hour
#ifndef HOLDFAST_SERVER_TENANTS_POLICY_FILE_H_
#define HOLDFAST_SERVER_TENANTS_POLICY_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/tenants/policy.h"

namespace holdfast {

inline constexpr size_t kMaxPolicyBytes = size_t{1} << 20;
inline constexpr size_t kMaxPolicyTenants = 4096;
inline constexpr size_t kMaxPolicyGroups = 64;
inline constexpr size_t kMaxTokenKeys = 16;

// Parses a policy, and reads the files of keys that it names. INVALID_ARGUMENT:
// "FILE:LINE:COLUMN: " and the mistake.
absl::StatusOr<Policy> ParsePolicy(absl::string_view text,
                                   const std::string& file);

// Reads a file and parses it as ParsePolicy does. Other errors: the file cannot
// be read.
absl::StatusOr<Policy> ReadPolicy(const std::string& file);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_POLICY_FILE_H_
