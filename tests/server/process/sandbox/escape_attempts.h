// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_PROCESS_SANDBOX_ESCAPE_ATTEMPTS_H_
#define HOLDFAST_TESTS_SERVER_PROCESS_SANDBOX_ESCAPE_ATTEMPTS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace holdfast::testing {

// The world outside, as an attacker may know it.
struct Outside {
  pid_t supervisor = 0;
  std::string secret_file;  // readable by everybody, outside of any policy
  std::string directory;    // writable by everybody
  std::string socket_path;  // a Unix socket that listens
};

// The part of the sandbox that stops an attempt, by which its errno is known.
enum class Wall {
  kSystemCalls,  // seccomp: EPERM
  // A file to read: seccomp in executors on the software device, which open
  // none, else mounts (ENOENT) or, without namespaces, Landlock (EACCES).
  kReading,
  // A file to write: seccomp but in CUDA executors.
  kWriting,
  // A file of another process: as kReading, but CUDA executors see /proc.
  kProcesses,
  kDescriptorLimit,  // EMFILE
  kThreadLimit,      // EAGAIN
  kMemoryLimit,      // ENOMEM
};

// Something that code in a process that it has taken over would do.
struct EscapeAttempt {
  const char* name;  // "read a file"
  // Returns 0 if it worked, else the errno with which it failed.
  int (*run)(const Outside& outside);
  Wall wall = Wall::kSystemCalls;
  bool works_outside = false;  // for any user, on any machine
};

const std::vector<EscapeAttempt>& EscapeAttempts();

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SERVER_PROCESS_SANDBOX_ESCAPE_ATTEMPTS_H_
