// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_USAGE_REPORT_H_
#define HOLDFAST_CLIENT_CLI_USAGE_REPORT_H_

#include "client/cli/json_writer.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::cli {

// Members "device_bytes", "reserved_bytes" and so on, each with used and limit;
// limits that do not exist are 0.
void WriteUsage(const v1::SessionUsage& usage, JsonWriter* json);
void WriteTotals(const v1::MemoryTotals& totals, JsonWriter* json);

// A line for each kind of thing that each session holds, and the sums.
void PrintUsage(const v1::ListSessionsResponse& sessions);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_USAGE_REPORT_H_
