// SPDX-License-Identifier: Apache-2.0
//
// The program takes this process's place. Only a private daemon needs a parent,
// which waits for the program, passes signals on and ends the daemon.
#include "client/cli/exec_command.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/cuda_folder.h"
#include "client/cli/memcheck_address.h"
#include "client/cli/usage_error.h"
#include "client/cpp/connection/address.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/connection/embedded_daemon.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kFooter[] = R"(
Usage: holdfast exec [OPTIONS] [--] PROGRAM [ARGUMENTS]

Examples:
  holdfast exec python3 my_numba_script.py
  holdfast exec --address=tcp:gpu-host:7070 -- hashcat -b -m 0
  holdfast exec --device=cpu -- ./saxpy
  holdfast exec --direct -- ./saxpy
  holdfast exec --memcheck -- ./saxpy

PROGRAM loads Holdfast's libcuda.so.1 and libcudart.so.13 instead of NVIDIA's.
Programs with NVIDIA's runtime inside (nvcc's default) do not run: compile them
with nvcc -cudart shared. HOLDFAST_CUDA_LOG=1 prints why a call of the driver
failed. The exit status is PROGRAM's (128 + N for a signal N, in a shell), or
127 if PROGRAM cannot be started.)";

struct ExecOptions {
  std::string device;
  bool direct = false;
  bool memcheck = false;
  std::vector<std::string> program;
};

void SetVariable(const char* name, const std::string& value) {
  setenv(name, value.c_str(), /*overwrite=*/1);
}

void PrependPath(const char* variable, const std::string& folder) {
  const char* path = std::getenv(variable);
  SetVariable(variable, path == nullptr || *path == '\0'
                            ? folder
                            : absl::StrCat(folder, ":", path));
}

// Where the Python package is installed (wheel, Debian), and the build tree.
constexpr const char* kPythonFolders[] = {
    "exec_python", "../lib/python3/dist-packages/holdfast/exec_python",
    "../python/holdfast/exec_python"};

// The program finds the libraries of `folder` before all others. In Python, the
// package's exec_python replaces the module that contains NVIDIA's runtime.
void PrependPaths(const std::string& folder) {
  PrependPath("LD_LIBRARY_PATH", folder);
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : kPythonFolders) {
    const fs::path python = (here / place).lexically_normal();
    if (!fs::exists(python / "sitecustomize.py", error)) continue;
    PrependPath("PYTHONPATH", python.string());
    return;
  }
}

// As of a shell.
constexpr int kExitNoProgram = 127;

// Ends this process with kExitNoProgram if the program cannot be started.
[[noreturn]] void Become(const std::vector<std::string>& program) {
  std::vector<char*> arguments;
  arguments.reserve(program.size() + 1);
  for (const std::string& word : program) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "holdfast: cannot start %s: %s\n",
               program.front().c_str(), std::strerror(errno));
  _exit(kExitNoProgram);
}

std::atomic<pid_t> child{0};

void PassOn(int signal) { kill(child, signal); }

// Ends this process as the child has ended.
[[noreturn]] void EndAs(int status) {
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailed);
}

// Runs the program in a private daemon, which has ended when this returns.
absl::StatusOr<int> RunWithOwnDaemon(
    const std::map<std::string, std::string>& daemon_options,
    const std::vector<std::string>& program) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::unique_ptr<EmbeddedDaemon> daemon,
                            EmbeddedDaemon::Start(daemon_options));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string folder,
                            FindCudaFolder(CudaLibrary::kClient));
  const pid_t pid = fork();
  if (pid < 0) return absl::ResourceExhaustedError("cannot fork");
  if (pid == 0) {
    PrependPaths(folder);
    SetVariable("HOLDFAST_ADDRESS", daemon->address());
    Become(program);
  }
  child = pid;
  for (const int passed : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    signal(passed, PassOn);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

absl::Status RunInDaemon(const std::string& address,
                         const std::vector<std::string>& program) {
  {
    // Without a daemon the program would say "no CUDA device".
    HOLDFAST_ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon,
                              Daemon::Connect(address));
    HOLDFAST_RETURN_IF_ERROR(daemon->Devices().status());
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string folder,
                            FindCudaFolder(CudaLibrary::kClient));
  PrependPaths(folder);
  SetVariable("HOLDFAST_ADDRESS", address);
  Become(program);
}

absl::Status RunDirect(const std::vector<std::string>& program) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string folder,
                            FindCudaFolder(CudaLibrary::kSoftware));
  PrependPaths(folder);
  Become(program);
}

absl::StatusOr<std::string> AddressFor(const ExecOptions& exec,
                                       const CommonOptions& options) {
  if (exec.memcheck) return MemcheckAddress(options, "exec");
  return options.address.empty() ? DefaultAddress() : options.address;
}

absl::Status Run(const ExecOptions& exec, const CommonOptions& options) {
  if (exec.program.empty()) {
    return UsageError(absl::InvalidArgumentError("exec: no PROGRAM is given"));
  }
  if (exec.memcheck && exec.device == "cuda") {
    return UsageError(absl::InvalidArgumentError(
        "exec: --memcheck is for the software device, --device=cpu"));
  }
  if (exec.direct) {
    if (exec.memcheck) SetVariable("HOLDFAST_SOFTWARE_MEMCHECK", "1");
    return RunDirect(exec.program);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string named, AddressFor(exec, options));
  std::map<std::string, std::string> daemon_options;
  if (!exec.device.empty() && !exec.memcheck) {
    daemon_options["device"] = exec.device;
  } else if (absl::StartsWith(named, "embedded:")) {
    HOLDFAST_ASSIGN_OR_RETURN(const Address address, Address::Parse(named));
    daemon_options = address.options;
  } else {
    return RunInDaemon(named, exec.program);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const int status,
                            RunWithOwnDaemon(daemon_options, exec.program));
  EndAs(status);
}

}  // namespace

std::vector<std::string> TakeProgram(std::vector<std::string>& words) {
  const auto marker = std::find(words.begin(), words.end(), "--");
  if (marker == words.end() ||
      std::find(words.begin(), marker, "exec") == marker) {
    return {};
  }
  std::vector<std::string> program(marker + 1, words.end());
  words.erase(marker, words.end());
  return program;
}

void AddExecCommand(CLI::App* app, CommonOptions* options,
                    const std::vector<std::string>& program,
                    absl::Status* status) {
  const auto exec = std::make_shared<ExecOptions>();
  exec->program = program;
  CLI::App* command = AddCommand(
      app, options, "exec",
      "Run an unchanged CUDA program on a daemon's devices",
      [exec, options, app] {
        const auto words = app->get_subcommand("exec")->remaining();
        exec->program.insert(exec->program.begin(), words.begin(), words.end());
        return Run(*exec, *options);
      },
      status);
  command
      ->add_option("--device", exec->device,
                   "Start a private daemon with this device for the program: "
                   "cpu, cuda or auto")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  command->add_flag(
      "--direct", exec->direct,
      "Use the software driver in the program's process, without a daemon");
  command->add_flag(
      "--memcheck", exec->memcheck,
      absl::StrCat(kMemcheckHelp, "; with --direct, in the program's process"));
  // Without `--`, too, all words from the program on are its own.
  command->prefix_command();
  command->footer(kFooter);
}

}  // namespace holdfast::cli
