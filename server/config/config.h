// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_CONFIG_H_
#define HOLDFAST_SERVER_CONFIG_CONFIG_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/log_format.h"
#include "core/base/machine_memory.h"
#include "proto/protocol_limits.h"
#include "server/process/sandbox/sandbox.h"
#include "server/rpc/endpoint.h"
#include "server/rpc/tls_certificates.h"

namespace holdfast::server {

// Returns one worker for each core, at least 2 and at most 16. Each takes about
// 100 MB.
size_t DefaultCompilerWorkers();

// Returns a quarter of the process's limit of descriptors, at least 16 and at
// most 4096. Each connection takes two descriptors.
size_t DefaultMaxConnections();

// The settings of holdfastd, from flags and the configuration file; flags.h has
// the help text of each.
struct Config {
  // This process's role: the supervisor starts the others.
  enum class Role {
    kSupervisor,
    kExecutor,
    kCompiler,
    kProbe,
    kSpawner,
    kTelemetry,
    kMpsControl
  };
  Role role = Role::kSupervisor;
  // The configuration file, and its FileVersion when it was read.
  std::string file;
  std::string file_version;
  // For an executor or compiler: the channel to its supervisor, and its
  // confinement.
  int channel_fd = -1;
  SandboxStart sandbox;
  // For an executor that shares an MPS server: the directory of the pipes.
  std::string mps_pipe_directory;
  // The program of the role mps-control.
  std::string mps_control;

  std::vector<Endpoint> listen;
  mode_t socket_mode = 0600;
  std::vector<std::string> operator_sockets;  // paths, also in `listen`
  TlsFiles tls;
  bool insecure = false;
  std::string runtime_dir;  // sockets of executors
  size_t max_connections = DefaultMaxConnections();

  std::string device = "auto";  // "auto", "cpu" or "cuda"
  std::string software_driver;
  int software_devices = 0;        // 0: from the environment, or 1
  bool software_memcheck = false;  // false: from the environment
  // The numbers and UUIDs of the served devices; empty: all.
  std::vector<std::string> devices;
  int warm_device =
      0;  // executor, probe: the device that it makes a context on at once
  // The number of warm executors, on all devices together.
  size_t warm_executors = 1;
  absl::Duration probe_interval = absl::Minutes(5);  // 0: only after faults
  absl::Duration probe_timeout = absl::Seconds(30);
  std::string telemetry = "auto";  // "auto", "on" or "off"
  bool require_sandbox = false;
  bool trust_clients = false;
  std::string user_range;  // of executors and compilers; empty: the daemon's
  size_t max_sessions = 64;
  size_t max_sessions_per_client = 0;  // 0: a share
  absl::Duration detached_session_limit = absl::ZeroDuration();
  absl::Duration suspend_idle = absl::ZeroDuration();  // 0: never
  std::string suspend_directory;  // empty: sessions go to host memory only
  uint32_t max_faults = 16;       // of one session; 0: no limit
  absl::Duration kernel_time_limit = absl::ZeroDuration();  // 0: none
  std::string list_sessions = "own";                        // "own" or "all"

  // The limit of one session, in bytes; 0: no limit.
  uint64_t session_memory = 0;
  uint64_t pinned_memory = MachineMemory() / 4;
  uint64_t arena_memory = MachineMemory() / 4;
  // The limit of all sessions together: pinned, arena and staging memory.
  uint64_t host_memory = MachineMemory() / 2;
  // Limit of one session.
  uint32_t max_handles = kMaxHandles;
  uint64_t outstanding_commands = kMaxHandles;

  // The number of compiler processes, the requests that may wait for one, and
  // the limits of time and memory of one compilation.
  size_t compiler_workers = DefaultCompilerWorkers();
  size_t compile_queue = 128;
  absl::Duration compile_timeout = absl::Minutes(1);
  uint64_t compile_memory = uint64_t{8} << 30;  // bytes
  uint64_t object_store = uint64_t{1} << 30;    // bytes
  uint64_t cache_memory = uint64_t{256} << 20;  // bytes
  uint64_t cache_disk = uint64_t{1} << 30;      // bytes
  std::string cache_directory;

  // HTTP for operators, off without an address.
  std::optional<Endpoint> metrics_address;
  bool metrics_beyond_loopback = false;
  std::string metrics_password_file;

  std::string policy;     // a file; empty: none
  std::string audit_log;  // a file; empty: none
  bool check_config = false;
  bool keeper = false;
  // The format of kept state that --check-config checks for; 0: none.
  int takes_state = 0;

  absl::Duration drain_timeout = absl::Seconds(30);
  LogLevel log_level = LogLevel::kInfo;
  std::string log_level_name = "info";
  // By default the format of the systemd journal, if standard error is
  // connected to it.
  std::string log_format_name = std::string(DefaultLogFormat());
  LogFormat log_format =
      log_format_name == "journal" ? LogFormat::kJournal : LogFormat::kText;
  // Receives one line with the addresses when they are served; -1: none.
  int ready_fd = -1;
  // The read end of a pipe: the daemon stops when it is closed; -1: none.
  int watch_fd = -1;
};

// Returns a text that changes when the file is written or replaced: its inode,
// size and modification time. Empty if there is no such file.
std::string FileVersion(const std::string& path);

// /run/holdfast for root; else $XDG_RUNTIME_DIR/holdfast, or
// /tmp/holdfast-UID if that is not set.
std::string DefaultRuntimeDirectory();

// For root, a range of numbers that distributions leave unused; else empty.
std::string DefaultUserRange();

// $CACHE_DIRECTORY, which systemd sets; else /var/cache/holdfast for root, and
// $XDG_CACHE_HOME/holdfast or ~/.cache/holdfast for other users; in it,
// "programs". Empty if none of these is set.
std::string DefaultCacheDirectory();

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_CONFIG_H_
