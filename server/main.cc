// SPDX-License-Identifier: Apache-2.0
//
// holdfastd: the daemon, and in other roles the processes that it starts.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "core/base/address_limit.h"
#include "core/base/log.h"
#include "core/base/log_format.h"
#include "core/base/machine_memory.h"
#include "core/base/unique_fd.h"
#include "core/cuda/driver_loader.h"
#include "server/channel/channel.h"
#include "server/compile/compiler_main.h"
#include "server/config/config.h"
#include "server/config/flags.h"
#include "server/config/stop_events.h"
#include "server/daemon/config_check.h"
#include "server/daemon/daemon.h"
#include "server/executor/executor_main.h"
#include "server/health/probe_main.h"
#include "server/health/telemetry_main.h"
#include "server/process/handed_processes.h"
#include "server/process/sandbox/policy.h"
#include "server/process/spawner.h"
#include "server/process/spawner_process.h"
#include "server/process/user_range.h"
#include "server/restart/arguments.h"
#include "server/restart/inheritance.h"
#include "server/restart/keeper.h"
#include "server/restart/successor.h"
#include "server/rpc/grpc_log.h"

namespace holdfast::server {
namespace {

int Fail(const absl::Status& status) {
  LogError("cannot start: ", status.message());
  return 1;
}

// Each session takes a handful of descriptors, and each of its chunks one.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// With fewer addresses no executor works: the software driver reserves more,
// and a CUDA context as well.
constexpr uint64_t kLeastAddresses = uint64_t{64} << 30;

// An executor's or compiler's way to its supervisor.
UniqueFd TakeChannel(const Config& config) {
  fcntl(config.channel_fd, F_SETFD, FD_CLOEXEC);
  return UniqueFd(config.channel_fd);
}

SandboxStart SandboxStartOf(const Config& config) {
  SandboxStart start = config.sandbox;
  start.required = config.require_sandbox;
  return start;
}

// Tells the driver, which is not loaded yet, what it is to show. REQUIRES: the
// process has one thread.
void ShowDevices(const Config& config) {
  const auto set = [](const char* variable, const std::string& value) {
    setenv(variable, value.c_str(), /*overwrite=*/1);
  };
  if (config.software_devices > 0) {
    set("HOLDFAST_SOFTWARE_DEVICES", absl::StrCat(config.software_devices));
  }
  if (config.software_memcheck) set("HOLDFAST_SOFTWARE_MEMCHECK", "1");
  if (config.devices.empty()) return;
  const std::string list = absl::StrJoin(config.devices, ",");
  set("HOLDFAST_SOFTWARE_VISIBLE_DEVICES", list);
  set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  set("CUDA_VISIBLE_DEVICES", list);
}

// Tells the software driver of executors, which see no control groups, how much
// memory there is. REQUIRES: the process has one thread.
void ShowMachineMemory() {
  setenv("HOLDFAST_SOFTWARE_MACHINE_MEMORY",
         absl::StrCat(MachineMemory()).c_str(), /*overwrite=*/1);
}

int RunExecutor(const Config& config) {
  SetLogProcessName("executor");
  ShowDevices(config);
  const auto choice = cuda::ParseDriverChoice(config.device);
  if (!choice.ok()) return Fail(choice.status());
  return ExecutorMain(
      TakeChannel(config),
      {.driver = {.choice = *choice,
                  .software_driver_path = config.software_driver},
       .devices = {.warm = config.warm_device,
                   .expected = config.devices.size()},
       .role = ExecutorRole(config.device),
       .mps_pipe_directory = config.mps_pipe_directory,
       .sandbox = SandboxStartOf(config)});
}

// Becomes the control daemon, which the supervisor then watches as its child.
// The channel closes.
int RunMpsControl(const Config& config) {
  const UniqueFd channel = TakeChannel(config);
  // Its clients may have a user of their own; the directory keeps others out.
  umask(0);
  // The spawner ignores it, which a program that is executed inherits.
  std::signal(SIGTERM, SIG_DFL);
  execl(config.mps_control.c_str(), config.mps_control.c_str(), "-f", nullptr);
  return Fail(absl::ErrnoToStatus(errno, config.mps_control));
}

int RunProbe(const Config& config) {
  SetLogProcessName("probe");
  ShowDevices(config);
  const auto choice = cuda::ParseDriverChoice(config.device);
  if (!choice.ok()) return Fail(choice.status());
  return ProbeMain(Channel(TakeChannel(config)),
                   {.driver = {.choice = *choice,
                               .software_driver_path = config.software_driver},
                    .device = config.warm_device,
                    .role = ExecutorRole(config.device),
                    .sandbox = SandboxStartOf(config)});
}

int RunCompiler(const Config& config) {
  SetLogProcessName("compiler");
  return CompilerMain(Channel(TakeChannel(config)),
                      {.memory_bytes = config.compile_memory,
                       .cpu_time = config.compile_timeout},
                      SandboxStartOf(config));
}

// Starts the daemon itself with the same arguments, but not as a keeper again,
// even if the configuration file asks for one.
int KeepDaemon(const Config& config, int argc, char** argv) {
  SetLogProcessName("keeper");
  std::vector<std::string> arguments(argv, argv + argc);
  SetFlag("--keeper", /*takes_value=*/false, "false", &arguments);
  return RunKeeper(arguments, config.ready_fd);
}

// Takes over the processes that the daemon before has started, if it has.
absl::StatusOr<std::unique_ptr<Spawner>> MakeSpawner(
    std::shared_ptr<UserRange> users, HandedProcesses handed) {
  if (handed.spawner != 0) {
    auto adopted = Spawner::Adopt(std::move(handed), users);
    if (adopted.ok()) return adopted;
    LogWarning(adopted.status().message(), "; another one starts");
  }
  return Spawner::Create({.users = std::move(users)});
}

int RunSupervisor(const Config& config) {
  if (config.check_config) {
    const absl::Status checked = CheckConfig(config);
    return checked.ok() ? 0 : Fail(checked);
  }
  RaiseAddressLimit();
  const absl::Status room = CheckAddressLimit(kLeastAddresses);
  if (!room.ok()) return Fail(room);
  ShowMachineMemory();
  // Signals are blocked before any thread exists, the spawner is forked before
  // any but its own does.
  auto successor = Successor::Find();
  if (!successor.ok()) return Fail(successor.status());
  auto inheritance = TakeInheritance();
  if (!inheritance.ok()) return Fail(inheritance.status());
  const auto events = StopEvents::Create(config.watch_fd);
  if (!events.ok()) return Fail(events.status());
  std::shared_ptr<UserRange> users;
  if (!config.user_range.empty()) {
    auto range = UserRange::Parse(config.user_range);
    if (!range.ok()) return Fail(range.status());
    users = *std::move(range);
  }
  const auto spawner =
      MakeSpawner(std::move(users), std::move(inheritance->processes));
  if (!spawner.ok()) return Fail(spawner.status());
  // A client that takes over a child shall not read its supervisor's memory.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const auto daemon =
      Daemon::Start(config, **spawner, **events, *std::move(successor),
                    *std::move(inheritance));
  if (!daemon.ok()) return Fail(daemon.status());
  const absl::Status ended = (*daemon)->Run();
  if (ended.ok()) return 0;
  LogError("stopping: ", ended.message());
  return 1;
}

int Main(int argc, char** argv) {
  int exit_code = 0;
  const std::optional<Config> config = ParseFlags(argc, argv, &exit_code);
  if (!config.has_value()) return exit_code;
  SetLogProcessName("holdfastd");
  SetLogLevel(config->log_level);
  SetLogFormat(config->log_format);
  WriteGrpcMessagesToLog();
  std::signal(SIGPIPE, SIG_IGN);
  umask(0077);
  // Distributions build Abseil with its deadlock detector on, which makes every
  // lock of ours and of gRPC's several times dearer.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  RaiseDescriptorLimit();
  switch (config->role) {
    case Config::Role::kExecutor:
      return RunExecutor(*config);
    case Config::Role::kCompiler:
      return RunCompiler(*config);
    case Config::Role::kProbe:
      return RunProbe(*config);
    case Config::Role::kSpawner:
      RunExecutedSpawner("/proc/self/exe", config->channel_fd);
    case Config::Role::kMpsControl:
      return RunMpsControl(*config);
    case Config::Role::kTelemetry:
      SetLogProcessName("telemetry");
      return TelemetryMain(Channel(TakeChannel(*config)));
    case Config::Role::kSupervisor:
      if (config->keeper && !config->check_config) {
        return KeepDaemon(*config, argc, argv);
      }
      return RunSupervisor(*config);
  }
  return 1;
}

}  // namespace
}  // namespace holdfast::server

int main(int argc, char** argv) { return holdfast::server::Main(argc, argv); }
