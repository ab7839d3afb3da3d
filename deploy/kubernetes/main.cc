// SPDX-License-Identifier: Apache-2.0
//
// holdfast-device-plugin: gives pods their part of a node's Holdfast daemon.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "deploy/kubernetes/node_plugin.h"

namespace holdfast::kubernetes {
namespace {

struct Flags {
  std::string kubelet = "/var/lib/kubelet/device-plugins";
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string cli = "/usr/bin/holdfast";
  std::string sockets = "/run/holdfast";
  std::string daemon;  // empty: holdfast.sock in `sockets`
  std::string cdi;     // empty: containers get a mount
  std::string group;   // empty: pods share no MPS server
  uint32_t sessions = 64;
};

void AddFlags(CLI::App* app, Flags* flags) {
  app->add_option("--kubelet-directory", flags->kubelet,
                  "The kubelet's directory for device plugins.")
      ->type_name("DIR")
      ->capture_default_str();
  app->add_option("--pod-resources", flags->pod_resources,
                  "The kubelet's socket that tells which pods have which "
                  "devices.")
      ->type_name("SOCKET")
      ->capture_default_str();
  app->add_option("--cli", flags->cli, "The command line holdfast.")
      ->type_name("FILE")
      ->capture_default_str();
  app->add_option("--socket-directory", flags->sockets,
                  "Where the daemon's sockets are, holdfast.sock among them; "
                  "containers get it at the same path.")
      ->type_name("DIR")
      ->capture_default_str();
  app->add_option("--daemon", flags->daemon,
                  "The address by which the plugin itself asks the daemon, as "
                  "an operator: unix:PATH of its --operator-socket.")
      ->type_name("ADDRESS")
      ->default_str("holdfast.sock in --socket-directory");
  app->add_option("--cdi-directory", flags->cdi,
                  "Write the daemon's CDI specification there, and let the "
                  "container engine give containers the sockets by it: "
                  "/var/run/cdi, where the engine reads CDI.")
      ->type_name("DIR")
      ->default_str("none: the kubelet is told to mount the directory");
  app->add_option("--group", flags->group,
                  "A group of the daemon's policy with temporary-tenants = "
                  "true: all pods share an MPS server of each device.")
      ->type_name("NAME")
      ->default_str("none");
  app->add_option("--sessions", flags->sessions,
                  "Sessions to advertise as holdfast.dev/session.")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

// Waits for the daemon, whose devices say how much memory there is.
uint32_t DeviceGib(const node::NodeDaemon& daemon) {
  while (true) {
    const node::Answer memory = daemon.DeviceMemory();
    uint64_t bytes = 0;
    if (memory.done() && absl::SimpleAtoi(memory.text, &bytes)) {
      return static_cast<uint32_t>(bytes >> 30);
    }
    LogWarning("waiting for the daemon: ", memory.text);
    absl::SleepFor(absl::Seconds(5));
  }
}

// Puts the specification in place at once: engines read it at any time.
absl::Status WriteCdi(const node::NodeDaemon& daemon, const Flags& flags) {
  const node::Answer specification = daemon.CdiSpecification(flags.sockets);
  if (!specification.done()) {
    return absl::UnavailableError(specification.text);
  }
  const std::filesystem::path path =
      std::filesystem::path(flags.cdi) / "holdfast.json";
  const std::string draft = path.string() + ".new";
  std::error_code error;
  std::filesystem::create_directories(flags.cdi, error);
  std::ofstream file(draft);
  file << specification.text;
  file.close();
  if (file) std::filesystem::rename(draft, path, error);
  if (file && !error) return absl::OkStatus();
  return absl::UnavailableError("cannot write " + path.string());
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "holdfast-device-plugin - gives pods a part of the node's Holdfast "
      "daemon\n\n"
      "Tells the kubelet of holdfast.dev/session and holdfast.dev/memory-gib,\n"
      "gives each pod that asks for one a tenant of the node's daemon, and "
      "ends\n"
      "it with the pod.",
      "holdfast-device-plugin");
  AddFlags(&app, &flags);
  CLI11_PARSE(app, argc, argv);
  SetLogProcessName("holdfast-device-plugin");
  std::signal(SIGPIPE, SIG_IGN);
  const node::NodeDaemon daemon(flags.cli,
                                flags.daemon.empty()
                                    ? "unix:" + flags.sockets + "/holdfast.sock"
                                    : flags.daemon);
  if (!flags.cdi.empty()) {
    const absl::Status written = WriteCdi(daemon, flags);
    if (!written.ok()) {
      LogError("--cdi-directory: ", written.message());
      return 1;
    }
  }
  const std::vector<Resource> resources = {
      {Resource::Kind::kSession, flags.sessions, flags.group},
      {Resource::Kind::kMemory, DeviceGib(daemon), flags.group}};
  NodePlugin plugin(daemon, Kubelet(flags.kubelet, flags.pod_resources),
                    resources,
                    {.directory = flags.sockets, .by_cdi = !flags.cdi.empty()});
  while (true) {
    const absl::Status status = plugin.Step(absl::Now());
    if (!status.ok()) {
      LogError("ending: ", status.message());
      return 1;  // Kubernetes starts it again.
    }
    absl::SleepFor(absl::Seconds(2));
  }
}

}  // namespace
}  // namespace holdfast::kubernetes

int main(int argc, char** argv) {
  return holdfast::kubernetes::Main(argc, argv);
}
