// SPDX-License-Identifier: Apache-2.0
#include "server/compile/confinement.h"

#include <signal.h>
#include <sys/resource.h>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/sanitizer.h"
#include "server/compile/file_confinement.h"
#include "server/compile/namespaces.h"
#include "server/compile/system_calls.h"

namespace holdfast {
namespace {

constexpr rlim_t kDescriptors = 64;
constexpr rlim_t kThreads = 64;

void Limit(int resource, rlim_t value, const char* name) {
  const rlimit limit = {value, value};
  if (setrlimit(resource, &limit) != 0) LogWarning("no limit of ", name);
}

bool Holds(const absl::Status& status, const char* without) {
  if (!status.ok()) LogWarning(without, ": ", status.message());
  return status.ok();
}

}  // namespace

Confinement::Confinement(const Limits& limits)
    : own_namespaces_(Holds(EnterOwnNamespaces(),
                            "compilers have no namespaces of their own")) {
  LimitResources(limits);
}

void Confinement::LimitResources(const Limits& limits) {
  if (!kSanitized) Limit(RLIMIT_AS, limits.memory_bytes, "memory");
  Limit(RLIMIT_CORE, 0, "core files");
  Limit(RLIMIT_NOFILE, kDescriptors, "descriptors");
  // A write beyond shall fail rather than kill.
  signal(SIGXFSZ, SIG_IGN);
  Limit(RLIMIT_FSIZE, limits.file_bytes, "files' sizes");
  // Counts this process alone only in a namespace of its own.
  if (own_namespaces_) Limit(RLIMIT_NPROC, kThreads, "threads");
}

void Confinement::Close(const std::vector<std::string>& readable) {
  CloseFiles(readable);
  if (own_namespaces_) {
    Holds(DropCapabilities(), "compilers keep capabilities of their namespace");
  }
  system_calls_ =
      Holds(ForbidSystemCalls(), "compilers can make any system call");
}

// The first of these that works.
void Confinement::CloseFiles(const std::vector<std::string>& readable) {
  const absl::Status landlock = AllowFilesBelow(readable);
  if (landlock.ok()) {
    files_ = "Landlock";
    return;
  }
  if (own_namespaces_ && ShowOnly(readable).ok()) {
    files_ = "mounts";
    return;
  }
  LogWarning("compilers can read any file that the daemon can: ",
             landlock.message());
}

std::string Confinement::ToString() const {
  return absl::StrCat(
      files_.empty() ? "no bound on files" : "files by ", files_,
      system_calls_ ? ", system calls by seccomp" : ", any system call",
      own_namespaces_ ? ", own namespaces without a network"
                      : ", no namespaces of their own",
      ", limits of memory, time, files and descriptors");
}

}  // namespace holdfast
