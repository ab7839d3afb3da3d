// SPDX-License-Identifier: Apache-2.0
#include "server/process/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/base/sanitizer.h"
#include "core/base/unique_fd.h"
#include "server/process/sandbox/landlock.h"
#include "server/process/sandbox/namespaces.h"
#include "server/process/sandbox/seccomp.h"

namespace holdfast {
namespace {

void Limit(int resource, uint64_t value, const char* name) {
  const rlimit limit = {value, value};
  if (setrlimit(resource, &limit) != 0) LogWarning("no limit of ", name);
}

bool Holds(const absl::Status& status, const char* without) {
  if (!status.ok()) LogWarning(without, ": ", status.message());
  return status.ok();
}

absl::Status BecomeUser(uid_t user) {
  if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
      setresuid(user, user, user) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("become user ", user));
  }
  return absl::OkStatus();
}

// Process 1 of a namespace is spared by signals that it sends to itself.
void ExitAborted(int signal) { _exit(128 + signal); }

absl::Status CheckReadable(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  return fd.valid() ? absl::OkStatus() : absl::ErrnoToStatus(errno, path);
}

std::vector<std::string> ReadableOf(const std::vector<VisiblePath>& files) {
  std::vector<std::string> readable;
  for (const VisiblePath& file : files) {
    if (file.access == VisiblePath::Access::kRead &&
        CheckReadable(file.path).ok()) {
      readable.push_back(file.path);
    }
  }
  return readable;
}

std::string NameOf(Namespaces own) {
  switch (own) {
    case Namespaces::kAll:
      return "own namespaces without a network";
    case Namespaces::kFiles:
      return "own namespaces of files and IPC";
    case Namespaces::kNone:
      break;
  }
  return "no namespaces of its own";
}

}  // namespace

Sandbox::Sandbox(const SandboxPolicy& policy, const SandboxStart& start)
    : policy_(policy), start_(start) {
  LimitResources();
  if (start_.own_namespaces == Namespaces::kAll) signal(SIGABRT, &ExitAborted);
  if (policy_.files.empty()) return;
  Confine(policy_.files);
}

void Sandbox::Close(SandboxRole role,
                    const std::vector<std::string>& readable) {
  if (policy_.files.empty()) {
    std::vector<VisiblePath> files;
    files.reserve(readable.size());
    for (const std::string& path : readable) files.push_back({path});
    Confine(std::move(files));
  }
  // The sanitizers' own calls, at the end of the process, are no compiler's.
  if (kSanitized && role != SandboxRole::kCompiler) return;
  system_calls_ =
      Holds(AllowSystemCalls(role), "this process can make any system call");
}

void Sandbox::LimitResources() {
  // A sanitizer maps terabytes that it never touches.
  if (policy_.address_space > 0 && !kSanitized) {
    Limit(RLIMIT_AS, policy_.address_space, "memory");
  }
  if (policy_.private_memory > 0 && !kSanitized) {
    Limit(RLIMIT_DATA, policy_.private_memory, "memory of its own");
  }
  Limit(RLIMIT_CORE, 0, "core files");
  if (policy_.descriptors > 0) {
    Limit(RLIMIT_NOFILE, policy_.descriptors, "descriptors");
  }
  if (policy_.file_bytes > 0) {
    // A write beyond shall fail rather than kill.
    signal(SIGXFSZ, SIG_IGN);
    Limit(RLIMIT_FSIZE, policy_.file_bytes, "files' sizes");
  }
  // It counts all processes of a user: this one alone, if the user is its own
  // or known in its namespaces only.
  const bool alone =
      start_.user != 0 || start_.own_namespaces != Namespaces::kNone;
  if (policy_.threads > 0 && alone) {
    Limit(RLIMIT_NPROC, policy_.threads, "threads");
  }
}

// Who reads a path of the list later, a compiler for one, would say no more
// than that there is no such file.
void Sandbox::Confine(std::vector<VisiblePath> files) {
  // LeakSanitizer reads at the end which threads the process has.
  if (kSanitized) files.push_back({"/proc/self"});
  const std::vector<std::string> readable = ReadableOf(files);
  BoundFiles(files);
  GiveUpPrivileges();
  for (const std::string& path : readable) {
    Holds(CheckReadable(path), "a path that this process needs is hidden");
  }
}

// Each of the means that works: mounts hide what Landlock forbids.
void Sandbox::BoundFiles(const std::vector<VisiblePath>& files) {
  std::vector<std::string> means;
  if (start_.own_namespaces != Namespaces::kNone && !kSanitized &&
      Holds(ShowOnly(files), "no files are hidden by mounts")) {
    means.push_back("mounts");
  }
  const absl::Status landlock = AllowFiles(files);
  if (landlock.ok()) means.push_back("Landlock");
  files_ = absl::StrJoin(means, " and ");
  if (means.empty()) {
    LogWarning("this process can read any file that the daemon can: ",
               landlock.message());
  }
}

void Sandbox::GiveUpPrivileges() {
  if (start_.user != 0) {
    const absl::Status status = BecomeUser(start_.user);
    own_user_ = status.ok();
    if (!own_user_) LogDebug("no user of its own: ", status.message());
  }
  Holds(DropCapabilities(), "capabilities are kept");
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // libcuda names its threads in files that are root's in a process that cannot
  // be traced, and fails if it cannot; a change of user makes it such.
  const bool cuda = policy_.role == SandboxRole::kCudaExecutor;
  prctl(PR_SET_DUMPABLE, cuda ? 1 : 0, 0, 0, 0);
  // The change of user has cleared it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

absl::Status Sandbox::Check() const {
  if (!start_.required || complete() || kSanitized) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "a sandbox is required, since others than this user may connect to the "
      "software device or --require-sandbox is given, and this machine offers "
      "only: ",
      ToString(), "; --trust-clients serves people who are trusted without"));
}

std::string Sandbox::ToString() const {
  return absl::StrCat(
      files_.empty() ? "no bound on files" : "files by ", files_,
      system_calls_ ? ", system calls by seccomp" : ", any system call", ", ",
      NameOf(start_.own_namespaces), own_user_ ? ", a user of its own" : "",
      ", limits of ",
      policy_.address_space > 0 ? "memory, time, files" : "memory, threads",
      " and descriptors");
}

}  // namespace holdfast
