// SPDX-License-Identifier: Apache-2.0
//
// A session whose executor dies goes on in another one, with the same handles
// and the same bytes; and nobody else notices.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/fault.h"
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/graph_exec.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "core/base/error_detail.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr char kSource[] = R"(
// assert needs no header.
extern "C" __global__ void add(int* x, int value) {
  x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}
extern "C" __global__ void stray(int* x) {
  x[threadIdx.x * (1ll << 40)] = 1;
}
struct Wide {
  char bytes[4000];
};
extern "C" __global__ void wide(Wide, int*) {}
extern "C" __global__ void trap() { asm("trap;"); }
extern "C" __global__ void fail(int* x) { assert(x == nullptr); }
extern "C" __global__ void misaligned(char* x) {
  *reinterpret_cast<int*>(x + 1) = 7;
}
// Leaves its own address, and finds it again.
extern "C" __global__ void note(long long* x) {
  x[0] = reinterpret_cast<long long>(x);
}
extern "C" __global__ void follow(long long* x) {
  *(reinterpret_cast<long long*>(x[0]) + 1) = 42;
}
)";

constexpr int kCount = 1 << 16;
constexpr uint64_t kBytes = kCount * sizeof(int);

// A session with a stream, kernels and a buffer of known bytes.
class Client {
 public:
  explicit Client(const SessionOptions& options) {
    session_ = Session::Open(options).value();
    const auto compiled =
        Program(kSource, {.name = "faults.cu", .options = {"-lineinfo"}})
            .Compile(session_->daemon());
    module_ = session_->Load(compiled.value().object).value();
    stream_ = session_->device(0).CreateStream().value();
    numbers_ = session_->device(0).Allocate(kBytes, *stream_).value();
    expected_.resize(kCount);
    std::iota(expected_.begin(), expected_.end(), 0);
    EXPECT_EQ(numbers_->Upload(expected_, *stream_), absl::OkStatus());
    add_ = module_->GetKernel("add").value();
    EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
  }

  Session& session() { return *session_; }
  const Stream& stream() { return *stream_; }
  const Buffer& numbers() { return *numbers_; }
  Kernel Get(const char* name) { return module_->GetKernel(name).value(); }

  absl::Status Add(int value) {
    return Launch(*stream_, {.grid = kCount / 256, .block = 256}, *add_,
                  *numbers_, value);
  }

  // The buffer has what was put in and added, and can be worked with.
  void ExpectHealthy() {
    ASSERT_EQ(Add(3), absl::OkStatus());
    for (int& number : expected_) number += 3;
    std::vector<int> numbers(kCount);
    ASSERT_EQ(numbers_->Download(numbers, *stream_), absl::OkStatus());
    EXPECT_EQ(numbers, expected_);
  }

  v1::SessionInfo Info() {
    const auto sessions = session_->daemon().Sessions();
    for (const v1::SessionInfo& info : sessions.value()) {
      if (info.session_id() == session_->id()) return info;
    }
    return {};
  }
  void KillExecutor() {
    ASSERT_EQ(kill(static_cast<pid_t>(Info().executor_pid()), SIGKILL), 0);
  }

  // Waits until a call tells of a fault.
  std::optional<v1::FaultReport> AwaitFault() {
    std::optional<v1::FaultReport> fault;
    EXPECT_TRUE(Eventually([&] {
      fault = FaultOf(stream_->Synchronize());
      return fault.has_value();
    }));
    return fault;
  }

 private:
  std::unique_ptr<Session> session_;
  std::optional<Module> module_;
  std::optional<Stream> stream_;
  std::optional<Buffer> numbers_;
  std::optional<Kernel> add_;
  std::vector<int> expected_;
};

class RecoveryTest : public ::testing::Test {
 protected:
  // The software device says where in a kernel it faulted.
  static bool KnowsThreads() {
    return std::getenv("HOLDFAST_TEST_DEVICE") == nullptr;
  }

  DaemonProcess daemon_;
};

TEST_F(RecoveryTest, AnIllegalAddressCostsNoBufferAndNoHandle) {
  for (const std::string& address :
       {daemon_.address(), daemon_.tcp_address()}) {
    Client client({.address = address});
    const Kernel stray = client.Get("stray");
    // Where the kernel may store, some of its threads may have.
    const Buffer scratch =
        client.session().device(0).Allocate(512, client.stream()).value();
    ASSERT_EQ(Launch(client.stream(), {.grid = 1, .block = 64}, stray, scratch),
              absl::OkStatus());
    const absl::Status status = client.stream().Synchronize();
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    ASSERT_TRUE(GetErrorDetail(status).has_value()) << status;
    EXPECT_EQ(GetErrorDetail(status)->result_name,
              "CUDA_ERROR_ILLEGAL_ADDRESS");
    const auto fault = FaultOf(status);
    ASSERT_TRUE(fault.has_value()) << status;
    EXPECT_EQ(fault->epoch(), 1u);
    EXPECT_EQ(fault->kernel(), "stray");
    if (KnowsThreads()) {
      EXPECT_EQ(fault->thread().x(), 1u);
      EXPECT_TRUE(absl::StrContains(fault->source_line(), "faults.cu:7"))
          << DescribeFault(*fault);
    }
    EXPECT_EQ(fault->lost_count(), 0u) << DescribeFault(*fault);
    EXPECT_GT(fault->submitted_through(), fault->completed_through());
    // It is told once.
    EXPECT_EQ(client.stream().Synchronize(), absl::OkStatus());
    client.ExpectHealthy();
    EXPECT_EQ(client.Info().epoch(), 2u);
    EXPECT_EQ(client.Info().faults(), 1u);
    EXPECT_EQ(client.Info().state(), v1::SessionInfo::STATE_ACTIVE);
  }
}

// They pass through slots of shared memory, of which there are fewer.
TEST_F(RecoveryTest, SmallCopiesThatAFaultHasDroppedHoldUpNoOthers) {
  constexpr uint64_t kSmall = 64 << 10, kLarge = 2 << 20;
  Client client({.address = daemon_.address()});
  const Kernel stray = client.Get("stray");
  const Buffer buffer =
      client.session().device(0).Allocate(kLarge, client.stream()).value();
  std::vector<uint8_t> bytes(kLarge), back(kLarge);
  ASSERT_EQ(buffer.Upload(bytes, client.stream()), absl::OkStatus());
  for (uint8_t round = 1; round <= 3; ++round) {
    bool told = false;
    ASSERT_EQ(Launch(client.stream(), {.grid = 1, .block = 64}, stray, buffer),
              absl::OkStatus());
    for (int i = 0; i < 20; ++i) {
      told |= FaultOf(buffer.Upload(bytes.data(), kSmall, client.stream()))
                  .has_value();
    }
    if (!told) client.AwaitFault();
    for (uint64_t at = 0; at < kLarge; at += kSmall) {
      std::memset(&bytes[at], static_cast<int>(round + at / kSmall), kSmall);
      ASSERT_EQ(buffer.Upload(&bytes[at], kSmall, client.stream(), at),
                absl::OkStatus());
      ASSERT_EQ(buffer.Download(&back[at], kSmall, client.stream(), at),
                absl::OkStatus());
    }
    EXPECT_TRUE(back == bytes);
  }
  client.ExpectHealthy();
}

TEST_F(RecoveryTest, EachKindOfFaultIsNamedAndSurvived) {
  Client client({.address = daemon_.address()});
  struct Case {
    const char* kernel;
    const char* result;
  };
  uint64_t epoch = 1;
  for (const Case& test :
       {Case{"trap", "CUDA_ERROR_LAUNCH_FAILED"},
        Case{"fail", "CUDA_ERROR_ASSERT"},
        Case{"misaligned", "CUDA_ERROR_MISALIGNED_ADDRESS"}}) {
    const Kernel kernel = client.Get(test.kernel);
    const LaunchConfig one = {.grid = 1, .block = 1};
    // A misaligned store writes the word below before a GPU finds it.
    const Buffer scratch =
        client.session().device(0).Allocate(512, client.stream()).value();
    // A GPU does not name the kernel, so it is to be the only one.
    ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
    const absl::Status launched =
        std::string(test.kernel) == "trap"
            ? Launch(client.stream(), one, kernel)
            : Launch(client.stream(), one, kernel, scratch);
    ASSERT_EQ(launched, absl::OkStatus());
    const absl::Status status = client.stream().Synchronize();
    const auto fault = FaultOf(status);
    ASSERT_TRUE(fault.has_value()) << status;
    EXPECT_EQ(fault->epoch(), epoch++);
    EXPECT_EQ(fault->kernel(), test.kernel);
    EXPECT_EQ(GetErrorDetail(status)->result_name, test.result);
    client.ExpectHealthy();
  }
}

TEST_F(RecoveryTest, DeviceMemoryIsAtTheSameAddresses) {
  Client client({.address = daemon_.address()});
  const Buffer pointers =
      client.session().device(0).Allocate(16, client.stream()).value();
  ASSERT_EQ(Launch(client.stream(), {.grid = 1, .block = 1}, client.Get("note"),
                   pointers),
            absl::OkStatus());
  ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.KillExecutor();
  ASSERT_TRUE(client.AwaitFault().has_value());
  ASSERT_EQ(Launch(client.stream(), {.grid = 1, .block = 1},
                   client.Get("follow"), pointers),
            absl::OkStatus());
  std::vector<int64_t> found(2);
  ASSERT_EQ(pointers.Download(found, client.stream()), absl::OkStatus());
  EXPECT_EQ(found[1], 42);
}

TEST_F(RecoveryTest, AKilledExecutorIsAFaultWithItsSignal) {
  Client client({.address = daemon_.address()});
  client.KillExecutor();
  const auto fault = client.AwaitFault();
  ASSERT_TRUE(fault.has_value());
  EXPECT_TRUE(absl::StrContains(fault->cause().message(), "SIGKILL"))
      << DescribeFault(*fault);
  EXPECT_EQ(fault->kernel(), "");
  client.ExpectHealthy();
}

TEST_F(RecoveryTest, ArenasViewsAndEventsComeBack) {
  Client client({.address = daemon_.address()});
  const auto arena = client.session().CreateArena(1 << 20).value();
  const ArenaSpan span = arena->Allocate(kBytes / 2).value();
  const Buffer half = client.numbers().Sub(kBytes / 2, kBytes / 2).value();
  const Event event = client.session().device(0).CreateEvent().value();
  // Output that has not been sent when the executor dies is not there
  // afterwards.
  ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.KillExecutor();
  ASSERT_TRUE(client.AwaitFault().has_value());
  ASSERT_EQ(half.CopyTo(span, client.stream()), absl::OkStatus());
  ASSERT_EQ(client.stream().Record(event), absl::OkStatus());
  ASSERT_EQ(event.Synchronize(), absl::OkStatus());
  EXPECT_EQ(static_cast<const int*>(span.data())[5], kCount / 2 + 5);
  client.ExpectHealthy();
}

// A graph of two launches of `add` on the client's numbers.
struct AddingGraph {
  AddingGraph(Client& client, int first, int second)
      : add(client.Get("add")), numbers(client.numbers()) {
    GraphDefinition definition;
    nodes[0] = definition.Add(Node(first)).value();
    nodes[1] = definition.Add(Node(second), {nodes[0]}).value();
    graph = Graph::Create(client.session(), definition).value();
  }

  NodeParams Node(const Buffer& buffer, int value) const {
    return KernelNode({.grid = 1, .block = 1}, add, buffer, value);
  }
  NodeParams Node(int value) const { return Node(numbers, value); }

  const Kernel add;
  const Buffer& numbers;
  GraphNode nodes[2];
  std::optional<Graph> graph;
};

// Returns how much a launch of the graph adds to the first number.
int AddedBy(const GraphExec& exec, Client& client) {
  int before = 0;
  int after = 0;
  EXPECT_EQ(client.numbers().Download(&before, sizeof before, client.stream()),
            absl::OkStatus());
  EXPECT_EQ(exec.Launch(client.stream()), absl::OkStatus());
  EXPECT_EQ(client.numbers().Download(&after, sizeof after, client.stream()),
            absl::OkStatus());
  return after - before;
}

TEST_F(RecoveryTest, AnInstantiatedGraphHasItsUpdatesAgain) {
  Client client({.address = daemon_.address()});
  const AddingGraph first(client, 1, 100);
  const AddingGraph second(client, 2, 200);
  const GraphExec nodes_last = first.graph->Instantiate().value();
  const GraphExec whole_last = first.graph->Instantiate().value();
  const GraphExec both = first.graph->Instantiate().value();
  ASSERT_EQ(nodes_last.SetEnabled(first.nodes[1], false), absl::OkStatus());
  ASSERT_EQ(nodes_last.Update(*second.graph), absl::OkStatus());
  ASSERT_EQ(nodes_last.Update(first.nodes[0], first.Node(5)), absl::OkStatus());
  ASSERT_EQ(whole_last.Update(first.nodes[0], first.Node(7)), absl::OkStatus());
  ASSERT_EQ(whole_last.Update(*second.graph), absl::OkStatus());
  for (const int value : {3, 4}) {
    NodeUpdates updates;
    updates.Set(first.nodes[0], first.Node(value));
    updates.Set(first.nodes[1], first.Node(10 * value));
    ASSERT_EQ(both.Update(updates), absl::OkStatus());
  }
  ASSERT_EQ(both.Update(first.nodes[1], first.Node(50)), absl::OkStatus());
  const int nodes_add = AddedBy(nodes_last, client);
  const int whole_add = AddedBy(whole_last, client);
  EXPECT_EQ(AddedBy(both, client), 54);
  EXPECT_EQ(nodes_add, 5);
  EXPECT_EQ(whole_add, 202);
  ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.KillExecutor();
  const auto fault = client.AwaitFault();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->lost_count(), 0u) << DescribeFault(*fault);
  EXPECT_EQ(AddedBy(nodes_last, client), nodes_add);
  EXPECT_EQ(AddedBy(whole_last, client), whole_add);
  EXPECT_EQ(AddedBy(both, client), 54);
}

// The update of both nodes is one step of the journal, and is needed for the
// one that was not updated again; the other refers to what is lost.
TEST_F(RecoveryTest, AnUpdateThatWasReplacedInPartDoesWithoutWhatIsLost) {
  Client client({.address = daemon_.address()});
  const AddingGraph adding(client, 1, 100);
  const GraphExec exec = adding.graph->Instantiate().value();
  const Buffer host = client.session().AllocateHost(64).value();
  NodeUpdates updates;
  updates.Set(adding.nodes[0], adding.Node(host, 1));
  updates.Set(adding.nodes[1], adding.Node(10));
  ASSERT_EQ(exec.Update(updates), absl::OkStatus());
  ASSERT_EQ(exec.Update(adding.nodes[0], adding.Node(5)), absl::OkStatus());
  EXPECT_EQ(AddedBy(exec, client), 15);
  client.KillExecutor();
  const auto fault = client.AwaitFault();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->lost_count(), 1u) << DescribeFault(*fault);
  EXPECT_EQ(AddedBy(exec, client), 15);
}

// With its old arguments the graph must not come back.
TEST_F(RecoveryTest, AnInstantiatedGraphWhoseUpdateNamesWhatIsLostIsLost) {
  Client client({.address = daemon_.address()});
  const AddingGraph adding(client, 1, 100);
  const GraphExec one = adding.graph->Instantiate().value();
  const GraphExec both = adding.graph->Instantiate().value();
  const Buffer host = client.session().AllocateHost(64).value();
  ASSERT_EQ(one.Update(adding.nodes[0], adding.Node(host, 1)),
            absl::OkStatus());
  NodeUpdates updates;
  updates.Set(adding.nodes[0], adding.Node(host, 1));
  updates.Set(adding.nodes[1], adding.Node(10));
  ASSERT_EQ(both.Update(updates), absl::OkStatus());
  ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.KillExecutor();
  const auto fault = client.AwaitFault();
  ASSERT_TRUE(fault.has_value());
  // The buffer and both graphs.
  EXPECT_EQ(fault->lost_count(), 3u) << DescribeFault(*fault);
  for (const GraphExec* const exec : {&one, &both}) {
    ASSERT_EQ(exec->Launch(client.stream()), absl::OkStatus());
    const absl::Status status = client.stream().Synchronize();
    EXPECT_TRUE(absl::StrContains(status.message(), "page-locked")) << status;
  }
  client.ExpectHealthy();
  // That stays so, and is told once.
  client.KillExecutor();
  const auto second = client.AwaitFault();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->lost_count(), 0u) << DescribeFault(*second);
  ASSERT_EQ(both.Launch(client.stream()), absl::OkStatus());
  EXPECT_FALSE(client.stream().Synchronize().ok());
}

// Definitions fill the journal, so that the update cannot be written down: with
// its old arguments the graph must not come back.
TEST_F(RecoveryTest, AnInstantiatedGraphWhoseUpdateIsForgottenIsLost) {
  Client client({.address = daemon_.address()});
  const Kernel wide = client.Get("wide");
  const std::vector<std::byte> bytes(4000);
  const auto node = [&] {
    return KernelNode({.grid = 1, .block = 1}, wide,
                      std::span<const std::byte>(bytes), client.numbers());
  };
  const auto make = [&](int nodes) {
    GraphDefinition definition;
    for (int i = 0; i < nodes; ++i) EXPECT_TRUE(definition.Add(node()).ok());
    return Graph::Create(client.session(), definition).value();
  };
  const Graph small = make(1);
  const GraphExec exec = small.Instantiate().value();
  ASSERT_EQ(exec.Launch(client.stream()), absl::OkStatus());
  std::vector<Graph> graphs;
  for (int i = 0; i < 12; ++i) graphs.push_back(make(700));
  for (int nodes = 512; nodes > 0; nodes /= 2) graphs.push_back(make(nodes));
  ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  ASSERT_EQ(exec.Update({1}, node()), absl::OkStatus());
  ASSERT_EQ(exec.Launch(client.stream()), absl::OkStatus());
  ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.KillExecutor();
  const auto fault = client.AwaitFault();
  ASSERT_TRUE(fault.has_value());
  ASSERT_EQ(exec.Launch(client.stream()), absl::OkStatus());
  const absl::Status status = client.stream().Synchronize();
  EXPECT_TRUE(absl::StrContains(status.message(), "did not fit")) << status;
  client.ExpectHealthy();
}

// Repeating the update of a node that a whole update has replaced would bring a
// freed buffer back, into memory that another one has by now.
TEST_F(RecoveryTest, ABufferInThePlaceOfOneThatAGraphHasUsedComesBack) {
  Client client({.address = daemon_.address()});
  const AddingGraph adding(client, 1, 100);
  const GraphExec exec = adding.graph->Instantiate().value();
  const Device device = client.session().device(0);
  const auto address = [&](const Buffer& buffer) {
    int64_t found = 0;
    EXPECT_EQ(Launch(client.stream(), {.grid = 1, .block = 1},
                     client.Get("note"), buffer),
              absl::OkStatus());
    EXPECT_EQ(buffer.Download(&found, sizeof found, client.stream()),
              absl::OkStatus());
    return found;
  };
  std::optional<Buffer> used = device.Allocate(kBytes, client.stream()).value();
  const int64_t place = address(*used);
  ASSERT_EQ(exec.Update(adding.nodes[0], adding.Node(*used, 1)),
            absl::OkStatus());
  ASSERT_EQ(exec.Update(*adding.graph), absl::OkStatus());
  used.reset();
  ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  const Buffer next = device.Allocate(kBytes, client.stream()).value();
  ASSERT_EQ(address(next), place);
  ASSERT_EQ(exec.Update(*adding.graph), absl::OkStatus());
  ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.KillExecutor();
  const auto fault = client.AwaitFault();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->lost_count(), 0u) << DescribeFault(*fault);
  int64_t found = 0;
  ASSERT_EQ(next.Download(&found, sizeof found, client.stream()),
            absl::OkStatus());
  EXPECT_EQ(found, place);
  client.ExpectHealthy();
}

// Resources that the program gives up during a fault must not come back.
TEST_F(RecoveryTest, WhatIsFreedBehindTheFaultIsFreed) {
  Client client({.address = daemon_.address()});
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
    const uint64_t before = client.Info().memory_bytes();
    {
      const Buffer early =
          client.session().device(0).Allocate(kBytes, client.stream()).value();
      ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
      ASSERT_EQ(
          Launch(client.stream(), {.grid = 1, .block = 1}, client.Get("trap")),
          absl::OkStatus());
      // Made and freed behind the fault.
      const auto late =
          client.session().device(0).Allocate(kBytes, client.stream());
    }
    ASSERT_TRUE(client.AwaitFault().has_value());
    EXPECT_EQ(client.stream().Synchronize(), absl::OkStatus());
    EXPECT_TRUE(Eventually([&] {
      return client.Info().memory_bytes() == before;
    })) << client.Info().memory_bytes()
        << " and before " << before;
    // Handles that were freed are used again.
    const Buffer again =
        client.session().device(0).Allocate(kBytes, client.stream()).value();
    EXPECT_EQ(client.stream().Synchronize(), absl::OkStatus());
    EXPECT_EQ(again.status(), absl::OkStatus());
    client.ExpectHealthy();
  }
}

TEST_F(RecoveryTest, WhatWasMadeBehindTheFaultKnowsThatItDoesNotExist) {
  Client client({.address = daemon_.address()});
  ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.KillExecutor();
  // Until the fault is told nothing is carried out.
  std::optional<Buffer> late;
  absl::Status told;
  for (int i = 0; i < 100000 && !FaultOf(told).has_value(); ++i) {
    auto made = client.session().device(0).Allocate(512, client.stream());
    told = made.status();
    if (made.ok()) late = *std::move(made);
    if (i % 100 == 0) absl::SleepFor(absl::Milliseconds(1));
  }
  ASSERT_TRUE(FaultOf(told).has_value()) << told;
  if (late.has_value()) {
    EXPECT_TRUE(absl::IsAborted(late->status())) << late->status();
  }
  late.reset();
  EXPECT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.ExpectHealthy();
}

TEST_F(RecoveryTest, ASessionThatWantsNoRecoveryIsLost) {
  Client client(
      {.address = daemon_.address(), .recover = RecoveryPolicy::kNever});
  client.KillExecutor();
  ASSERT_TRUE(Eventually([&] { return !client.stream().Synchronize().ok(); }));
  const absl::Status status = client.stream().Synchronize();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(GetErrorDetail(status)->session_lost);
}

TEST_F(RecoveryTest, ASessionThatAsksWaitsForItsClientsWord) {
  Client client(
      {.address = daemon_.address(), .recover = RecoveryPolicy::kAsk});
  EXPECT_TRUE(absl::IsFailedPrecondition(client.session().Recover()));
  for (int i = 0; i < 2; ++i) {
    client.KillExecutor();
    ASSERT_TRUE(client.AwaitFault().has_value());
    // Every call says so, and nothing runs.
    EXPECT_TRUE(FaultOf(client.Add(1)).has_value());
    EXPECT_TRUE(FaultOf(client.stream().Synchronize()).has_value());
    EXPECT_EQ(client.Info().state(), v1::SessionInfo::STATE_FAULTED);
    ASSERT_EQ(client.session().Recover(), absl::OkStatus());
    client.ExpectHealthy();
  }
  // One that does not want it closes the session.
  client.KillExecutor();
  ASSERT_TRUE(client.AwaitFault().has_value());
  EXPECT_EQ(client.session().Close(), absl::OkStatus());
}

// One whose device is lost is kept until its successor is ready, and no longer.
TEST_F(RecoveryTest, AnExecutorThatIsOfNoMoreUseEnds) {
  for (const auto recover : {RecoveryPolicy::kAlways, RecoveryPolicy::kNever}) {
    Client client({.address = daemon_.address(), .recover = recover});
    const auto executor = static_cast<pid_t>(client.Info().executor_pid());
    ASSERT_EQ(kill(executor, 0), 0);
    ASSERT_EQ(Launch(client.stream(), {.grid = 1, .block = 32},
                     client.Get("stray"), client.numbers()),
              absl::OkStatus());
    EXPECT_FALSE(client.stream().Synchronize().ok());
    EXPECT_TRUE(Eventually([&] { return kill(executor, 0) != 0; }))
        << static_cast<int>(recover);
  }
}

TEST_F(RecoveryTest, ALostSessionNamesTheErrorOfItsKernel) {
  Client client(
      {.address = daemon_.address(), .recover = RecoveryPolicy::kNever});
  ASSERT_EQ(
      Launch(client.stream(), {.grid = 1, .block = 1}, client.Get("trap")),
      absl::OkStatus());
  const absl::Status status = client.stream().Synchronize();
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value()) << status;
  EXPECT_TRUE(detail->session_lost);
  EXPECT_TRUE(absl::StrContains(status.message(), "CUDA_ERROR_LAUNCH_FAILED"))
      << status;
}

TEST_F(RecoveryTest, ASessionThatFaultsAgainAndAgainIsStopped) {
  Client client({.address = daemon_.address()});
  absl::Status status;
  int faults = 0;
  for (; faults < 40; ++faults) {
    const absl::Status launched =
        Launch(client.stream(), {.grid = 1, .block = 1}, client.Get("trap"));
    status = client.stream().Synchronize();
    if (!FaultOf(status).has_value()) break;
  }
  EXPECT_GE(faults, 16);
  EXPECT_LT(faults, 40);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "--max-faults")) << status;
}

// Killed at random moments while it works: after each fault every byte that was
// completed is there, and the neighbour never notices.
TEST_F(RecoveryTest, KilledAtRandomMomentsItGoesOnAndTheNeighbourIsRight) {
  Client neighbour({.address = daemon_.tcp_address()});
  std::atomic<bool> done = false;
  std::thread work([&] {
    while (!done) neighbour.ExpectHealthy();
  });
  Client client({.address = daemon_.address()});
  std::mt19937 random(5);
  for (int round = 0; round < 8; ++round) {
    const pid_t executor = static_cast<pid_t>(client.Info().executor_pid());
    std::thread killer([executor, pause = random() % 20000] {
      usleep(static_cast<useconds_t>(pause));
      kill(executor, SIGKILL);
    });
    absl::Status status;
    std::vector<Buffer> made;
    while (status.ok()) {
      auto buffer =
          client.session().device(0).Allocate(random() % 4096, client.stream());
      status = buffer.status();
      if (buffer.ok()) made.push_back(*std::move(buffer));
      if (made.size() > 32) made.erase(made.begin(), made.begin() + 16);
      if (status.ok()) status = client.stream().Synchronize();
    }
    killer.join();
    EXPECT_TRUE(FaultOf(status).has_value()) << status;
    made.clear();
    client.ExpectHealthy();
  }
  EXPECT_EQ(client.Info().faults(), 8u);
  done = true;
  work.join();
}

}  // namespace
}  // namespace holdfast::e2e
