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
  std::string address;  // of the daemon; empty: the default address
  // Addresses of a daemon on this machine, for the measurements over a network;
  // empty: these measurements are left out.
  std::string tcp_address;
  std::string tls_address;
  // The number of parallel calls that the network group measures beside a
  // single call; 0: the number that the library chooses.
  uint32_t transfer_calls = 0;
  // Names of groups; empty: all.
  std::vector<std::string> only;
  // Takes fewer samples and makes small copies.
  bool quick = false;
};

// Runs the groups and reports the progress on stderr.
absl::StatusOr<Report> Run(const BenchOptions& options);

// Returns one line for each group: its name and what it measures.
std::string DescribeGroups();

// The state that the groups of measurements share. Used by one thread.
class Bench {
 public:
  static absl::StatusOr<std::unique_ptr<Bench>> Create(BenchOptions options);

  const BenchOptions& options() const { return options_; }
  bool quick() const { return options_.quick; }
  const std::shared_ptr<Daemon>& daemon() const { return daemon_; }
  absl::StatusOr<std::unique_ptr<Session>> OpenSession() const;

  // Returns the session that the groups share. The first call opens it.
  absl::StatusOr<Session*> session();

  // Returns the driver's own figures of one group. The first call for a group
  // measures them. If that fails, for instance because this machine does not
  // have the daemon's driver, prints the reason to stderr and returns no
  // figures.
  const NativeFigures& Native(const std::string& group);
  // Returns one figure of Native() as a baseline; nullopt: there is no such
  // figure.
  std::optional<Baseline> NativeBaseline(const std::string& group,
                                         const std::string& name);

  // Returns the round trip over a bare gRPC stream. The first call measures it.
  // The server process ends after the measurement, so that its threads do not
  // disturb others.
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

// Each function measures one group, and adds its figures to `bench`.
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
