// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_DAEMON_PROCESS_H_
#define HOLDFAST_TESTS_SERVER_TESTING_DAEMON_PROCESS_H_

#include <grpcpp/channel.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast {

// A process of the real holdfastd, $HOLDFAST_DAEMON. It uses the software
// device, or $HOLDFAST_TEST_DEVICE ("cuda"). It listens on a Unix socket in a
// temporary directory and on a free loopback port. The destructor kills the
// process and removes the directory.
class DaemonProcess {
 public:
  // Starts the daemon. Blocks until it is ready.
  explicit DaemonProcess(std::vector<std::string> more_flags = {});
  ~DaemonProcess();

  pid_t pid() const { return pid_; }
  const std::string& directory() const { return directory_; }
  std::string socket() const { return directory_ + "/holdfast.sock"; }
  const std::string& tcp_address() const { return tcp_; }
  // Returns "127.0.0.1:41231"; empty without --metrics-address.
  const std::string& metrics_address() const { return metrics_; }

  // Each call opens a new connection.
  std::shared_ptr<grpc::Channel> Unix() const;
  std::shared_ptr<grpc::Channel> Tcp() const;

  // Blocks until the process has ended. Returns its exit code, or minus the
  // number of the signal that ended it. REQUIRES: called once.
  int Wait();

 private:
  void ReadAddresses(int ready_fd);

  std::string directory_;
  pid_t pid_ = -1;
  std::string tcp_;
  std::string metrics_;
};

// Returns a channel with a connection of its own and room for a compiler's log
// in the trailer.
std::shared_ptr<grpc::Channel> Connect(const std::string& target);

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_DAEMON_PROCESS_H_
