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

// Returns one worker for each core, at least 2 and at most 16. Each worker
// takes about 100 MB of memory.
size_t DefaultCompilerWorkers();

// Returns a quarter of the process's limit of descriptors, at least 16 and at
// most 4096. Each connection takes two descriptors.
size_t DefaultMaxConnections();

// The settings of holdfastd, from flags and the configuration file; flags.h has
// the help text of each.
struct Config {
  // The role of this process. The supervisor is the daemon's main process, and
  // starts the processes of the other roles.
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
  // The path of the configuration file, and its FileVersion when it was read.
  // Empty: there is none.
  std::string file;
  std::string file_version;
  // The channel to the supervisor, and the confinement, of an executor or
  // compiler.
  int channel_fd = -1;
  SandboxStart sandbox;
  // The directory of the pipes of an executor that shares an MPS server.
  std::string mps_pipe_directory;
  // The program of the role mps-control.
  std::string mps_control;

  std::vector<Endpoint> listen;
  mode_t socket_mode = 0600;
  std::vector<std::string> operator_sockets;  // paths, which `listen` has, too
  TlsFiles tls;
  bool insecure = false;
  std::string runtime_dir;  // the directory of the sockets of executors
  size_t max_connections = DefaultMaxConnections();

  std::string device = "auto";  // "auto", "cpu" or "cuda"
  std::string software_driver;
  int software_devices = 0;        // 0: from the environment, or 1
  bool software_memcheck = false;  // false: from the environment
  // The numbers and UUIDs of the served devices; empty: all.
  std::vector<std::string> devices;
  // The device on which an executor or probe makes a context at once.
  int warm_device = 0;
  // The number of warm executors, on all devices together.
  size_t warm_executors = 1;
  absl::Duration probe_interval = absl::Minutes(5);  // 0: only after faults
  absl::Duration probe_timeout = absl::Seconds(30);
  std::string telemetry = "auto";  // "auto", "on" or "off"
  bool require_sandbox = false;
  bool trust_clients = false;
  // The user numbers of executors and compilers. Empty: the daemon's own user.
  std::string user_range;
  size_t max_sessions = 64;
  size_t max_sessions_per_client = 0;  // 0: a share of max_sessions
  absl::Duration detached_session_limit = absl::ZeroDuration();
  absl::Duration suspend_idle = absl::ZeroDuration();  // 0: never
  std::string suspend_directory;  // empty: suspended to host memory only
  uint32_t max_faults = 16;       // of one session; 0: no limit
  absl::Duration kernel_time_limit = absl::ZeroDuration();  // 0: none
  std::string list_sessions = "own";                        // "own" or "all"

  // The limits of one session, in bytes; 0: no limit.
  uint64_t session_memory = 0;
  uint64_t pinned_memory = MachineMemory() / 4;
  uint64_t arena_memory = MachineMemory() / 4;
  // The limit of the pinned, arena and staging memory of all sessions together,
  // in bytes.
  uint64_t host_memory = MachineMemory() / 2;
  // The limits of one session.
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

  // HTTP for operators. Without an address it is off.
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
  // "journal" or "text". The default is "journal" if standard error is
  // connected to the systemd journal.
  std::string log_format_name = std::string(DefaultLogFormat());
  LogFormat log_format =
      log_format_name == "journal" ? LogFormat::kJournal : LogFormat::kText;
  // The descriptor to which one line with the addresses is written when they
  // are served; -1: none.
  int ready_fd = -1;
  // The read end of a pipe: the daemon stops when it is closed; -1: none.
  int watch_fd = -1;
};

// Returns a text that changes when the file is written or replaced: its device,
// inode, size and modification time. Empty if there is no such file.
std::string FileVersion(const std::string& path);

// Returns /run/holdfast for root, and for other users
// $XDG_RUNTIME_DIR/holdfast, or /tmp/holdfast-UID if that variable is not set.
std::string DefaultRuntimeDirectory();

// Returns for root a range of user numbers that distributions leave unused, and
// otherwise an empty string.
std::string DefaultUserRange();

// Returns the directory "programs" in $CACHE_DIRECTORY, which systemd sets.
// Without that variable, "programs" is in /var/cache/holdfast for root, and in
// $XDG_CACHE_HOME/holdfast or ~/.cache/holdfast for other users. Empty if none
// of the variables is set.
std::string DefaultCacheDirectory();

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_CONFIG_H_
