// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_E2E_DAEMON_PROCESS_H_
#define HOLDFAST_TESTS_E2E_DAEMON_PROCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/process.h"

namespace holdfast::e2e {

// A holdfastd process, on the device $HOLDFAST_TEST_DEVICE or the software
// device. It listens on a Unix socket in its own directory, and on a free port
// of the loopback interface. The destructor stops it with SIGTERM, and waits
// for its end.
class DaemonProcess {
 public:
  // Starts the daemon, with `more_flags` after the flags of this class, and
  // blocks until it is ready.
  explicit DaemonProcess(const std::vector<std::string>& more_flags = {});
  ~DaemonProcess();

  const std::string& address() const { return unix_; }
  const std::string& tcp_address() const { return tcp_; }
  // The path of a directory for files of the test. The destructor removes the
  // directory.
  const std::string& directory() const { return directory_; }
  pid_t pid() const { return process_->pid(); }

 private:
  std::string directory_;
  std::string unix_;
  std::string tcp_;
  std::unique_ptr<Process> process_;
};

}  // namespace holdfast::e2e

#endif  // HOLDFAST_TESTS_E2E_DAEMON_PROCESS_H_
