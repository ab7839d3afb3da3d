// SPDX-License-Identifier: Apache-2.0
#include "server/config/flags.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/nearest_word.h"
#include "core/base/printable.h"
#include "proto/protocol_limits.h"
#include "server/config/config_file.h"
#include "server/config/version.h"

namespace holdfast::server {
namespace {

// The command line or the configuration file is wrong.
constexpr int kExitUsage = 2;

// With a shorter limit nothing that is measured by it succeeds.
constexpr absl::Duration kLeastLimit = absl::Milliseconds(100);
constexpr uint64_t kLeastCompileMemory = uint64_t{1} << 20;

constexpr char kDescription[] =
    R"(holdfastd - the Holdfast GPU execution daemon

Holds this machine's GPUs, or a software device where there is none, and
serves sessions of clients on this machine and, if asked, across the network.
Stays in the foreground and writes one line an event to stderr.)";

constexpr char kFooter[] =
    R"(
CONFIGURATION FILE
  Any long option without its dashes, one a line:
      listen = ["unix:/run/holdfast/holdfast.sock", "tcp:0.0.0.0:7070"]
      tls-cert = "/etc/holdfast/server.pem"
      tls-key = "/etc/holdfast/server.key"
      max-sessions = 16
  The command line wins over the file. A DURATION is 30s, 1m30s or 500ms; a
  number alone is seconds.

SIGNALS
  SIGTERM, SIGINT  drain: no new sessions; stop when the last one has ended or
                   --drain-timeout is over. A second one stops at once.
  SIGHUP           reads --policy with its keys, and the --tls files again, and
                   opens --audit-log again. A file that is wrong changes
                   nothing; the log says where it is.
                   If the daemon's file is another one by then, it is executed
                   as by SIGUSR2.
  SIGUSR2          executes the daemon's file anew in the same process:
                   sessions, collections and sockets stay. Work that has
                   arrived is awaited for up to 30 s. If the file or the
                   configuration is wrong, this daemon goes on and says why.
  SIGUSR1          is ignored.

FILES
  /run/holdfast/holdfast.sock              where root's daemon listens
  $XDG_RUNTIME_DIR/holdfast/holdfast.sock  another user's; /tmp/holdfast-UID/
                                           if that variable is not set
  /var/cache/holdfast/programs             what root's daemon has compiled
  ~/.cache/holdfast/programs               another user's, or in
                                           $XDG_CACHE_HOME; a systemd service
                                           has its own, $CACHE_DIRECTORY

ENVIRONMENT
  CUDA_HOME                 The CUDA toolkit that compiles; else what the
                            dynamic linker finds, then /usr/local/cuda.
  HOLDFAST_SOFTWARE_DRIVER  Default of --software-driver.
  HOLDFAST_SOFTWARE_DEVICES Default of --software-devices.
  HOLDFAST_SOFTWARE_MEMORY  Bytes of each software device: 8G, or 4G,1G for
                            the first and those that follow. Default: half of
                            the machine's memory, in equal shares.
  HOLDFAST_SOFTWARE_MEMCHECK
                            1: as --software-memcheck.
  HOLDFAST_SOFTWARE_THREADS Threads that run kernels of the software device.
                            Default: the CPUs of the process.
  XDG_RUNTIME_DIR, XDG_CACHE_HOME, CACHE_DIRECTORY
                            See FILES.
  NOTIFY_SOCKET, LISTEN_FDS systemd's: where to tell that it is ready, and
                            sockets to listen on.

EXIT STATUS
  0 after a stop that was asked for; 1 if it could not start, or could not go
  on because its spawner process had died; 2 if an option or the configuration
  file is wrong.

EXAMPLES
  holdfastd
  holdfastd --device=cpu --listen=unix:/tmp/my/holdfast.sock
  holdfastd --listen=tcp:0.0.0.0:7070 --tls-cert=server.pem \
      --tls-key=server.key --tls-client-ca=clients.pem)";

// "30s", "1m30s", "500ms"; a bare number is seconds.
bool ParseDuration(const std::string& text, absl::Duration* duration) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    if (std::isnan(seconds)) return false;
    *duration = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, duration)) {
    return false;
  }
  return *duration >= absl::ZeroDuration();
}

void AddDuration(CLI::App* app, const std::string& name,
                 absl::Duration* duration, const std::string& help,
                 absl::Duration least = absl::ZeroDuration()) {
  app->add_option_function<std::string>(
         name,
         [name, duration, least](const std::string& text) {
           if (!ParseDuration(text, duration)) {
             throw CLI::ValidationError(
                 name,
                 text +
                     " is no duration; write 30s, 2m, 500ms or a number of "
                     "seconds");
           }
           if (*duration < least) {
             throw CLI::ValidationError(
                 name, absl::StrCat(text, " is too short; at least ",
                                    absl::FormatDuration(least), " is wanted"));
           }
         },
         help)
      ->type_name("DURATION")
      ->default_str(absl::FormatDuration(*duration));
}

void AddAddresses(CLI::App* app, Config* config) {
  const std::string group = "Addresses";
  app->add_option_function<std::vector<std::string>>(
         "--listen",
         [config](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             const auto endpoint = Endpoint::Parse(text);
             if (!endpoint.ok()) {
               throw CLI::ValidationError(
                   "--listen", std::string(endpoint.status().message()));
             }
             config->listen.push_back(*endpoint);
           }
         },
         "Where to listen: unix:PATH or tcp:HOST:PORT; may be given several "
         "times. Port 0 takes a free one and logs it. Plain TCP is served on "
         "loopback only, unless --insecure is given.")
      ->type_name("ADDRESS")
      ->default_str("unix:" + DefaultRuntimeDirectory() + "/holdfast.sock")
      ->group(group);
  app->add_option_function<std::string>(
         "--socket-mode",
         [config](const std::string& text) {
           unsigned mode = 0;
           const char* const last = text.data() + text.size();
           const auto [end, error] =
               std::from_chars(text.data(), last, mode, /*base=*/8);
           if (error != std::errc() || end != last || mode > 0777) {
             throw CLI::ValidationError("--socket-mode",
                                        text + " is no octal file mode");
           }
           config->socket_mode = static_cast<mode_t>(mode);
         },
         "Mode of the Unix sockets, in octal. Whoever may write to a socket "
         "may use the GPUs.")
      ->type_name(kModeType)
      ->default_str("0600")
      ->group(group);
  app->add_option_function<std::vector<std::string>>(
         "--operator-socket",
         [config](const std::vector<std::string>& paths) {
           for (const std::string& path : paths) {
             const auto endpoint = Endpoint::Parse("unix:" + path);
             if (!endpoint.ok()) {
               throw CLI::ValidationError(
                   "--operator-socket",
                   std::string(endpoint.status().message()));
             }
             config->operator_sockets.push_back(endpoint->path);
           }
         },
         "A further Unix socket, of the daemon's own user alone; may be given "
         "several times. Users, root too, are then operators there and on no "
         "other socket: for daemons whose socket is mounted into containers, "
         "where anybody may be root.")
      ->type_name("PATH")
      ->group(group);
  app->add_option("--tls-cert", config->tls.certificate,
                  "The server's certificate with its chain, PEM; makes TCP "
                  "TLS. Read again on SIGHUP, as are key and CA.")
      ->type_name("FILE")
      ->group(group);
  app->add_option("--tls-key", config->tls.key, "Its private key, PEM.")
      ->type_name("FILE")
      ->group(group);
  app->add_option("--tls-client-ca", config->tls.client_ca,
                  "TCP clients must show a certificate that this CA has "
                  "signed, PEM.")
      ->type_name("FILE")
      ->group(group);
  app->add_flag("--insecure", config->insecure,
                "Allow plain TCP beyond loopback. Session tokens are then "
                "readable on the network.")
      ->group(group);
  app->add_option("--runtime-dir", config->runtime_dir,
                  "Directory for the sockets of executors; made with mode "
                  "0700.")
      ->type_name("DIR")
      ->default_str(DefaultRuntimeDirectory())
      ->group(group);
  app->add_option("--max-connections", config->max_connections,
                  "Connections that may be open at once. A client may have as "
                  "many as it leaves free to others; where there is no room, "
                  "an idle one is closed.")
      ->check(CLI::Range(4, 1 << 20))
      ->capture_default_str()
      ->group(group);
}

// An error text, or an empty one: what CLI11 wants of a check.
std::string DeviceName(const std::string& text) {
  uint32_t number = 0;
  if (absl::SimpleAtoi(text, &number) || absl::StartsWith(text, "GPU-") ||
      absl::StartsWith(text, "MIG-")) {
    return "";
  }
  return absl::StrCat("'", text, "' is neither a number nor a UUID (GPU-..., ",
                      "MIG-...)");
}

void AddExecution(CLI::App* app, Config* config) {
  const std::string group = "Devices and sessions";
  app->add_option("--device", config->device,
                  "cuda: NVIDIA's driver; cpu: the software device; auto: "
                  "CUDA if it has a GPU, else the software device.")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str()
      ->group(group);
  app->add_option("--software-driver", config->software_driver,
                  "The software device's library, libholdfast_software.so. "
                  "Default: $HOLDFAST_SOFTWARE_DRIVER, else beside this "
                  "program.")
      ->type_name("FILE")
      ->group(group);
  app->add_option("--software-devices", config->software_devices,
                  "Software devices to show. Default: "
                  "$HOLDFAST_SOFTWARE_DEVICES, else 1.")
      ->check(CLI::Range(1, 16))
      ->group(group);
  app->add_flag("--software-memcheck", config->software_memcheck,
                "Software devices only: a kernel that leaves its buffers, be "
                "it by a byte, or goes to one that was freed, ends with an "
                "error that names the buffer. Kernels take longer, buffers "
                "more memory. Default: $HOLDFAST_SOFTWARE_MEMCHECK=1.")
      ->group(group);
  app->add_option("--devices", config->devices,
                  "Devices to serve, in this order, as numbers (in the order "
                  "of their PCI bus ids, as nvidia-smi has it) or UUIDs: 0,2 "
                  "or GPU-b1f6...,MIG-... Clients number them from 0. "
                  "Default: all.")
      ->delimiter(',')
      ->check(DeviceName)
      ->type_name("LIST")
      ->group(group);
  app->add_option("--warm-executors", config->warm_executors,
                  "Executors kept ready, so that a session opens in "
                  "milliseconds; each has a context on one device, of those "
                  "that sessions asked for last.")
      ->check(CLI::Range(0, 64))
      ->capture_default_str()
      ->group(group);
  AddDuration(app, "--detached-session-limit", &config->detached_session_limit,
              "How long a session may live without any client, if its client "
              "asked for that when it opened it. 0: it may not.");
  app->get_option("--detached-session-limit")->group(group);
  AddDuration(
      app, "--suspend-idle", &config->suspend_idle,
      "Take a session off its devices, to host memory, that has done "
      "nothing for so long; its next command brings it back. 0: never.");
  app->get_option("--suspend-idle")->group(group);
  app->add_option("--suspend-directory", config->suspend_directory,
                  "Where an operator may suspend sessions to files (`holdfast "
                  "sessions suspend --to=FILE`) and collections (`holdfast "
                  "collection suspend --to=disk`), with the bytes of their "
                  "device memory. Default: to host memory only.")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIRECTORY")
      ->group(group);
  AddDuration(app, "--probe-interval", &config->probe_interval,
              "How often a small kernel is run on each device, in a fresh "
              "context, to see that it works. 0: only at the start and after "
              "faults.");
  app->get_option("--probe-interval")->group(group);
  AddDuration(app, "--probe-timeout", &config->probe_timeout,
              "What such a probe may take. New sessions are refused a device "
              "that fails it, until it passes.",
              kLeastLimit);
  app->get_option("--probe-timeout")->group(group);
  app->add_option("--telemetry", config->telemetry,
                  "Ask NVML, in a process of its own, for what `holdfast "
                  "devices` shows of temperatures, clocks, errors and "
                  "processes. auto: if devices are GPUs.")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str()
      ->group(group);
  app->add_flag("--require-sandbox", config->require_sandbox,
                "Do not serve unless executors and compilers can be confined: "
                "files by Landlock or mounts, system calls by seccomp. "
                "Implied on the software device, where kernels are native "
                "code, if others than this user may connect.")
      ->group(group);
  app->add_flag("--trust-clients", config->trust_clients,
                "Serve the software device to others although this machine "
                "cannot confine what their kernels do.")
      ->group(group);
  app->add_option("--user-range", config->user_range,
                  "Users that executors and compilers become, each one of its "
                  "own, when the daemon runs as root; none: they stay root "
                  "without its privileges.")
      ->type_name("FIRST-LAST")
      ->default_str(DefaultUserRange())
      ->group(group);
  app->add_option("--max-sessions", config->max_sessions,
                  "Sessions that may be open at once.")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->group(group);
  app->add_option("--max-sessions-per-client", config->max_sessions_per_client,
                  "Sessions of one client: of one user on Unix sockets, one "
                  "certificate or one address on TCP. 0: a client may open "
                  "another one while it has fewer than are free, so half of "
                  "all if it is alone. Does not count for the daemon's own "
                  "user and root on a Unix socket.")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group(group);
  app->add_option("--max-faults", config->max_faults,
                  "Faults in short order after which a session is stopped "
                  "instead of recovered; one is forgiven every 10 s. 0: it is "
                  "never stopped.")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str()
      ->group(group);
  AddDuration(app, "--kernel-time-limit", &config->kernel_time_limit,
              "How long a kernel, or a launch of a graph, may run. One that "
              "runs longer is a fault of its session, which names it and goes "
              "on in another executor. A session may ask for less. 0: for as "
              "long as it likes.");
  app->get_option("--kernel-time-limit")->group(group);
  app->add_option("--list-sessions", config->list_sessions,
                  "Whose sessions a client is shown: own, or all. The daemon's "
                  "own user and root see all on a Unix socket.")
      ->check(CLI::IsMember({"own", "all"}))
      ->capture_default_str()
      ->group(group);
}

void AddTenants(CLI::App* app, Config* config) {
  const std::string group = "Tenants";
  app->add_option("--policy", config->policy,
                  "Who may use the daemon, as which tenant, and how much: a "
                  "TOML file, read again on SIGHUP. Default: whoever may "
                  "connect is a tenant of its own.")
      ->type_name("FILE")
      ->group(group);
  app->add_option("--audit-log", config->audit_log,
                  "Where each refusal and each act of an operator is written, "
                  "as JSON lines; opened again on SIGHUP.")
      ->type_name("FILE")
      ->group(group);
  app->add_flag("--keeper", config->keeper,
                "Start the daemon in a process of its own, and start it anew "
                "if it is killed: sessions and collections outlive it. The "
                "daemon starts another such process if that one is killed. "
                "For where systemd does not do that.")
      ->group(group);
  // Asked by a daemon that is to be replaced; see server/restart/successor.h.
  app->add_option("--takes-state", config->takes_state)->group("");
  app->add_flag("--check-config", config->check_config,
                "Check the options, the policy and the certificates, say what "
                "is wrong, and do nothing else.")
      ->configurable(false)
      ->group(group);
}

// "-1" would be read as the largest number that there is.
std::string RefuseNegative(const std::string& text) {
  if (!absl::StartsWith(text, "-")) return text;
  throw CLI::ValidationError(text + " is negative");
}

CLI::Option* AddBytes(CLI::App* app, const std::string& name, uint64_t* bytes,
                      const std::string& shown, const std::string& help) {
  // The transform that is added last comes first.
  return app->add_option(name, *bytes, help)
      ->transform(CLI::AsSizeValue(false))
      ->transform(RefuseNegative)
      ->default_str(shown);
}

void AddQuotas(CLI::App* app, Config* config) {
  AddBytes(app, "--session-memory", &config->session_memory, "0",
           "Device memory of one session's buffers, over all its devices, in "
           "bytes or with a unit: 8GiB. A client may ask for less. 0: as much "
           "as the devices have.")
      ->group("Quotas");
  AddBytes(app, "--pinned-memory", &config->pinned_memory,
           "a quarter of the memory that machine and control group allow",
           "Page-locked host memory of one session's buffers; 0: no limit.")
      ->group("Quotas");
  AddBytes(app, "--arena-memory", &config->arena_memory,
           "a quarter of the memory that machine and control group allow",
           "Memory that one session's client may share with its executor; 0: "
           "no limit.")
      ->group("Quotas");
  AddBytes(app, "--host-memory", &config->host_memory,
           "half of the memory that machine and control group allow",
           "Pinned, arena and staging memory of all sessions together; 0: no "
           "limit. If users other than the daemon's own may connect, a tenant "
           "without a quota of pinned-memory or arena-memory may hold as much "
           "as it leaves free, which is half if it is alone.")
      ->group("Quotas");
  app->add_option("--max-handles", config->max_handles,
                  "Handles of one kind (streams, events, buffers, ...) that a "
                  "session may have at a time.")
      ->check(CLI::Range(1u, kMaxHandles))
      ->capture_default_str()
      ->group("Quotas");
  app->add_option("--outstanding-commands", config->outstanding_commands,
                  "Commands of one session that may wait to be carried out; "
                  "whoever sends more is held up.")
      ->check(CLI::Range(uint64_t{kMaxBatchCommands}, uint64_t{1} << 32))
      ->capture_default_str()
      ->group("Quotas");
}

// As CLI11 wants of a check. The text is bytes by then.
std::string HasRoomToCompile(const std::string& text) {
  uint64_t bytes = 0;
  if (absl::SimpleAtoi(text, &bytes) && bytes >= kLeastCompileMemory) return "";
  return absl::StrCat(text, " bytes are too few to compile anything; at least ",
                      kLeastCompileMemory, " are wanted");
}

void AddCompilation(CLI::App* app, Config* config) {
  const std::string group = "Compilation";
  app->add_option("--compiler-workers", config->compiler_workers,
                  "Compilations that may run at once, each in a process of "
                  "its own.")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->group(group);
  app->add_option("--compile-queue", config->compile_queue,
                  "Compilations that may wait for a compiler; one client "
                  "alone may have half of them.")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->group(group);
  AddDuration(app, "--compile-timeout", &config->compile_timeout,
              "Time limit of one compilation.", kLeastLimit);
  app->get_option("--compile-timeout")->group(group);
  AddBytes(app, "--compile-memory", &config->compile_memory, "8GiB",
           "Address space of a compiler process, in bytes or with a "
           "unit: 8GiB.")
      ->check(HasRoomToCompile)
      ->group(group);
  AddBytes(app, "--object-store", &config->object_store, "1GiB",
           "Compiled code kept in memory; the least recently used goes "
           "first.")
      ->group(group);
  AddBytes(app, "--cache-memory", &config->cache_memory, "256MiB",
           "Compilations kept in memory to answer the same request "
           "again; 0 keeps none.")
      ->group(group);
  AddBytes(app, "--cache-disk", &config->cache_disk, "1GiB",
           "Compilations kept on disk, for daemons to come and for "
           "others that use the same directory; the least recently "
           "used goes first, and 0 keeps none.")
      ->group(group);
  app->add_option("--cache-directory", config->cache_directory,
                  "Where they are; made with mode 0700.")
      ->type_name("DIR")
      ->default_str(DefaultCacheDirectory())
      ->group(group);
}

void AddOperation(CLI::App* app, Config* config) {
  const std::string group = "Operation";
  app->add_option("--log-level", config->log_level_name,
                  "debug, info, warning or error.")
      ->check([config](const std::string& text) -> std::string {
        if (ParseLogLevel(text, &config->log_level)) return "";
        return text + " is none of debug, info, warning, error";
      })
      ->type_name("LEVEL")
      ->capture_default_str()
      ->group(group);
  app->add_option(
         "--log-format", config->log_format_name,
         "text: a line for people; journal: a line with its priority and "
         "without its time, for systemd's journal; json: one object a line, "
         "with time, "
         "severity, process, pid and message, and session, tenant, "
         "trace_id and span_id where they are known. Traces come from "
         "the metadata `traceparent` of calls, as OpenTelemetry sends "
         "it.")
      ->check([config](const std::string& text) -> std::string {
        if (ParseLogFormat(text, &config->log_format)) return "";
        return text + " is none of text, journal, json";
      })
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(group);
  AddDuration(app, "--drain-timeout", &config->drain_timeout,
              "How long SIGTERM waits for sessions to end.");
  app->get_option("--drain-timeout")->group(group);
  app->add_option("--ready-fd", config->ready_fd,
                  "Descriptor that gets one line, the addresses, once they "
                  "are served; the last is that of metrics, if there are "
                  "any.")
      ->type_name("N")
      ->group(group);
  app->add_option("--watch-fd", config->watch_fd,
                  "Stop at once when this descriptor, the read end of a pipe, "
                  "is closed at its other end: the daemon ends with the "
                  "process that started it.")
      ->type_name("N")
      ->group(group);
}

void AddTelemetry(CLI::App* app, Config* config) {
  const std::string group = "Operation";
  app->add_option_function<std::string>(
         "--metrics-address",
         [config](const std::string& text) {
           auto endpoint = Endpoint::Parse("tcp:" + text);
           if (!endpoint.ok()) {
             throw CLI::ValidationError(
                 "--metrics-address",
                 text + " is no HOST:PORT; for instance 127.0.0.1:9464");
           }
           config->metrics_address = *std::move(endpoint);
         },
         "Serve metrics for Prometheus, /metrics, and a status page for "
         "browsers, /, over plain HTTP; HOST is an IP address or localhost. "
         "Port 0 takes a free one and logs it. "
         "Beyond loopback only with --metrics-beyond-loopback.")
      ->type_name("HOST:PORT")
      ->group(group);
  app->add_flag("--metrics-beyond-loopback", config->metrics_beyond_loopback,
                "Let other machines read --metrics-address; its port is not "
                "encrypted.")
      ->group(group);
  app->add_option("--metrics-password-file", config->metrics_password_file,
                  "The password, in its first line, that --metrics-address "
                  "asks for by HTTP's basic authentication, with any user "
                  "name; others must not be able to read the file.")
      ->type_name("FILE")
      ->group(group);
}

// `--policy=$POLICY` without that variable must not mean: no policy.
std::string RefuseEmpty(const std::string& text) {
  return text.empty() ? "it is empty; leave the option out for none" : "";
}

// How the supervisor starts its other processes; not for people.
void AddRole(CLI::App* app, Config* config) {
  const std::map<std::string, Config::Role> roles = {
      {"supervisor", Config::Role::kSupervisor},
      {"executor", Config::Role::kExecutor},
      {"compiler", Config::Role::kCompiler},
      {"probe", Config::Role::kProbe},
      {"spawner", Config::Role::kSpawner},
      {"telemetry", Config::Role::kTelemetry},
      {"mps-control", Config::Role::kMpsControl}};
  app->add_option("--role", config->role)
      ->transform(CLI::CheckedTransformer(roles))
      ->group("");
  app->add_option("--channel-fd", config->channel_fd)->group("");
  app->add_option("--warm-device", config->warm_device)->group("");
  app->add_option("--own-namespaces", config->sandbox.own_namespaces)
      ->group("");
  app->add_option("--user", config->sandbox.user)->group("");
  app->add_option("--mps-pipe-directory", config->mps_pipe_directory)
      ->group("");
  app->add_option("--mps-control", config->mps_control)->group("");
}

// Why the command line is wrong.
std::string Describe(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) {
    return error.what();
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // not for people
    for (const std::string& name : option->get_lnames()) {
      names.push_back(absl::StrCat("--", name));
    }
  }
  for (const std::string& word : app.remaining()) {
    const std::string name = word.substr(0, word.find('='));
    const std::string meant = DidYouMean(name, names);
    if (!meant.empty()) {
      return absl::StrCat("there is no option ", ToPrintable(name), meant);
    }
  }
  return error.what();
}

void SetDefaults(Config* config) {
  if (config->runtime_dir.empty()) {
    config->runtime_dir = DefaultRuntimeDirectory();
  }
  if (config->cache_directory.empty()) {
    config->cache_directory = DefaultCacheDirectory();
  }
  if (config->user_range.empty()) config->user_range = DefaultUserRange();
  if (config->user_range == "none") config->user_range.clear();
  if (config->listen.empty()) {
    Endpoint endpoint;
    endpoint.path = DefaultRuntimeDirectory() + "/holdfast.sock";
    config->listen.push_back(endpoint);
  }
  for (const std::string& path : config->operator_sockets) {
    Endpoint endpoint;
    endpoint.path = path;
    config->listen.push_back(endpoint);
  }
}

}  // namespace

std::optional<Config> ParseFlags(int argc, char** argv, int* exit_code) {
  Config config;
  CLI::App app(kDescription, "holdfastd");
  app.get_formatter()->column_width(34);
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("holdfastd ") + kVersion);
  app.set_config("--config", "", "Read options from this file.")
      ->type_name("FILE");
  app.allow_config_extras(CLI::config_extras_mode::error);
  const auto file = std::make_shared<ConfigFile>(app);
  app.config_formatter(file);
  AddAddresses(&app, &config);
  AddExecution(&app, &config);
  AddQuotas(&app, &config);
  AddTenants(&app, &config);
  AddCompilation(&app, &config);
  AddOperation(&app, &config);
  AddTelemetry(&app, &config);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() > 0) option->check(RefuseEmpty);
  }
  AddRole(&app, &config);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exit_code = error.get_exit_code() == 0 ? app.exit(error) : kExitUsage;
    if (*exit_code != 0) {
      std::cerr << "holdfastd: " << file->WithPlace(Describe(app, error))
                << "\n`holdfastd --help` tells what there is.\n";
    }
    return std::nullopt;
  }
  if (app.get_config_ptr()->count() > 0) {
    config.file = app.get_config_ptr()->as<std::string>();
    config.file_version = FileVersion(config.file);
  }
  SetDefaults(&config);
  return config;
}

}  // namespace holdfast::server
