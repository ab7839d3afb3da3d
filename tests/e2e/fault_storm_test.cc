// SPDX-License-Identifier: Apache-2.0
//
// Many faults of all kinds in several sessions at once. Each session has its
// bytes after each fault, a neighbour never notices, and the daemon is left as
// it was. HOLDFAST_STORM_FAULTS and HOLDFAST_STORM_SEED make other storms.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/fault.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/server/testing/daemon_process.h"
#include "tests/testing/setting.h"

namespace holdfast {
namespace {

using ::holdfast::testing::Setting;

constexpr uint32_t kSessions = 8;
constexpr int kCount = 4096;

constexpr char kSource[] = R"(
// assert needs no header.
extern "C" __global__ void add(int* x, int value) {
  x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}
extern "C" __global__ void stray(char* x) { x[(1ll << 41)] = 1; }
extern "C" __global__ void trap(char* x) { asm("trap;"); }
extern "C" __global__ void fail(char* x) { assert(x == nullptr); }
extern "C" __global__ void misaligned(char* x) {
  *reinterpret_cast<volatile int*>(x + 1);
  *reinterpret_cast<int*>(x + 1) = 0;
}
)";
constexpr const char* kFaults[] = {"stray", "trap", "fail", "misaligned"};

// One session and what it must have.
class Sufferer {
 public:
  Sufferer(const std::string& address, const ObjectCode& code)
      : session_(Session::Open({.address = address}).value()),
        module_(session_->Load(code).value()),
        stream_(session_->device(0).CreateStream().value()),
        numbers_(session_->device(0)
                     .Allocate(kCount * sizeof(int), stream_)
                     .value()),
        bait_(session_->device(0).Allocate(256, stream_).value()),
        expected_(kCount) {
    std::iota(expected_.begin(), expected_.end(), 0);
    EXPECT_EQ(numbers_.Upload(expected_, stream_), absl::OkStatus());
    EXPECT_EQ(stream_.Synchronize(), absl::OkStatus());
  }

  void Work() {
    const Kernel add = module_.GetKernel("add").value();
    ASSERT_EQ(
        Launch(stream_, {.grid = kCount / 256, .block = 256}, add, numbers_, 1),
        absl::OkStatus());
    for (int& number : expected_) ++number;
    std::vector<int> numbers(kCount);
    ASSERT_EQ(numbers_.Download(numbers, stream_), absl::OkStatus());
    ASSERT_EQ(numbers, expected_);
  }

  // One fault, told as one.
  void Suffer(std::mt19937& random) {
    const uint32_t kind = random() % (std::size(kFaults) + 1);
    const auto cause =
        kind < std::size(kFaults) ? Fault(kFaults[kind]) : Kill();
    ASSERT_EQ(cause, absl::OkStatus());
    absl::Status status;
    while (status.ok()) status = stream_.Synchronize();
    ASSERT_TRUE(FaultOf(status).has_value()) << status;
    ASSERT_EQ(FaultOf(status)->lost_count(), 0u) << status;
  }

 private:
  absl::Status Fault(const char* name) {
    const auto kernel = module_.GetKernel(name);
    if (!kernel.ok()) return kernel.status();
    return Launch(stream_, {.grid = 1, .block = 1}, *kernel, bait_);
  }
  absl::Status Kill() {
    const auto sessions = session_->daemon().Sessions();
    if (!sessions.ok()) return sessions.status();
    for (const v1::SessionInfo& info : *sessions) {
      const auto executor = static_cast<pid_t>(info.executor_pid());
      if (info.session_id() != session_->id() || executor <= 0) continue;
      kill(executor, SIGKILL);
      return absl::OkStatus();
    }
    return absl::NotFoundError("the session has no executor to kill");
  }

  const std::unique_ptr<Session> session_;
  const Module module_;
  const Stream stream_;
  const Buffer numbers_;
  // Kernels that fault get this one: a misaligned store may write the aligned
  // word below its address before it faults (seen on an H200).
  const Buffer bait_;
  std::vector<int> expected_;
};

size_t Entries(const std::string& directory) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

// The processes that a process's first thread has started, and theirs.
size_t Descendants(pid_t pid) {
  std::ifstream children(
      absl::StrCat("/proc/", pid, "/task/", pid, "/children"));
  size_t count = 0;
  for (pid_t child = 0; children >> child;) count += 1 + Descendants(child);
  return count;
}

size_t ResidentMib(pid_t pid) {
  std::ifstream statm(absl::StrCat("/proc/", pid, "/statm"));
  size_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) >> 20;
}

// All that the daemon holds of the machine.
struct Holdings {
  size_t descriptors = 0;
  size_t processes = 0;
  size_t files = 0;  // in its directories
  size_t resident_mib = 0;
  uint64_t device_bytes = 0;  // of all sessions
  uint64_t host_bytes = 0;

  static Holdings Of(const DaemonProcess& daemon, Daemon& connection) {
    size_t files = 0;
    std::error_code gone;  // An executor's directory may go at any instant.
    for (std::filesystem::recursive_directory_iterator
             entry(daemon.directory(), gone),
         end;
         !gone && entry != end; entry.increment(gone)) {
      // Compiled code is there to stay.
      if (entry->path().filename() == "programs") {
        entry.disable_recursion_pending();
      }
      ++files;
    }
    const v1::MemoryTotals totals = connection.ListSessions()->totals();
    return {Entries(absl::StrCat("/proc/", daemon.pid(), "/fd")),
            Descendants(daemon.pid()),
            files,
            ResidentMib(daemon.pid()),
            totals.devices(0).reserved_bytes().used(),
            totals.host_bytes().used()};
  }
  auto Counts() const {
    return std::tie(descriptors, processes, files, device_bytes, host_bytes);
  }
  // Once nothing but the resident memory has changed for half a second: a
  // session that was there is gone, and the pool has made up for its executor.
  static Holdings Settled(const DaemonProcess& daemon, Daemon& connection) {
    Holdings last = Of(daemon, connection);
    for (int i = 0, same = 0; i < 600 && same < 10; ++i) {
      usleep(50'000);
      const Holdings now = Of(daemon, connection);
      same = now.Counts() == last.Counts() ? same + 1 : 0;
      last = now;
    }
    return last;
  }
  // The pool may be about to start an executor, which takes a few descriptors.
  bool IsBackAt(const Holdings& before) const {
    return descriptors <= before.descriptors + 4 &&
           processes <= before.processes + 1 && files <= before.files;
  }
  static void PrintHead() {
    std::printf("%-8s%14s%12s%12s%11s%7s%9s\n", "", "device bytes",
                "host bytes", "descriptors", "processes", "files", "RSS MiB");
  }
  void Print(const char* when) const {
    std::printf("%-8s%14lu%12lu%12zu%11zu%7zu%9zu\n", when,
                static_cast<unsigned long>(device_bytes),
                static_cast<unsigned long>(host_bytes), descriptors, processes,
                files, resident_mib);
  }
};

// Together as many faults as were asked for, beside a neighbour without any.
// The number of times that the neighbour has checked its bytes.
int Rage(const std::string& address, const ObjectCode& code, uint32_t faults,
         uint32_t seed) {
  int checks = 0;
  Sufferer neighbour(address, code);
  std::jthread healthy([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++checks) neighbour.Work();
  });
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < kSessions; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(seed + i);
      Sufferer session(address, code);
      const uint32_t own = faults / kSessions + (i < faults % kSessions);
      for (uint32_t n = 0; n < own && !::testing::Test::HasFailure(); ++n) {
        session.Suffer(random);
        session.Work();
      }
    });
  }
  for (std::jthread& thread : threads) thread.join();
  healthy.request_stop();
  healthy.join();
  return checks;
}

TEST(FaultStormTest, AllGoOnAndNothingIsLeftBehind) {
  const uint32_t faults = Setting("HOLDFAST_STORM_FAULTS", 80u);
  const uint32_t seed = Setting("HOLDFAST_STORM_SEED", 22u);
  DaemonProcess daemon(
      {"--max-faults=0", "--max-sessions=32", "--max-sessions-per-client=32"});
  const std::string address = "unix:" + daemon.socket();
  const auto connection = Daemon::Connect(address).value();
  const auto code = Program(kSource).Compile(*connection).value();
  { Sufferer warm(address, code.object); }
  const Holdings before = Holdings::Settled(daemon, *connection);

  const int checks = Rage(address, code.object, faults, seed);
  EXPECT_EQ(connection->Sessions()->size(), 0u);
  Holdings after = Holdings::Of(daemon, *connection);
  for (int i = 0; i < 600 && !after.IsBackAt(before); ++i) {
    usleep(50'000);
    after = Holdings::Of(daemon, *connection);
  }
  std::printf("%u faults in %u sessions, a neighbour checked %d times\n",
              faults, kSessions, checks);
  Holdings::PrintHead();
  before.Print("before");
  after.Print("after");
  EXPECT_GT(checks, 0);
  EXPECT_EQ(after.device_bytes, 0u);
  EXPECT_EQ(after.host_bytes, 0u);
  EXPECT_TRUE(after.IsBackAt(before));
  // Eight sessions at once leave the allocator some memory, not every fault.
  EXPECT_LE(after.resident_mib, before.resident_mib + 64);
}

}  // namespace
}  // namespace holdfast
