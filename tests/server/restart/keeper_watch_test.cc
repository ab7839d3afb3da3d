// SPDX-License-Identifier: Apache-2.0
//
// A daemon whose keeper is killed. Daemons and keepers are this program again;
// it reaps all of them, also those whose parents have died.
#include "server/restart/keeper_watch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "gtest/gtest.h"
#include "server/kept/descriptor_store.h"
#include "server/restart/arguments.h"
#include "server/restart/descriptor_list.h"
#include "server/restart/keeper.h"
#include "server/restart/keeper_handover.h"
#include "server/service_manager/notify.h"

namespace holdfast {
namespace {

constexpr char kDaemonRole[] = "--daemon-of-the-test";
// Flags of daemons.
constexpr char kDies[] = "--dies";
constexpr char kEnds[] = "--ends";
constexpr char kHasBrokenKeepers[] = "--has-broken-keepers";

// More than the queue of a socket holds by default.
constexpr uint64_t kMany = 300;

// Kills the keeper, and waits for the address of the next one.
void ReplaceKeeper(pid_t keeper) {
  const std::string before = ServiceManagerAddress();
  kill(keeper, SIGKILL);
  while (ServiceManagerAddress() == before) {
    absl::SleepFor(absl::Milliseconds(1));
  }
}

// Reads the log of this process until it says that no keeper is started again.
void AwaitSurrender(int log) {
  std::string text;
  char bytes[4096];
  while (text.find("keepers have failed") == std::string::npos) {
    const ssize_t got = read(log, bytes, sizeof bytes);
    if (got > 0) text.append(bytes, static_cast<size_t>(got));
  }
}

// The first daemon has descriptors kept, and loses its keeper. Returns the exit
// code, if it is not to be killed.
int RunFirst(const std::vector<std::string>& arguments, UniqueFd keeper) {
  DescriptorStore store;
  const UniqueFd memory = *CreateSealedMemfd("kept", "bytes");
  std::vector<DescriptorStore::Kept> kept;
  for (uint64_t i = 0; i < kMany; ++i) {
    kept.push_back(store.Keep({"chunk", {7, i}}, memory.get()));
  }
  store.Settle();
  KeeperWatch watch(std::move(keeper), arguments, store);
  ReplaceKeeper(getppid());
  // Waits until the new keeper has all the others.
  kept.push_back(store.Keep({"chunk", {8}}, memory.get()));
  kept.erase(kept.begin());
  if (arguments[3] == kDies) raise(SIGKILL);
  NotifyServiceManager("STOPPING=1");
  return 0;
}

// Goes on until it has no keeper for good.
int RunWithBrokenKeepers(const std::vector<std::string>& arguments,
                         UniqueFd keeper) {
  DescriptorStore store;
  const UniqueFd memory = *CreateSealedMemfd("kept", "bytes");
  const auto kept = store.Keep({"chunk", {7}}, memory.get());
  store.Settle();
  int log[2];
  if (pipe(log) != 0 || dup2(log[1], STDERR_FILENO) < 0) return 4;
  const KeeperWatch watch(std::move(keeper), arguments, store);
  kill(getppid(), SIGKILL);
  AwaitSurrender(log[0]);
  return 0;
}

// argv: the program, kDaemonRole, a file, a flag, then other flags.
// The next daemon writes down what it has got.
int RunAsDaemon(const std::vector<std::string>& arguments) {
  UniqueFd keeper = TakeKeeper();
  if (!keeper.valid()) return 2;
  const auto taken = TakeListedDescriptors();
  if (!taken.ok()) return 3;
  if (arguments[3] == kHasBrokenKeepers) {
    return RunWithBrokenKeepers(arguments, std::move(keeper));
  }
  if (taken->empty()) return RunFirst(arguments, std::move(keeper));
  size_t right = 0;
  for (const auto& [name, fd] : *taken) {
    const auto bytes =
        FileMapping::Map(fd.get(), FileMapping::Access::kReadOnly);
    if (bytes.ok() && bytes->bytes() == "bytes") ++right;
  }
  std::ofstream(arguments[2]) << right << "\n" << arguments.back() << "\n";
  return 0;
}

int RunRole(std::vector<std::string> arguments) {
  const auto flag =
      std::find(arguments.begin(), arguments.end(), "--keeper=true");
  if (flag == arguments.end()) return RunAsDaemon(arguments);
  if (arguments[3] == kHasBrokenKeepers) return 1;
  SetFlag("--keeper", /*takes_value=*/false, "false", &arguments);
  return RunKeeper(arguments, /*ready_fd=*/-1);
}

// Runs a keeper, its daemon and all that these start. Returns the number of
// those that have ended in order, the first keeper left out; then what the last
// daemon has written.
std::pair<int, std::string> RunAll(const char* flag) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const std::string file =
      absl::StrCat(testing::TempDir(), "/keeper-watch-", getpid());
  if (fork() == 0) {
    _exit(RunKeeper({"/proc/self/exe", kDaemonRole, file, flag},
                    /*ready_fd=*/-1));
  }
  int in_order = 0;
  int status = 0;
  while (wait(&status) > 0) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) ++in_order;
  }
  std::ifstream written(file);
  std::string text((std::istreambuf_iterator<char>(written)), {});
  unlink(file.c_str());
  return {in_order, std::move(text)};
}

TEST(KeeperWatchTest, TheNextDaemonHasAllFromTheNextKeeper) {
  const auto [in_order, written] = RunAll(kDies);
  EXPECT_EQ(written, absl::StrCat(kMany, "\n--keeper=false\n"));
  EXPECT_EQ(in_order, 1);  // The second keeper, with its daemon.
}

TEST(KeeperWatchTest, AKeeperEndsWithTheDaemonThatHasStartedIt) {
  const auto [in_order, written] = RunAll(kEnds);
  EXPECT_EQ(written, "");
  EXPECT_EQ(in_order, 2);  // The daemon and the second keeper.
}

TEST(KeeperWatchTest, ADaemonWhoseKeepersAllFailGoesOnWithout) {
  const auto [in_order, written] = RunAll(kHasBrokenKeepers);
  EXPECT_EQ(written, "");
  EXPECT_EQ(in_order, 1);  // The daemon.
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  if (argc > 3 && std::string(argv[1]) == holdfast::kDaemonRole) {
    return holdfast::RunRole({argv, argv + argc});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
