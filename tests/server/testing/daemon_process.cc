// SPDX-License-Identifier: Apache-2.0
#include "tests/server/testing/daemon_process.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace holdfast {

std::shared_ptr<grpc::Channel> Connect(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, 4 << 20);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(),
                                   arguments);
}

DaemonProcess::DaemonProcess(std::vector<std::string> more_flags) {
  char name[] = "/tmp/holdfast-test-XXXXXX";
  directory_ = mkdtemp(name);
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const char* const device = getenv("HOLDFAST_TEST_DEVICE");
  std::vector<std::string> flags = {
      getenv("HOLDFAST_DAEMON"),
      std::string("--device=") + (device != nullptr ? device : "cpu"),
      "--listen=unix:" + socket(),
      "--listen=tcp:127.0.0.1:0",
      "--runtime-dir=" + directory_,
      "--ready-fd=" + std::to_string(ready[1])};
  const auto names_cache = [](const std::string& flag) {
    return flag.rfind("--cache-directory=", 0) == 0;
  };
  if (std::none_of(more_flags.begin(), more_flags.end(), names_cache)) {
    flags.push_back("--cache-directory=" + directory_ + "/programs");
  }
  flags.insert(flags.end(), more_flags.begin(), more_flags.end());
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    close(ready[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(ready[1]);
  ReadAddresses(ready[0]);
  close(ready[0]);
}

void DaemonProcess::ReadAddresses(int ready_fd) {
  std::string line;
  char byte = 0;
  while (read(ready_fd, &byte, 1) == 1) line.push_back(byte);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.rfind("tcp:", 0) == 0) tcp_ = word.substr(4);
    if (word.rfind("http://", 0) == 0) {
      metrics_ = word.substr(7, word.find('/', 7) - 7);
    }
  }
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
  std::filesystem::remove_all(directory_);
}

std::shared_ptr<grpc::Channel> DaemonProcess::Unix() const {
  return Connect("unix:" + socket());
}

std::shared_ptr<grpc::Channel> DaemonProcess::Tcp() const {
  return Connect(tcp_);
}

int DaemonProcess::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace holdfast
