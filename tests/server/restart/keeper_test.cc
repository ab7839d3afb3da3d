// SPDX-License-Identifier: Apache-2.0
//
// The keeper with a daemon that is this program again: it hands over
// descriptors and is killed, and the next one writes down what it has got.
#include "server/restart/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "gtest/gtest.h"
#include "server/restart/descriptor_list.h"
#include "server/service_manager/notify.h"

namespace holdfast {
namespace {

constexpr char kDaemonRole[] = "--daemon-of-the-test";
constexpr int kDumpable = 99;  // exit code of a keeper that can be traced

// More than a string of the environment has room for.
constexpr int kMany = 5000;
std::string NameOf(int number) {
  return absl::StrCat("hf.chunk.7.10000", absl::Hex(number, absl::kZeroPad4),
                      ".0.7f2000000000.2000000");
}

// argv: the program, kDaemonRole, a file, then flags.
int RunAsDaemon(int argc, char** argv) {
  const std::string file = argv[2];
  const int count = std::atoi(argv[3]);
  const auto taken = TakeListedDescriptors();
  if (!taken.ok()) return 2;
  if (taken->empty() && count > 0) {
    for (int i = 0; i < count; ++i) {
      const std::string name = NameOf(i);
      const UniqueFd memory = *CreateSealedMemfd("kept", name);
      if (!NotifyServiceManager("FDSTORE=1\nFDNAME=" + name, memory.get())) {
        return 3;
      }
    }
    if (count > 1) {
      NotifyServiceManager("FDSTOREREMOVE=1\nFDNAME=" + NameOf(0));
    }
    raise(SIGKILL);
  }
  int right = 0;
  for (const auto& [name, fd] : *taken) {
    const auto bytes =
        FileMapping::Map(fd.get(), FileMapping::Access::kReadOnly);
    if (bytes.ok() && bytes->bytes() == name && name != NameOf(0)) ++right;
  }
  std::ofstream(file) << right << "\n"
                      << absl::StrJoin(argv + 4, argv + argc, " ") << "\n";
  return 0;
}

struct Outcome {
  int status = -1;
  int right = -1;     // descriptors that have come back as they were
  std::string flags;  // of the last daemon
};

// Runs a keeper to its end, with a daemon that has `count` descriptors kept.
Outcome Keep(int count, const std::vector<std::string>& flags, int ready_fd) {
  const std::string file =
      absl::StrCat(testing::TempDir(), "/keeper-", getpid());
  const pid_t keeper = fork();
  if (keeper == 0) {
    std::vector<std::string> arguments = {"/proc/self/exe", kDaemonRole, file,
                                          absl::StrCat(count)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const int status = RunKeeper(arguments, ready_fd);
    // Nobody may read what it keeps.
    _exit(prctl(PR_GET_DUMPABLE) == 0 ? status : kDumpable);
  }
  Outcome outcome;
  waitpid(keeper, &outcome.status, 0);
  std::ifstream written(file);
  written >> outcome.right >> std::ws;
  std::getline(written, outcome.flags);
  unlink(file.c_str());
  return outcome;
}

TEST(KeeperTest, ManyDescriptorsOutliveADaemonThatIsKilled) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < kMany + 100) GTEST_SKIP() << "too few descriptors";
  const Outcome outcome = Keep(kMany, {}, /*ready_fd=*/-1);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.right, kMany - 1);
}

TEST(KeeperTest, OnlyTheFirstDaemonWritesToTheReadyDescriptor) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const std::string fd = absl::StrCat(writer.get());
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--ready-fd=" + fd, "--other"},
        std::vector<std::string>{"--ready-fd", fd, "--other"},
        // It stands in the configuration file.
        std::vector<std::string>{"--other"}}) {
    const Outcome outcome = Keep(1, flags, writer.get());
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.flags, "--other --ready-fd=-1");
  }
}

TEST(KeeperTest, ADaemonThatIsNotKilledEndsItsKeeper) {
  const Outcome outcome = Keep(0, {"--flag"}, /*ready_fd=*/-1);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.flags, "--flag");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  if (argc > 3 && std::string(argv[1]) == holdfast::kDaemonRole) {
    return holdfast::RunAsDaemon(argc, argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
