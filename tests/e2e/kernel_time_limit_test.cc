// SPDX-License-Identifier: Apache-2.0
//
// A kernel that never ends costs its session an epoch, and nobody else
// anything.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/fault.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/graph_exec.h"
#include "client/cpp/graph/stream_capture.h"
#include "client/cpp/launch.h"
#include "client/cpp/semaphore.h"
#include "client/cpp/session.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/server/testing/daemon_process.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void add(int* x, int value) {
  x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}
extern "C" __global__ void spin(volatile int* flag) {
  while (*flag == 0) {}
}
)";

constexpr int kCount = 1 << 12;
constexpr absl::Duration kLimit = absl::Milliseconds(300);
// Of sessions whose kernels end, also on a machine that has much else to do.
constexpr absl::Duration kWideLimit = absl::Milliseconds(1500);
const LaunchConfig kOneThread = {.grid = 1, .block = 1};

// Longer than the limit, and than it takes to notice that.
void Outlast(absl::Duration limit) {
  absl::SleepFor(limit + absl::Milliseconds(600));
}

// A session with two streams, a buffer of known bytes and a flag that is 0.
class Client {
 public:
  explicit Client(const SessionOptions& options)
      : session_(Session::Open(options).value()),
        module_(session_
                    ->Load(Program(kSource, {.name = "spin.cu"})
                               .Compile(session_->daemon())
                               .value()
                               .object)
                    .value()),
        stream_(session_->device(0).CreateStream().value()),
        other_(session_->device(0).CreateStream().value()),
        numbers_(session_->device(0)
                     .Allocate(kCount * sizeof(int), stream_)
                     .value()),
        flag_(session_->device(0).Allocate(sizeof(int), stream_).value()),
        expected_(kCount) {
    std::iota(expected_.begin(), expected_.end(), 0);
    EXPECT_EQ(numbers_.Upload(expected_, stream_), absl::OkStatus());
    EXPECT_EQ(flag_.Upload(std::vector<int>{0}, stream_), absl::OkStatus());
    EXPECT_EQ(stream_.Synchronize(), absl::OkStatus());
  }

  Session& session() { return *session_; }
  const Stream& stream() { return stream_; }

  absl::Status Add(int value) {
    for (int& number : expected_) number += value;
    return Launch(stream_, {.grid = kCount / 256, .block = 256},
                  module_.GetKernel("add").value(), numbers_, value);
  }
  absl::Status Spin() {
    return Launch(stream_, kOneThread, module_.GetKernel("spin").value(),
                  flag_);
  }
  // Lets kernels that spin end.
  absl::Status Release() { return flag_.Upload(std::vector<int>{1}, other_); }

  void ExpectBytes() {
    std::vector<int> numbers(kCount);
    ASSERT_EQ(numbers_.Download(numbers, stream_), absl::OkStatus());
    EXPECT_EQ(numbers, expected_);
  }

  // The session goes on after exactly this fault.
  v1::FaultReport AwaitFault(const std::string& text) {
    const absl::Status status = stream_.Synchronize();
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
    const auto fault = FaultOf(status);
    EXPECT_TRUE(fault.has_value()) << status;
    return fault.value_or(v1::FaultReport());
  }

  v1::SessionInfo Info() {
    const auto sessions = session_->daemon().Sessions();
    for (const v1::SessionInfo& info : sessions.value()) {
      if (info.session_id() == session_->id()) return info;
    }
    return {};
  }

 private:
  std::unique_ptr<Session> session_;
  Module module_;
  Stream stream_;
  Stream other_;
  Buffer numbers_;
  Buffer flag_;
  std::vector<int> expected_;
};

class KernelTimeLimitTest : public testing::Test {
 protected:
  std::string Address() const { return "unix:" + daemon_.socket(); }

  const DaemonProcess daemon_;
};

// A tenant of the policy has one of its own, below which its sessions may go.
TEST(TenantsTimeLimitTest, NamesTheTenant) {
  char name[] = "/tmp/holdfast-policy-XXXXXX";
  const int file = mkstemp(name);
  ASSERT_GE(file, 0);
  close(file);
  std::ofstream(name) << "[tenants.lab]\nusers = [" << getuid()
                      << "]\nkernel-time-limit = \"300ms\"\n";
  const DaemonProcess daemon({std::string("--policy=") + name});
  for (const absl::Duration wish : {absl::ZeroDuration(), absl::Minutes(1)}) {
    Client client(
        {.address = "unix:" + daemon.socket(), .kernel_time_limit = wish});
    ASSERT_EQ(client.Spin(), absl::OkStatus());
    client.AwaitFault("kernel-time-limit of tenant lab in the policy");
    client.ExpectBytes();
  }
  unlink(name);
}

TEST_F(KernelTimeLimitTest, AnEndlessKernelIsNamedAndTheSessionGoesOn) {
  Client client({.address = Address(), .kernel_time_limit = kLimit});
  Client neighbour({.address = Address()});
  // Nothing limits this one, before, during and after the fault beside it.
  ASSERT_EQ(neighbour.Spin(), absl::OkStatus());
  ASSERT_EQ(client.Add(5), absl::OkStatus());
  ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  for (uint64_t epoch = 1; epoch <= 2; ++epoch) {
    ASSERT_EQ(client.Spin(), absl::OkStatus());
    const v1::FaultReport fault = client.AwaitFault("kernel spin");
    EXPECT_EQ(fault.epoch(), epoch);
    EXPECT_EQ(fault.kernel(), "spin");
    EXPECT_EQ(fault.lost_count(), 0u) << DescribeFault(fault);
    EXPECT_TRUE(absl::StrContains(fault.cause().message(),
                                  "kernel_time_limit of OpenSession"));
    EXPECT_GT(fault.submitted_through(), fault.completed_through());
    client.ExpectBytes();
    ASSERT_EQ(client.Add(3), absl::OkStatus());
    client.ExpectBytes();
    EXPECT_EQ(client.Info().epoch(), epoch + 1);
    EXPECT_EQ(client.Info().state(), v1::SessionInfo::STATE_ACTIVE);
  }
  ASSERT_EQ(neighbour.Release(), absl::OkStatus());
  EXPECT_EQ(neighbour.stream().Synchronize(), absl::OkStatus());
  neighbour.ExpectBytes();
  EXPECT_EQ(neighbour.Info().faults(), 0u);
}

TEST_F(KernelTimeLimitTest, AGraphIsNamedByItsKernel) {
  Client client({.address = Address(), .kernel_time_limit = kLimit});
  auto capture = StreamCapture::Begin(client.stream());
  ASSERT_TRUE(capture.ok()) << capture.status();
  ASSERT_EQ(client.Spin(), absl::OkStatus());
  const auto definition = capture->End();
  ASSERT_TRUE(definition.ok()) << definition.status();
  const auto graph = Graph::Create(client.session(), *definition);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto exec = graph->Instantiate();
  ASSERT_TRUE(exec.ok()) << exec.status();
  ASSERT_EQ(exec->Launch(client.stream()), absl::OkStatus());
  EXPECT_EQ(client.AwaitFault("graph_exec 0x").kernel(), "spin");
  // The graph is there again, and can be run to its end.
  ASSERT_EQ(client.Release(), absl::OkStatus());
  ASSERT_EQ(exec->Launch(client.stream()), absl::OkStatus());
  EXPECT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.ExpectBytes();
}

TEST_F(KernelTimeLimitTest, WaitingForASemaphoreIsNotRunning) {
  Client client({.address = Address(), .kernel_time_limit = kWideLimit});
  const auto semaphore = client.session().device(0).CreateSemaphore();
  ASSERT_TRUE(semaphore.ok()) << semaphore.status();
  ASSERT_EQ(semaphore->Wait(1, client.stream()), absl::OkStatus());
  ASSERT_EQ(client.Add(1), absl::OkStatus());
  ASSERT_TRUE(semaphore->Value().ok());
  Outlast(kWideLimit);
  ASSERT_EQ(semaphore->Signal(1), absl::OkStatus());
  EXPECT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.ExpectBytes();
  EXPECT_EQ(client.Info().faults(), 0u);
}

TEST_F(KernelTimeLimitTest, ManyShortKernelsMayTakeLonger) {
  Client client({.address = Address(), .kernel_time_limit = kWideLimit});
  const absl::Time end = absl::Now() + 2 * kWideLimit;
  while (absl::Now() < end) {
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.Add(1), absl::OkStatus());
    ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  }
  client.ExpectBytes();
  EXPECT_EQ(client.Info().faults(), 0u);
}

TEST_F(KernelTimeLimitTest, ASessionThatDoesNotRecoverEndsWithTheReason) {
  Client client({.address = Address(),
                 .kernel_time_limit = kLimit,
                 .recover = RecoveryPolicy::kNever});
  ASSERT_EQ(client.Spin(), absl::OkStatus());
  const absl::Status status = client.stream().Synchronize();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "kernel spin")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "the limit is 300ms"))
      << status;
}

// Its own thread cannot look for the kernel: the daemon notices that.
TEST_F(KernelTimeLimitTest, AnExecutorThatHangsIsEndedByTheDaemon) {
  Client client({.address = Address(), .kernel_time_limit = absl::Minutes(10)});
  ASSERT_EQ(client.Spin(), absl::OkStatus());
  const auto done = client.stream().IsDone();
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_FALSE(*done);
  ASSERT_EQ(kill(static_cast<pid_t>(client.Info().executor_pid()), SIGSTOP), 0);
  EXPECT_EQ(client.AwaitFault("has not looked").kernel(), "spin");
  client.ExpectBytes();
}

TEST(DaemonsKernelTimeLimitTest, TheDaemonsLimitHoldsForEverySession) {
  const DaemonProcess daemon({"--kernel-time-limit=300ms"});
  const std::string address = "unix:" + daemon.socket();
  for (const absl::Duration wish : {absl::ZeroDuration(), absl::Hours(1)}) {
    Client client({.address = address, .kernel_time_limit = wish});
    ASSERT_EQ(client.Spin(), absl::OkStatus());
    EXPECT_EQ(client.AwaitFault("300ms (--kernel-time-limit)").kernel(),
              "spin");
    client.ExpectBytes();
  }
}

TEST_F(KernelTimeLimitTest, ANegativeLimitIsRefused) {
  const auto session = Session::Open(
      {.address = Address(), .kernel_time_limit = -absl::Seconds(1)});
  EXPECT_TRUE(absl::IsInvalidArgument(session.status())) << session.status();
  EXPECT_TRUE(absl::StrContains(session.status().message(), "-1s"));
}

}  // namespace
}  // namespace holdfast
