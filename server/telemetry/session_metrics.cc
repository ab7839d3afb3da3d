// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/session_metrics.h"

#include <cstdint>
#include <map>
#include <string>

#include "holdfast/v1/common.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/telemetry/metric_values.h"

namespace holdfast {
namespace {

// The holdings of all sessions, summed.
struct Holdings {
  void Add(const v1::SessionInfo& info) {
    ++states[info.state()];
    const v1::SessionUsage& usage = info.usage();
    bytes["device"] += usage.device_bytes().used();
    bytes["reserved"] += usage.reserved_bytes().used();
    bytes["pinned"] += usage.pinned_bytes().used();
    bytes["arena"] += usage.arena_bytes().used();
    bytes["staging"] += usage.staging_bytes().used();
    bytes["imported"] += usage.imported_bytes();
    outstanding += usage.outstanding_commands().used();
    exports += usage.exports().used();
    imports += usage.imports().used();
    semaphore_waits += static_cast<uint64_t>(usage.waits_size());
    for (const v1::HandleUsage& kind : usage.handles()) {
      handles[kind.kind()] += kind.handles().used();
    }
  }

  std::map<int, uint64_t> states;
  std::map<std::string, uint64_t> bytes = {{"device", 0},  {"reserved", 0},
                                           {"pinned", 0},  {"arena", 0},
                                           {"staging", 0}, {"imported", 0}};
  std::map<int, uint64_t> handles;
  uint64_t outstanding = 0;
  uint64_t exports = 0;
  uint64_t imports = 0;
  uint64_t semaphore_waits = 0;
};

void CollectStates(const Holdings& held, MetricFamilies* families) {
  MetricFamily& sessions =
      families->AddGauge("holdfast_sessions", "Sessions, by state.");
  for (int state = v1::SessionInfo::STATE_ACTIVE;
       state < v1::SessionInfo::State_ARRAYSIZE; ++state) {
    const auto name = v1::SessionInfo::State_Name(state);
    const auto found = held.states.find(state);
    sessions.Add(found == held.states.end() ? 0 : Number(found->second),
                 {{"state", Label(name, "STATE_")}});
  }
}

void CollectHoldings(const Holdings& held, MetricFamilies* families) {
  MetricFamily& bytes = families->AddGauge(
      "holdfast_session_memory_bytes",
      "Memory that all sessions hold, by kind: device as asked for, reserved "
      "as taken from the devices, pinned, arena and staging of the host, "
      "imported from other sessions.");
  for (const auto& [kind, held_bytes] : held.bytes) {
    bytes.Add(Number(held_bytes), {{"kind", kind}});
  }
  MetricFamily& handles = families->AddGauge(
      "holdfast_session_handles", "Handles of all sessions, by kind.");
  for (int kind = v1::HANDLE_KIND_STREAM; kind < v1::HandleKind_ARRAYSIZE;
       ++kind) {
    const auto name = v1::HandleKind_Name(kind);
    const auto found = held.handles.find(kind);
    handles.Add(found == held.handles.end() ? 0 : Number(found->second),
                {{"kind", Label(name, "HANDLE_KIND_")}});
  }
  families
      ->AddGauge("holdfast_commands_outstanding",
                 "Commands that were accepted and not carried out yet.")
      .Add(Number(held.outstanding));
  families
      ->AddGauge("holdfast_exports",
                 "Tokens of shared resources that can be redeemed.")
      .Add(Number(held.exports));
  families
      ->AddGauge("holdfast_imports",
                 "Resources of other sessions that sessions use.")
      .Add(Number(held.imports));
  families
      ->AddGauge("holdfast_semaphore_waits",
                 "Streams that wait for a semaphore, at most 64 a session.")
      .Add(Number(held.semaphore_waits));
}

}  // namespace

void CollectSessionMetrics(const MetricSources& sources,
                           MetricFamilies* families) {
  Holdings held;
  for (const auto& session : sources.sessions.List()) {
    held.Add(session->Info());
  }
  CollectStates(held, families);
  families
      ->AddGauge("holdfast_sessions_limit",
                 "Sessions that may be open at once.")
      .Add(Number(sources.sessions.max_sessions()));
  CollectHoldings(held, families);
}

}  // namespace holdfast
