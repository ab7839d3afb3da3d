// SPDX-License-Identifier: Apache-2.0
//
// Executors of groups, and their control daemons: this program is each of them,
// by the name of a behaviour.
#include "server/supervisor/shared_executors.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "server/channel/channel.h"
#include "server/process/spawner.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::supervisor {
namespace {

using holdfast::testing::StatusIs;

constexpr char kBehaviour[] = "--behave=";
constexpr absl::Duration kHang = absl::Seconds(30);

[[noreturn]] void Behave(absl::string_view behaviour) {
  if (behaviour == "broken") _exit(1);
  Channel channel{UniqueFd(kChildChannelFd)};
  if (behaviour == "control daemon") {
    std::ofstream(absl::StrCat(getenv("CUDA_MPS_PIPE_DIRECTORY"), "/control"));
  } else {
    internal::FromExecutor ready;
    for (uint32_t ordinal = 0; ordinal < 4; ++ordinal) {
      v1::Device& device = *ready.mutable_ready()->add_devices();
      device.set_ordinal(ordinal);
      device.set_name("a device");
      device.set_total_memory(1 << 30);
    }
    static_cast<void>(channel.Send(ready));
  }
  internal::ToExecutor request;
  while (channel.Receive(&request).ok()) {
  }
  _exit(0);
}

class SharedExecutorsTest : public ::testing::Test {
 protected:
  ~SharedExecutorsTest() override {
    servers_.End();
    std::filesystem::remove_all(directory_);
  }

  absl::StatusOr<std::unique_ptr<ChildProcess>> StartControlDaemon(
      const std::vector<std::string>& environment) {
    auto process = spawner_->Spawn({absl::StrCat(kBehaviour, "control daemon")},
                                   {.environment = environment});
    if (process.ok()) control_daemon_ = (*process)->pid();
    return process;
  }

  SharedExecutors::Starter Starter() {
    return [this](const SharedExecutors::Start& start) {
      absl::MutexLock lock(&mutex_);
      devices_started_.push_back(start.device);
      pipes_ = *start.pipes;
      return ExecutorProcess::Start(
          *spawner_,
          {absl::StrCat(kBehaviour,
                        start.device == broken_ ? "broken" : "executor")},
          {},
          {store_, code_, ledger_, memory_, exports_, collections_, kept_,
           totals_, pacer_});
    };
  }

  // Returns the pipes of the last executor that was started.
  std::string pipes() {
    absl::MutexLock lock(&mutex_);
    return pipes_;
  }

  void Break(uint32_t device) {
    absl::MutexLock lock(&mutex_);
    broken_ = device;
  }

  bool AwaitStarts(uint32_t device, int count) {
    const auto started = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return std::count(devices_started_.begin(), devices_started_.end(),
                        device) >= count;
    };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&started), kHang);
  }

  const std::unique_ptr<Spawner> spawner_ = Spawner::Create({}).value();
  ObjectStore store_{1000};
  CodeCache code_{"", 0};
  MemoryLedger ledger_{0};
  DeviceMemory memory_;
  ExportRegistry exports_;
  collections::CollectionTable collections_;
  DescriptorStore kept_;
  ExecutionTotals totals_;
  SharePacer pacer_;
  const std::string directory_ = [] {
    char name[] = "/tmp/holdfast-mps-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  pid_t control_daemon_ = 0;
  absl::Mutex mutex_;
  std::vector<uint32_t> devices_started_ ABSL_GUARDED_BY(mutex_);
  std::string pipes_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint32_t> broken_ ABSL_GUARDED_BY(mutex_);
  MpsServers servers_{
      {.control_daemon = "nvidia-cuda-mps-control",
       .directory = directory_,
       .start = [this](const std::string&,
                       const std::vector<std::string>& environment) {
         return StartControlDaemon(environment);
       }}};
  const Concurrency group_ = {.group = "g"};
};

TEST_F(SharedExecutorsTest, ExecutorsHaveThePipesOfTheControlDaemonThatRuns) {
  SharedExecutors shared(servers_, Starter(), /*warm=*/0);
  ASSERT_OK(shared.Take(group_, {0}, absl::Now() + kHang));
  const std::string first = pipes();
  EXPECT_EQ(*servers_.PipeDirectory(group_).value(), first);
  ASSERT_EQ(kill(control_daemon_, SIGKILL), 0);
  while (*servers_.PipeDirectory(group_).value() == first) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  ASSERT_OK(shared.Take(group_, {0}, absl::Now() + kHang));
  EXPECT_EQ(pipes(), *servers_.PipeDirectory(group_).value());
  EXPECT_FALSE(std::filesystem::exists(first));
}

TEST_F(SharedExecutorsTest, ADeviceThatIsNotUsableIsNotHeldAgainstOthers) {
  SharedExecutors shared(servers_, Starter(), /*warm=*/0);
  ASSERT_OK(shared.Take(group_, {0}, absl::Now() + kHang));
  Break(1);
  EXPECT_THAT(shared.Take(group_, {1}, absl::Now() + kHang),
              StatusIs(absl::StatusCode::kUnavailable, "no executor could be"));
  // The next try would come after a pause.
  shared.SetUsable(1, false);
  EXPECT_OK(shared.Take(group_, {0}, absl::Now() + kHang));
}

TEST_F(SharedExecutorsTest, ALaterGroupHasNoneWaitOnADeviceThatIsNotUsable) {
  SharedExecutors shared(servers_, Starter(), /*warm=*/2);
  shared.SetUsable(0, false);
  ASSERT_OK_AND_ASSIGN(const auto executor,
                       shared.Take(group_, {1}, absl::Now() + kHang));
  // It and the two that wait; else one would wait on device 0.
  EXPECT_TRUE(AwaitStarts(1, 3));
}

TEST_F(SharedExecutorsTest, OneWaitsOnAReadyDeviceWhileItsOwnIsNot) {
  SharedExecutors shared(servers_, Starter(), /*warm=*/1);
  shared.SetUsable(1, false);
  ASSERT_OK(shared.Take(group_, {0}, absl::Now() + kHang));
  shared.SetUsable(0, false);
  EXPECT_TRUE(AwaitStarts(2, 1));
}

TEST_F(SharedExecutorsTest, AGroupBeginsOnADeviceOfItsFirstSession) {
  SharedExecutors shared(servers_, Starter(), /*warm=*/0);
  ASSERT_OK(shared.Take(group_, {3, 1}, absl::Now() + kHang));
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(devices_started_, std::vector<uint32_t>{3});
}

TEST_F(SharedExecutorsTest, ExecutorsAreCountedByGroupUntilThatIsGone) {
  SharedExecutors shared(servers_, Starter(), /*warm=*/0);
  EXPECT_TRUE(shared.statistics().empty());
  const Concurrency quarter = {.group = "g", .thread_percentage = 25};
  ASSERT_OK(shared.Take(group_, {0}, absl::Now() + kHang));
  ASSERT_OK(shared.Take(quarter, {0}, absl::Now() + kHang));
  ASSERT_OK(shared.Take({.group = "h"}, {0}, absl::Now() + kHang));
  Break(1);
  EXPECT_FALSE(shared.Take(quarter, {1}, absl::Now() + kHang).ok());
  auto by_group = shared.statistics();
  EXPECT_EQ(by_group["g"].started, 2u);
  EXPECT_EQ(by_group["g"].failed, 2u);  // it was tried twice
  EXPECT_TRUE(by_group["g"].failing);
  EXPECT_EQ(by_group["h"].started, 1u);
  EXPECT_FALSE(by_group["h"].failing);
  // One of the group's pools ends, and its sums stay.
  shared.Retain({group_});
  by_group = shared.statistics();
  EXPECT_EQ(by_group["g"].started, 2u);
  EXPECT_FALSE(by_group["g"].failing);
  EXPECT_FALSE(by_group.contains("h"));
  shared.Retain({});
  EXPECT_TRUE(shared.statistics().empty());
}

}  // namespace
}  // namespace holdfast::supervisor

int main(int argc, char** argv) {
  if (argc == 2 &&
      absl::StartsWith(argv[1], holdfast::supervisor::kBehaviour)) {
    holdfast::supervisor::Behave(argv[1] +
                                 std::strlen(holdfast::supervisor::kBehaviour));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
