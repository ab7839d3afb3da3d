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

// Something that code in a process that it has taken over would do.
struct EscapeAttempt {
  const char* name;  // "read a file"
  // Returns 0 if it worked, else the errno with which it failed.
  int (*run)(const Outside& outside);
};

const std::vector<EscapeAttempt>& EscapeAttempts();

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SERVER_PROCESS_SANDBOX_ESCAPE_ATTEMPTS_H_
