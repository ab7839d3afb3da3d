// SPDX-License-Identifier: Apache-2.0
//
// Keeps code that has taken over a compiler or an executor from reaching more
// than that one process. The kernel's means are used one behind the other, so
// that a hole in one is no way out; what a machine does not offer is left out,
// and said to be.
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
  uid_t user = 0;         // to become, or 0: the one that it is
  bool required = false;  // nothing may be served outside of a sandbox
};

class Sandbox {
 public:
  // The first step: limits, the policy's files and no others, its user, no
  // capability, no way to gain privileges, no core dump, and no
  // tracer but of a CUDA executor, since libcuda fails in such a process.
  // Libraries among the visible files can still be loaded. REQUIRES: the
  // process has one thread.
  Sandbox(const SandboxPolicy& policy, const SandboxStart& start);

  // The second step: only the system calls of `role` work, which may be another
  // one than the policy's once the driver is known. A policy without files of
  // its own gets `readable` now: directories to read below.
  void Close(SandboxRole role, const std::vector<std::string>& readable = {});

  // True if both system calls and files are bounded: what a process needs that
  // runs code of people who are not trusted.
  bool complete() const { return system_calls_ && !files_.empty(); }

  // FAILED_PRECONDITION: a sandbox is required, and is not complete here.
  absl::Status Check() const;

  // "files by Landlock, system calls by seccomp, own namespaces, ..."; means
  // that are missing stand there as "no ..." or "any ...".
  std::string ToString() const;

 private:
  void LimitResources();
  // Both of the next, and says which of the paths cannot be read after all.
  void Confine(const std::vector<VisiblePath>& files);
  void BoundFiles(const std::vector<VisiblePath>& files);
  void GiveUpPrivileges();

  const SandboxPolicy policy_;
  const SandboxStart start_;
  bool own_user_ = false;
  bool system_calls_ = false;
  std::string files_;  // by which means; empty: they are not bounded
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_SANDBOX_H_
