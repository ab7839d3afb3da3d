// SPDX-License-Identifier: Apache-2.0
//
// The processor time that a daemon takes while its clients do nothing.
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/bench/bench.h"
#include "client/bench/process_time.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::bench {
namespace {

constexpr int kSessions = 10;

// CPU time so far, in milliseconds.
struct Usage {
  double daemon = 0;
  double executors = 0;  // in sum
};

absl::StatusOr<Usage> UsageOf(const std::set<pid_t>& executors) {
  Usage usage;
  for (const pid_t pid : executors) {
    HOLDFAST_ASSIGN_OR_RETURN(const ProcessTime executor, ReadProcessTime(pid));
    HOLDFAST_ASSIGN_OR_RETURN(const pid_t parent, DaemonOf(pid));
    HOLDFAST_ASSIGN_OR_RETURN(const ProcessTime daemon,
                              ReadProcessTime(parent));
    usage.executors += executor.cpu_milliseconds;
    usage.daemon = daemon.cpu_milliseconds;
  }
  return usage;
}

absl::StatusOr<std::set<pid_t>> ExecutorsOf(
    Bench& bench, const std::vector<std::unique_ptr<Session>>& sessions) {
  std::set<std::string> ids;
  for (const auto& session : sessions) ids.insert(session->id());
  HOLDFAST_ASSIGN_OR_RETURN(const auto all, bench.daemon()->Sessions());
  std::set<pid_t> executors;
  for (const v1::SessionInfo& info : all) {
    if (ids.count(info.session_id()) == 0) continue;
    executors.insert(static_cast<pid_t>(info.executor_pid()));
  }
  return executors;
}

Figure MinuteOf(const std::string& whose, double milliseconds,
                absl::Duration measured) {
  const double minute =
      milliseconds * absl::FDivDuration(absl::Minutes(1), measured);
  return Figure{.group = "idle",
                .name = absl::StrCat("CPU time of ", whose, " in a minute, ",
                                     kSessions, " idle sessions"),
                .unit = "ms",
                .value = Summary::Of({minute}, Better::kLess)};
}

}  // namespace

absl::Status MeasureIdle(Bench& bench) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < kSessions; ++i) {
    HOLDFAST_ASSIGN_OR_RETURN(auto session, bench.OpenSession());
    HOLDFAST_ASSIGN_OR_RETURN(const auto stream,
                              session->device(0).CreateStream());
    HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
    sessions.push_back(std::move(session));
  }
  // The daemon makes its next executors ready meanwhile, and whoever looks
  // before it sleeps goes to sleep.
  absl::SleepFor(absl::Seconds(10));
  HOLDFAST_ASSIGN_OR_RETURN(const auto executors, ExecutorsOf(bench, sessions));
  const auto before = UsageOf(executors);
  if (!before.ok()) {
    std::fprintf(stderr, "idle: not measured: %s\n",
                 std::string(before.status().message()).c_str());
    return absl::OkStatus();
  }
  const absl::Time begin = absl::Now();
  absl::SleepFor(bench.quick() ? absl::Seconds(10) : absl::Minutes(1));
  HOLDFAST_ASSIGN_OR_RETURN(const Usage after, UsageOf(executors));
  const absl::Duration measured = absl::Now() - begin;
  bench.Add(MinuteOf("the daemon", after.daemon - before->daemon, measured));
  bench.Add(
      MinuteOf("all executors", after.executors - before->executors, measured));
  return absl::OkStatus();
}

}  // namespace holdfast::bench
