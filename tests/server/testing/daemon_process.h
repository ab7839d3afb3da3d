// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_DAEMON_PROCESS_H_
#define HOLDFAST_TESTS_SERVER_TESTING_DAEMON_PROCESS_H_

#include <grpcpp/channel.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast {

// The real holdfastd, $HOLDFAST_DAEMON, on the software device, or on the one
// that $HOLDFAST_TEST_DEVICE names ("cuda"), in a temporary directory, on a
// Unix socket and a free loopback port. Ends with the test.
class DaemonProcess {
 public:
  explicit DaemonProcess(std::vector<std::string> more_flags = {});
  ~DaemonProcess();

  pid_t pid() const { return pid_; }
  const std::string& directory() const { return directory_; }
  std::string socket() const { return directory_ + "/holdfast.sock"; }
  const std::string& tcp_address() const { return tcp_; }
  // With --metrics-address: "127.0.0.1:41231".
  const std::string& metrics_address() const { return metrics_; }

  // New connections each.
  std::shared_ptr<grpc::Channel> Unix() const;
  std::shared_ptr<grpc::Channel> Tcp() const;

  // The exit code, or minus the signal.
  int Wait();

 private:
  void ReadAddresses(int ready_fd);

  std::string directory_;
  pid_t pid_ = -1;
  std::string tcp_;
  std::string metrics_;
};

// A channel of its own, with room for a compiler's log in the trailer.
std::shared_ptr<grpc::Channel> Connect(const std::string& target);

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_DAEMON_PROCESS_H_
