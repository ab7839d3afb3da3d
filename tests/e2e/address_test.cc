// SPDX-License-Identifier: Apache-2.0
//
// Addresses are numbers: in tables that kernels read, in structs, as arguments.
// They stay over a fault, an upgrade and a suspension, and those of pinned
// memory are its addresses in the client.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/fault.h"
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/node_params.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "core/base/sanitizer.h"
#include "holdfast/v1/faults.pb.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/kept_sessions.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::e2e {
namespace {

using ::holdfast::testing::StatusIs;

constexpr char kSource[] = R"(
__device__ int variable[4] = {30, 31, 32, 33};
// Adds what the pointers of a table point to.
extern "C" __global__ void sum(const int* const* table, int count, int* out) {
  int total = 0;
  for (int i = 0; i < count; ++i) total += *table[i];
  *out = total;
}
struct Task {
  const int* in;
  int factor;
  int* out;
};
extern "C" __global__ void run(Task task) {
  *task.out = *task.in * task.factor;
}
extern "C" __global__ void run_all(const Task* tasks) {
  const Task& task = tasks[blockIdx.x];
  *task.out = *task.in * task.factor;
}
extern "C" __global__ void put(int* out, int value) { *out = value; }
extern "C" __global__ void stray(int* x) { x[1ll << 40] = 1; }
)";

// As the kernels have it.
struct Task {
  uint64_t in = 0;
  int factor = 0;
  uint64_t out = 0;
};

const LaunchConfig kOnce = {.grid = 1, .block = 1};

uint64_t Number(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

// ThreadSanitizer has taken the addresses for arenas.
#ifdef HOLDFAST_TSAN
constexpr bool kHasArenaRange = false;
#else
constexpr bool kHasArenaRange = true;
#endif

// A session whose kernels find all their operands by number.
class Pointers {
 public:
  explicit Pointers(const std::string& address)
      : session_(Session::Open({.address = address}).value()),
        module_(session_
                    ->Load(Program(kSource, {.name = "addresses.cu"})
                               .Compile(session_->daemon())
                               .value()
                               .object)
                    .value()),
        stream_(session_->device(0).CreateStream().value()),
        arena_(session_->CreateArena(1 << 20).value()),
        pinned_(arena_->Allocate(64).value()),
        out_(session_->device(0).Allocate(4, stream_).value()) {
    AddBuffer(session_->device(0).Allocate(1000, stream_).value());
    AddBuffer(session_->device(0).Allocate(8 << 20).value());
    AddBuffer(session_->device(0).AllocateShared(64).value());
    AddBuffer(buffers_[1].Sub(4 << 20, 256).value());
    if (!kHasArenaRange) return;
    pinned_.As<int>()[0] = Next();
    addresses_.push_back(pinned_.address().value());
  }

  Session& session() { return *session_; }
  const Stream& stream() const { return stream_; }
  const ArenaSpan& pinned() const { return pinned_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const Buffer& out() const { return out_; }
  Kernel Get(const char* name) { return module_.GetKernel(name).value(); }
  Buffer Variable() { return module_.GetGlobal("variable").value(); }

  // Another value for the table to point to.
  void AddBuffer(Buffer buffer) {
    const int value = Next();
    ASSERT_OK(buffer.Upload(&value, sizeof value, stream_));
    addresses_.push_back(buffer.address().value());
    buffers_.push_back(std::move(buffer));
  }
  // Of memory that has a value already.
  void AddAddress(uint64_t address, int value) {
    addresses_.push_back(address);
    sum_ += value;
  }

  // Fills the table that kernels read from then on.
  void MakeTable() {
    table_.emplace_back(
        session_->device(0).Allocate(addresses_.size() * 8, stream_).value());
    ASSERT_OK(table_.back().Upload(addresses_, stream_));
  }

  int Out() {
    int found = 0;
    EXPECT_OK(out_.Download(&found, sizeof found, stream_));
    return found;
  }

  // The table that was made before points to the same values, and the numbers
  // are the executor's.
  void ExpectAll() {
    ASSERT_OK(Launch(stream_, kOnce, Get("sum"), table_.back(),
                     static_cast<int>(addresses_.size()),
                     out_.address().value()));
    EXPECT_EQ(Out(), sum_);
    for (const Buffer& buffer : buffers_) {
      // What this client has asked for already, it does not ask again.
      ASSERT_OK_AND_ASSIGN(const Buffer all, buffer.Sub(0, buffer.size()));
      EXPECT_EQ(all.address().value(), buffer.address().value());
    }
    if (kHasArenaRange) ExpectPinned();
  }

  // Its addresses here are those of kernels, to read and to write.
  void ExpectPinned() {
    int* const words = pinned_.As<int>().data();
    ASSERT_EQ(pinned_.address().value(), Number(words));
    words[2] = 6;
    const Task task = {Number(words + 2), 7, Number(words + 3)};
    ASSERT_OK(Launch(stream_, kOnce, Get("run"), Argument::Raw(task)));
    ASSERT_OK(stream_.Synchronize());
    EXPECT_EQ(words[3], 42);
  }

  void Fault() {
    ASSERT_OK(Launch(stream_, kOnce, Get("stray"), out_));
    ASSERT_TRUE(FaultOf(stream_.Synchronize()).has_value());
  }

 private:
  int Next() {
    const int value = 1000 + 17 * static_cast<int>(addresses_.size());
    sum_ += value;
    return value;
  }

  std::unique_ptr<Session> session_;
  Module module_;
  Stream stream_;
  std::shared_ptr<Arena> arena_;
  ArenaSpan pinned_;
  Buffer out_;
  std::vector<Buffer> buffers_;
  std::vector<Buffer> table_;
  std::vector<uint64_t> addresses_;
  int sum_ = 0;
};

// A buffer of another session, with a value.
class Lender {
 public:
  explicit Lender(const std::string& address)
      : session_(Session::Open({.address = address}).value()),
        stream_(session_->device(0).CreateStream().value()),
        lent_(session_->device(0).AllocateShared(4).value()) {
    EXPECT_OK(lent_.Upload(&kValue, sizeof kValue, stream_));
    EXPECT_OK(stream_.Synchronize());
  }
  static constexpr int kValue = 9;

  // The borrower has it in its table.
  void LendTo(Pointers& borrower) {
    ASSERT_OK_AND_ASSIGN(const std::string token, lent_.Export());
    borrowed_.push_back(borrower.session().device(0).Import(token).value());
    borrower.AddAddress(borrowed_.back().address().value(), kValue);
  }
  Session& session() { return *session_; }

 private:
  std::unique_ptr<Session> session_;
  Stream stream_;
  Buffer lent_;
  std::vector<Buffer> borrowed_;
};

TEST(AddressTest, KernelsFollowPointersThatTheClientHasWritten) {
  const DaemonProcess daemon;
  Pointers pointers(daemon.address());
  const Buffer variable = pointers.Variable();
  pointers.AddAddress(variable.address().value() + 8, 32);
  ASSERT_OK_AND_ASSIGN(const Buffer part, variable.Sub(4, 4));
  pointers.AddAddress(part.address().value(), 31);
  pointers.MakeTable();
  pointers.ExpectAll();
}

TEST(AddressTest, ABatchOfStructsWithPointersRunsAsOneLaunch) {
  constexpr int kTasks = 64;
  const DaemonProcess daemon;
  Pointers pointers(daemon.address());
  const Device device = pointers.session().device(0);
  const Buffer in = device.Allocate(kTasks * 4, pointers.stream()).value();
  const Buffer out = device.Allocate(kTasks * 4, pointers.stream()).value();
  std::vector<int> numbers(kTasks);
  std::vector<Task> tasks(kTasks);
  for (int i = 0; i < kTasks; ++i) {
    numbers[i] = i + 1;
    tasks[i] = {in.address().value() + 4 * i, 3,
                out.address().value() + 4 * (kTasks - 1 - i)};
  }
  const Buffer batch =
      device.Allocate(kTasks * sizeof(Task), pointers.stream()).value();
  ASSERT_OK(in.Upload(numbers, pointers.stream()));
  ASSERT_OK(batch.Upload(tasks, pointers.stream()));
  ASSERT_OK(Launch(pointers.stream(), {.grid = kTasks, .block = 1},
                   pointers.Get("run_all"), batch));
  std::vector<int> found(kTasks);
  ASSERT_OK(out.Download(found, pointers.stream()));
  for (int i = 0; i < kTasks; ++i) EXPECT_EQ(found[i], 3 * (kTasks - i));
}

TEST(AddressTest, AllAreTheSameAfterFaults) {
  const DaemonProcess daemon;
  Lender first(daemon.address());
  Lender second(daemon.address());
  Pointers pointers(daemon.address());
  ASSERT_NO_FATAL_FAILURE(first.LendTo(pointers));
  ASSERT_NO_FATAL_FAILURE(second.LendTo(pointers));
  ASSERT_NO_FATAL_FAILURE(first.LendTo(pointers));
  pointers.MakeTable();
  for (int i = 0; i < 3; ++i) {
    ASSERT_NO_FATAL_FAILURE(pointers.Fault());
    pointers.ExpectAll();
  }
}

TEST(AddressTest, AllAreTheSameAfterUpgrades) {
  const DaemonProcess daemon;
  Lender lender(daemon.address());
  Pointers pointers(daemon.address());
  ASSERT_NO_FATAL_FAILURE(lender.LendTo(pointers));
  pointers.MakeTable();
  ASSERT_NO_FATAL_FAILURE(UpgradeOnce(daemon));
  pointers.ExpectAll();
  ASSERT_NO_FATAL_FAILURE(pointers.Fault());
  pointers.ExpectAll();
}

TEST(AddressTest, AllAreTheSameAfterSuspensions) {
  const DaemonProcess daemon;
  Pointers pointers(daemon.address());
  pointers.MakeTable();
  const auto boss = Daemon::Connect(daemon.address()).value();
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(pointers.stream().Synchronize());
    ASSERT_OK(SuspendSession(*boss, pointers.session().id(), {}).status());
    pointers.ExpectAll();
  }
  // Wherever it lies now, the number leads there.
  const Buffer variable = pointers.Variable();
  ASSERT_OK(SuspendSession(*boss, pointers.session().id(), {}).status());
  ASSERT_OK(Launch(pointers.stream(), kOnce, pointers.Get("put"),
                   variable.address().value(), 77));
  int found = 0;
  ASSERT_OK(variable.Download(&found, sizeof found, pointers.stream()));
  EXPECT_EQ(found, 77);
}

TEST(AddressTest, ALaunchTakesPinnedMemoryByItsAddressHere) {
  const DaemonProcess daemon;
  Pointers pointers(daemon.address());
  int* const words = pointers.pinned().As<int>().data();
  const uint64_t address = Number(words + 5);
  const Kernel put = pointers.Get("put");
  ASSERT_OK(Launch(pointers.stream(), kOnce, put, address, 1));
  ASSERT_OK(pointers.stream().Synchronize());
  EXPECT_EQ(words[5], 1);
  ASSERT_OK(
      Launch(pointers.stream(), kOnce, put, static_cast<int64_t>(address), 2));
  ASSERT_OK(pointers.stream().Synchronize());
  EXPECT_EQ(words[5], 2);
  ASSERT_OK(Launch(pointers.stream(), kOnce, put, Argument::Raw(address), 3));
  ASSERT_OK(pointers.stream().Synchronize());
  EXPECT_EQ(words[5], 3);
  GraphDefinition definition;
  ASSERT_OK(definition.Add(KernelNode(kOnce, put, address, 4)).status());
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Graph::Create(pointers.session(), definition));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, graph.Instantiate());
  ASSERT_NO_FATAL_FAILURE(pointers.Fault());
  ASSERT_OK(exec.Launch(pointers.stream()));
  ASSERT_OK(pointers.stream().Synchronize());
  EXPECT_EQ(words[5], 4);
}

TEST(AddressTest, PinnedMemoryOfAnotherSessionIsRefusedAtTheLaunch) {
  const DaemonProcess daemon;
  Pointers pointers(daemon.address());
  Pointers other(daemon.address());
  const uint64_t address = Number(other.pinned().data());
  const Kernel put = pointers.Get("put");
  constexpr char kText[] = "is an address in pinned memory of another session";
  EXPECT_THAT(Launch(pointers.stream(), kOnce, put, address, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, kText));
  GraphDefinition definition;
  EXPECT_THAT(definition.Add(KernelNode(kOnce, put, address, 1)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, kText));
  EXPECT_OK(pointers.stream().Synchronize());
}

TEST(AddressTest, ANumberThatIsNoAddressIsTheKernelsAffair) {
  const DaemonProcess daemon;
  Pointers pointers(daemon.address());
  ASSERT_OK(Launch(pointers.stream(), kOnce, pointers.Get("put"),
                   uint64_t{0x123456789000}, 1));
  EXPECT_TRUE(FaultOf(pointers.stream().Synchronize()).has_value());
  EXPECT_EQ(pointers.Out(), 0) << "the session goes on";
}

TEST(AddressTest, MemoryOfAGraphHasOneOnceTheGraphExists) {
  const DaemonProcess daemon;
  Pointers pointers(daemon.address());
  ASSERT_OK_AND_ASSIGN(const Buffer scratch,
                       Buffer::OfGraph(pointers.out().session(), 256));
  EXPECT_THAT(scratch.address(), StatusIs(absl::StatusCode::kNotFound, ""));
  GraphDefinition definition;
  ASSERT_OK_AND_ASSIGN(const GraphNode made,
                       definition.Add(AllocationNode(scratch, 0)));
  ASSERT_OK(
      definition.Add(KernelNode(kOnce, pointers.Get("put"), scratch, 5), {made})
          .status());
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Graph::Create(pointers.session(), definition));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, graph.Instantiate());
  ASSERT_OK(exec.Launch(pointers.stream()));
  const Task task = {scratch.address().value(), 2,
                     pointers.out().address().value()};
  ASSERT_OK(Launch(pointers.stream(), kOnce, pointers.Get("run"),
                   Argument::Raw(task)));
  EXPECT_EQ(pointers.Out(), 10);
}

TEST(AddressTest, ArenasOfManyProcessesAndSessionsDoNotMeet) {
  if (!kHasArenaRange) GTEST_SKIP() << "there is no place for arenas";
  const DaemonProcess daemon;
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Arena>> arenas;
  for (int i = 0; i < 4; ++i) {
    sessions.push_back(Session::Open({.address = daemon.address()}).value());
    for (int j = 0; j < 8; ++j) {
      arenas.push_back(sessions.back()->CreateArena(4096).value());
      EXPECT_EQ(arenas.back()->address().value(),
                Number(arenas.back()->data()));
    }
  }
}

}  // namespace
}  // namespace holdfast::e2e
