// SPDX-License-Identifier: Apache-2.0
#include "server/config/child_arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "core/cuda/driver_loader.h"
#include "server/process/sandbox/policy.h"
#include "server/process/spawner.h"

namespace holdfast::server {
namespace {

std::vector<std::string> Arguments(const Config& config, const char* role) {
  return {absl::StrCat("--role=", role),
          absl::StrCat("--channel-fd=", kChildChannelFd),
          absl::StrCat("--log-level=", config.log_level_name),
          absl::StrCat("--log-format=", config.log_format_name)};
}

// On the software device a kernel is native code of its executor.
bool RequiresSandbox(const Config& config) {
  const bool software =
      ExecutorRole(config.device) == SandboxRole::kSoftwareExecutor;
  return config.require_sandbox ||
         (software && ServesOthers(config) && !config.trust_clients);
}

// Returns the driver's path as the daemon sees it. A child in a mount namespace
// of its own cannot search beside its binary: behind chroot, the kernel gives
// it the binary's path from the machine's root.
std::string SoftwareDriverOf(const Config& config) {
  return config.software_driver.empty() ? cuda::FindSoftwareDriver({})
                                        : config.software_driver;
}

}  // namespace

bool ServesOthers(const Config& config) {
  return (config.socket_mode & 0077) != 0 ||
         std::any_of(config.listen.begin(), config.listen.end(),
                     [](const Endpoint& endpoint) {
                       return endpoint.kind == Endpoint::Kind::kTcp;
                     });
}

std::vector<std::string> ExecutorArguments(const Config& config,
                                           const char* role) {
  auto arguments = Arguments(config, role);
  arguments.push_back(absl::StrCat("--device=", config.device));
  const std::string driver = SoftwareDriverOf(config);
  if (!driver.empty()) {
    arguments.push_back(absl::StrCat("--software-driver=", driver));
  }
  if (RequiresSandbox(config)) arguments.push_back("--require-sandbox");
  if (config.software_devices > 0) {
    arguments.push_back(
        absl::StrCat("--software-devices=", config.software_devices));
  }
  if (config.software_memcheck) arguments.push_back("--software-memcheck");
  if (!config.devices.empty()) {
    arguments.push_back(
        absl::StrCat("--devices=", absl::StrJoin(config.devices, ",")));
  }
  return arguments;
}

std::vector<std::string> CompilerArguments(const Config& config) {
  auto arguments = Arguments(config, "compiler");
  arguments.push_back(absl::StrCat("--compile-memory=", config.compile_memory));
  arguments.push_back(absl::StrCat(
      "--compile-timeout=", absl::FormatDuration(config.compile_timeout)));
  if (config.require_sandbox) arguments.push_back("--require-sandbox");
  return arguments;
}

std::vector<std::string> OnDevice(std::vector<std::string> arguments,
                                  uint32_t device) {
  arguments.push_back(absl::StrCat("--warm-device=", device));
  return arguments;
}

std::vector<std::string> MpsControlArguments(
    const Config& config, const std::string& control_daemon) {
  auto arguments = Arguments(config, "mps-control");
  arguments.push_back(absl::StrCat("--mps-control=", control_daemon));
  return arguments;
}

std::vector<std::string> TelemetryArguments(const Config& config) {
  return Arguments(config, "telemetry");
}

std::vector<std::string> SpawnerArguments(const Config& config) {
  return Arguments(config, "spawner");
}

}  // namespace holdfast::server
