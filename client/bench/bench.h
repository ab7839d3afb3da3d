// SPDX-License-Identifier: Apache-2.0
//
// `holdfast bench`: compares the times and rates of Holdfast with those of the
// driver alone and of gRPC alone, all measured in one run.
#ifndef HOLDFAST_CLIENT_BENCH_BENCH_H_
#define HOLDFAST_CLIENT_BENCH_BENCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/bench/figure.h"
#include "client/bench/native_figures.h"
#include "client/bench/report.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/session.h"

namespace holdfast::bench {

struct BenchOptions {
  std::string address;  // of the daemon; empty: the default
  // Addresses of a daemon on this machine, for the group of the network.
  std::string tcp_address;
  std::string tls_address;
  // The number of calls at once in the network group, which is measured beside
  // a single call; 0: as many as the library makes.
  uint32_t transfer_calls = 0;
  // Names of groups; empty: all.
  std::vector<std::string> only;
  // Takes fewer samples and makes small copies.
  bool quick = false;
};

// Runs the groups and reports the progress on stderr.
absl::StatusOr<Report> Run(const BenchOptions& options);

// Returns one line for each group, such as
// "session: open a session and what it costs".
std::string DescribeGroups();

// The state that the groups share. Used by one thread.
class Bench {
 public:
  static absl::StatusOr<std::unique_ptr<Bench>> Create(BenchOptions options);

  const BenchOptions& options() const { return options_; }
  bool quick() const { return options_.quick; }
  const std::shared_ptr<Daemon>& daemon() const { return daemon_; }
  absl::StatusOr<std::unique_ptr<Session>> OpenSession() const;

  // The session that the groups share, opened on first use, and a stream of it.
  absl::StatusOr<Session*> session();

  // The driver's own figures of one group, measured on first use. Empty if this
  // machine has no such driver.
  const NativeFigures& Native(const std::string& group);
  // One of these figures as a baseline.
  std::optional<Baseline> NativeBaseline(const std::string& group,
                                         const std::string& name);

  // The round trip over a bare gRPC stream, measured on first use. The server
  // ends after the measurement, so that its threads do not disturb others.
  absl::StatusOr<Summary> PingPong();

  void Add(Figure figure);
  Report& report() { return report_; }

 private:
  explicit Bench(BenchOptions options) : options_(std::move(options)) {}

  const BenchOptions options_;
  std::shared_ptr<Daemon> daemon_;
  std::unique_ptr<Session> session_;
  std::string native_device_;  // "cuda" or "cpu"
  std::string native_path_;
  std::map<std::string, NativeFigures> native_;
  std::optional<Summary> ping_pong_;
  Report report_;
};

// The groups.
absl::Status MeasureSessions(Bench& bench);
absl::Status MeasureCommands(Bench& bench);
absl::Status MeasureLaunches(Bench& bench);
absl::Status MeasureGraphs(Bench& bench);
absl::Status MeasureCopies(Bench& bench);
absl::Status MeasureDevices(Bench& bench);
absl::Status MeasureNetwork(Bench& bench);
absl::Status MeasureRemote(Bench& bench);
absl::Status MeasureTrace(Bench& bench);
absl::Status MeasureMemory(Bench& bench);
absl::Status MeasureEvents(Bench& bench);
absl::Status MeasureSharing(Bench& bench);
absl::Status MeasureCompiling(Bench& bench);
absl::Status MeasureRecovery(Bench& bench);
absl::Status MeasureIdle(Bench& bench);
absl::Status MeasureApplication(Bench& bench);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_BENCH_H_
