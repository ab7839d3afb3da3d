// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/embedded_daemon.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kStartTimeout = absl::Seconds(60);

// The daemon stops when descriptor 4, its lifeline, is closed at the other end;
// then its directory goes.
constexpr char kKeeper[] = R"(directory=$1; shift; "$@"; rm -rf "$directory")";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The folder of the shared library that this code is part of; empty if it is
// part of the program.
fs::path PlaceOfLibrary() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&PlaceOfLibrary), &info) == 0) return {};
  std::error_code error;
  const fs::path library = fs::canonical(info.dli_fname, error);
  if (error || library == fs::read_symlink("/proc/self/exe", error)) return {};
  return library.parent_path();
}

// Returns the places beside the program and beside the library, each once.
std::vector<std::string> PlacesOfDaemon() {
  std::vector<std::string> places;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& place : {here, PlaceOfLibrary()}) {
    if (place.empty()) continue;
    for (const fs::path& folder :
         {place,
          // A library of the bundle lies in lib/.
          place.parent_path() / "bin",
          place.parent_path().parent_path() / "server"}) {
      std::string daemon = folder / "holdfastd";
      if (absl::c_linear_search(places, daemon)) continue;
      places.push_back(std::move(daemon));
    }
  }
  return places;
}

std::string FirstProgramOf(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  return "";
}

std::string FindInPath() {
  std::vector<std::string> places;
  for (absl::string_view directory :
       absl::StrSplit(Environment("PATH"), ':', absl::SkipEmpty())) {
    places.push_back(absl::StrCat(directory, "/holdfastd"));
  }
  return FirstProgramOf(places);
}

absl::StatusOr<std::string> FindDaemon() {
  if (std::string named = Environment("HOLDFAST_DAEMON"); !named.empty()) {
    if (access(named.c_str(), X_OK) == 0) return named;
    return absl::NotFoundError(
        absl::StrCat("HOLDFAST_DAEMON=", named, " is no program"));
  }
  const std::vector<std::string> places = PlacesOfDaemon();
  std::string daemon = FirstProgramOf(places);
  if (daemon.empty()) daemon = FindInPath();
  if (!daemon.empty()) return daemon;
  return absl::NotFoundError(absl::StrCat(
      "cannot find holdfastd for embedded:; it is in no folder of $PATH, and "
      "none of these is a program: ",
      absl::StrJoin(places, ", "), "; set HOLDFAST_DAEMON to its path"));
}

// The compilers that `pip install nvidia-cuda-nvrtc` puts beside the package
// that has the daemon. Empty: there are none, or $CUDA_HOME names others.
std::string InstalledToolkit(const std::string& daemon) {
  if (!Environment("CUDA_HOME").empty()) return "";
  std::error_code error;
  const fs::path toolkit =
      fs::weakly_canonical(daemon, error).parent_path().parent_path() /
      "nvidia" / "cu13";
  return fs::exists(toolkit / "lib", error) ? toolkit.string() : "";
}

absl::StatusOr<std::string> MakeDirectory() {
  std::string base = Environment("TMPDIR");
  // A socket's path has at most 107 bytes.
  if (base.empty() || base.size() > 60) base = "/tmp";
  std::string directory = absl::StrCat(base, "/holdfast-embedded-XXXXXX");
  if (mkdtemp(directory.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("mkdtemp ", directory));
  }
  return directory;
}

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Starts the keeper with descriptor 3 to report readiness on and 4 to live by;
// its output goes to our stderr, and signals of the terminal pass it by.
absl::StatusOr<pid_t> SpawnKeeper(std::vector<std::string> arguments, int ready,
                                  int lifeline) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  // Moves both above 4 first, so that neither is overwritten by the other.
  const UniqueFd high_ready(fcntl(ready, F_DUPFD_CLOEXEC, 5));
  const UniqueFd high_lifeline(fcntl(lifeline, F_DUPFD_CLOEXEC, 5));
  if (!high_ready.valid() || !high_lifeline.valid()) {
    return absl::ErrnoToStatus(errno, "fcntl F_DUPFD_CLOEXEC");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  posix_spawn_file_actions_adddup2(&actions, high_ready.get(), 3);
  posix_spawn_file_actions_adddup2(&actions, high_lifeline.get(), 4);
  posix_spawn_file_actions_addclosefrom_np(&actions, 5);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::ErrnoToStatus(error, "cannot start /bin/sh");
  return pid;
}

// The daemon writes a line when it serves; the pipe ends when it dies.
absl::Status WaitUntilReady(int fd) {
  const absl::Time deadline = absl::Now() + kStartTimeout;
  for (;;) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    pollfd poll_fd{fd, POLLIN, 0};
    const int ready = poll(&poll_fd, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (left <= 0 || ready <= 0) {
      return absl::UnavailableError(
          absl::StrCat("the embedded daemon was not ready within ",
                       absl::FormatDuration(kStartTimeout)));
    }
    char byte = 0;
    const ssize_t size = read(fd, &byte, 1);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      return absl::UnavailableError(
          "the embedded daemon ended before it was ready; its messages stand "
          "above");
    }
    if (byte == '\n') return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddedDaemon>> EmbeddedDaemon::Start(
    const std::map<std::string, std::string>& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string program, FindDaemon());
  HOLDFAST_ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  HOLDFAST_ASSIGN_OR_RETURN(Pipe lifeline, MakePipe());
  HOLDFAST_ASSIGN_OR_RETURN(const std::string directory, MakeDirectory());
  const std::string address =
      absl::StrCat("unix:", directory, "/holdfast.sock");
  std::map<std::string, std::string> flags = options;
  // Warnings are about sessions, whose client is this process and is told.
  flags.emplace("log-level", "error");
  flags["listen"] = address;
  flags["runtime-dir"] = directory;
  flags["ready-fd"] = "3";
  flags["watch-fd"] = "4";
  std::vector<std::string> arguments = {"sh", "-c", kKeeper, "keeper",
                                        directory};
  const std::string toolkit = InstalledToolkit(program);
  if (!toolkit.empty()) {
    arguments.insert(arguments.end(),
                     {"env", absl::StrCat("CUDA_HOME=", toolkit)});
  }
  arguments.push_back(program);
  for (const auto& [name, value] : flags) {
    arguments.push_back(absl::StrCat("--", name, "=", value));
  }
  absl::StatusOr<pid_t> keeper =
      SpawnKeeper(std::move(arguments), ready.write.get(), lifeline.read.get());
  if (!keeper.ok()) {
    rmdir(directory.c_str());
    return keeper.status();
  }
  ready.write.Reset();
  lifeline.read.Reset();
  // From here on its destructor cleans up.
  std::unique_ptr<EmbeddedDaemon> daemon(
      new EmbeddedDaemon(address, *keeper, std::move(lifeline.write)));
  HOLDFAST_RETURN_IF_ERROR(WaitUntilReady(ready.read.get()));
  return daemon;
}

EmbeddedDaemon::EmbeddedDaemon(std::string address, pid_t keeper,
                               UniqueFd lifeline)
    : address_(std::move(address)),
      keeper_(keeper),
      lifeline_(std::move(lifeline)) {}

EmbeddedDaemon::~EmbeddedDaemon() {
  lifeline_.Reset();
  while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace holdfast
