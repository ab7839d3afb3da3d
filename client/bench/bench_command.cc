// SPDX-License-Identifier: Apache-2.0
#include "client/bench/bench_command.h"

#include <cstdio>
#include <memory>
#include <string>

#include "client/bench/bench.h"
#include "client/bench/grpc_echo.h"
#include "client/bench/native_figures.h"
#include "client/bench/nvrtc_process.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

struct Flags {
  bench::BenchOptions bench;
  // For the process that measures the driver without Holdfast.
  std::string native_group;
  std::string device = "cuda";
  std::string driver_path;
  // For the process that is the other end of a bare gRPC stream.
  bool echo = false;
  // For the process that compiles with NVRTC alone.
  bool nvrtc = false;
};

absl::Status PrintNative(const Flags& flags) {
  cuda::DriverOptions driver;
  HOLDFAST_ASSIGN_OR_RETURN(driver.choice,
                            cuda::ParseDriverChoice(flags.device));
  if (driver.choice == cuda::DriverChoice::kSoftware) {
    driver.software_driver_path = flags.driver_path;
  } else if (!flags.driver_path.empty()) {
    driver.cuda_library = flags.driver_path;
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto figures,
      bench::MeasureNative(flags.native_group, flags.bench.quick, driver));
  std::fputs(bench::Serialize(figures).c_str(), stdout);
  return absl::OkStatus();
}

absl::Status Print(Flags& flags, const CommonOptions& options) {
  flags.bench.address = options.address;
  HOLDFAST_ASSIGN_OR_RETURN(const bench::Report report,
                            bench::Run(flags.bench));
  std::puts((options.json ? report.ToJson() : report.ToTable()).c_str());
  return absl::OkStatus();
}

}  // namespace

void AddBenchCommand(CLI::App* app, CommonOptions* options,
                     absl::Status* status) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = AddCommand(
      app, options, "bench",
      "Measure the daemon beside the driver and gRPC alone",
      [options, flags] {
        if (flags->echo) return bench::ServeGrpcEcho();
        if (flags->nvrtc) return bench::ServeNvrtc();
        return flags->native_group.empty() ? Print(*flags, *options)
                                           : PrintNative(*flags);
      },
      status);
  command
      ->add_option(
          "--only", flags->bench.only,
          "Groups to measure, separated by commas:\n" + bench::DescribeGroups())
      ->delimiter(',')
      ->type_name("GROUP");
  command->add_flag("--quick", flags->bench.quick,
                    "Fewer samples and small copies: a minute instead of ten");
  command
      ->add_option("--tcp", flags->bench.tcp_address,
                   "A daemon's address over TCP, for the group of the network")
      ->type_name("ADDRESS");
  command
      ->add_option("--tls", flags->bench.tls_address,
                   "A daemon's address over TLS, for the group of the network")
      ->type_name("ADDRESS");
  command
      ->add_option(
          "--calls", flags->bench.transfer_calls,
          "The number of concurrent calls over the network, measured beside "
          "one call; default: as many as the library makes on this machine")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  command
      ->add_option("--native", flags->native_group,
                   "Measure one group of the driver alone, in this process")
      ->group("");
  command->add_flag("--echo", flags->echo, "Serve bare gRPC")->group("");
  command->add_flag("--nvrtc", flags->nvrtc, "Compile what stdin has")
      ->group("");
  command->add_option("--device", flags->device, "cuda or cpu, with --native")
      ->group("");
  command->add_option("--driver", flags->driver_path, "File, with --native")
      ->group("");
}

}  // namespace holdfast::cli
