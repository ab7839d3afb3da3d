// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_RESOURCE_USAGE_H_
#define HOLDFAST_CLIENT_CLI_RESOURCE_USAGE_H_

#include "client/cli/json_writer.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::cli {

// Adds the members "device_bytes", "reserved_bytes" and so on. Each member has
// the used amount and the limit; 0: there is no limit.
void WriteUsage(const v1::SessionUsage& usage, JsonWriter* json);
void WriteTotals(const v1::MemoryTotals& totals, JsonWriter* json);

// Prints a line for each kind of resource of each session, and then the sums
// over all sessions.
void PrintUsage(const v1::ListSessionsResponse& sessions);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_RESOURCE_USAGE_H_
