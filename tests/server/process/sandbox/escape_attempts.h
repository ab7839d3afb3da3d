// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_PROCESS_SANDBOX_ESCAPE_ATTEMPTS_H_
#define HOLDFAST_TESTS_SERVER_PROCESS_SANDBOX_ESCAPE_ATTEMPTS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace holdfast::testing {

// Targets outside of the sandbox that an attacker may know.
struct Outside {
  pid_t supervisor = 0;
  std::string secret_file;  // readable by everybody, outside of any policy
  std::string directory;    // writable by everybody
  std::string socket_path;  // a Unix socket that listens
};

// The part of the sandbox that stops an attempt. It determines the errno.
enum class Wall {
  kSystemCalls,  // seccomp: EPERM
  // Reading a file. Executors on the software device: seccomp, because they
  // open no files. Other processes: mounts (ENOENT) or, without namespaces,
  // Landlock (EACCES).
  kReading,
  // Writing a file. CUDA executors: as kReading. Other processes: seccomp.
  kWriting,
  // A file of another process. As kReading, but CUDA executors can see /proc.
  kProcesses,
  kDescriptorLimit,  // EMFILE
  kThreadLimit,      // EAGAIN
  kMemoryLimit,      // ENOMEM
};

// An action that malicious code in a sandboxed process would try.
struct EscapeAttempt {
  const char* name;  // "read a file"
  // Returns 0 if the attempt succeeded, else its errno.
  int (*run)(const Outside& outside);
  Wall wall = Wall::kSystemCalls;
  // Without the sandbox the attempt succeeds for any user on any machine.
  bool works_outside = false;
};

const std::vector<EscapeAttempt>& EscapeAttempts();

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SERVER_PROCESS_SANDBOX_ESCAPE_ATTEMPTS_H_
