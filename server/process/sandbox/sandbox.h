// SPDX-License-Identifier: Apache-2.0
//
// Confines a compiler or an executor, so that hostile code in it cannot reach
// anything outside the process. All mechanisms of the kernel are used together,
// so that a hole in one is not enough to escape. A mechanism that the machine
// lacks is skipped and reported.
//
//   Sandbox sandbox(SoftwareExecutorPolicy(driver_path), own_namespaces);
//   ... load the driver, start threads ...
//   sandbox.Close();
//   ... from here on, run what clients send ...
#ifndef HOLDFAST_SERVER_PROCESS_SANDBOX_SANDBOX_H_
#define HOLDFAST_SERVER_PROCESS_SANDBOX_SANDBOX_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/process/sandbox/policy.h"

namespace holdfast {

// The isolation that the spawner gave the process when it started it.
struct SandboxStart {
  Namespaces own_namespaces = Namespaces::kNone;
  uid_t user = 0;         // user to become; 0: unchanged
  bool required = false;  // refuse to serve outside of a sandbox
};

class Sandbox {
 public:
  // Takes the first step: sets limits, hides all files but the policy's,
  // changes to the user of `start`, drops all capabilities, and forbids new
  // privileges and core dumps. Also forbids others to trace the process, except
  // for a CUDA executor, because libcuda fails in a process that cannot be
  // traced. Libraries among the visible files can still be loaded. If the
  // policy has no files, only sets limits; Close then does the rest. REQUIRES:
  // the process has one thread.
  Sandbox(const SandboxPolicy& policy, const SandboxStart& start);

  // Takes the second step: allows only the system calls of `role`, which may
  // differ from the policy's role once the driver is known. If the policy has
  // no files, first does what the first step has left out, with the directories
  // `readable` as the visible files.
  void Close(SandboxRole role, const std::vector<std::string>& readable = {});

  // True if both system calls and files are restricted, as a process that runs
  // untrusted code needs.
  bool complete() const { return system_calls_ && !files_.empty(); }

  // Returns an error if the process must not serve. FAILED_PRECONDITION:
  // SandboxStart::required is true, and the sandbox is not complete.
  absl::Status Check() const;

  // Describes the sandbox: "files by Landlock, system calls by seccomp, own
  // namespaces, ...". Missing mechanisms appear as "no ..." or "any ...".
  std::string ToString() const;

 private:
  void LimitResources();
  // Calls BoundFiles and GiveUpPrivileges, and logs paths that cannot be read.
  void Confine(std::vector<VisiblePath> files);
  void BoundFiles(const std::vector<VisiblePath>& files);
  void GiveUpPrivileges();

  const SandboxPolicy policy_;
  const SandboxStart start_;
  bool own_user_ = false;
  bool system_calls_ = false;
  std::string files_;  // the mechanism; empty: not restricted
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_SANDBOX_H_
