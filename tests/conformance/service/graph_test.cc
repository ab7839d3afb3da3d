// SPDX-License-Identifier: Apache-2.0
//
// Graphs through the daemon: every kind of node, captured and explicit, and
// what changes between launches. Nodes that the driver does not have are
// skipped.
#include "client/cpp/graph/graph.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/graph/nested_nodes.h"
#include "client/cpp/graph/rebind.h"
#include "client/cpp/graph/stream_capture.h"
#include "client/cpp/transfer/arena.h"
#include "core/base/status_macros.h"
#include "tests/conformance/random_graph/random_program.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

using testing::StatusIs;

constexpr uint32_t kCount = 256;
constexpr uint64_t kBytes = kCount * sizeof(uint32_t);
const LaunchConfig kConfig = {.grid = 2, .block = 128};
constexpr char kSource[] = R"(
extern "C" __device__ __cudart_builtin__ void CUDARTAPI
cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value);

extern "C" __global__ void add(unsigned* x, unsigned value) {
  x[threadIdx.x + blockIdx.x * blockDim.x] += value;
}
extern "C" __global__ void mix(unsigned* to, const unsigned* from,
                               unsigned factor) {
  unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
  to[i] = to[i] * factor + from[i];
}
extern "C" __global__ void count_down(unsigned* left,
                                      cudaGraphConditionalHandle more) {
  *left -= 1;
  cudaGraphSetConditional(more, *left != 0);
}
extern "C" __global__ void choose(const unsigned* x,
                                  cudaGraphConditionalHandle which) {
  cudaGraphSetConditional(which, x[0]);
}
)";
const LaunchConfig kOneThread = {.grid = 1, .block = 1};

class GraphTest : public ServiceTest {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const Compilation compiled,
                         Program(kSource).Compile(daemon()));
    ASSERT_OK_AND_ASSIGN(module_, session().Load(compiled.object));
    ASSERT_OK_AND_ASSIGN(add_, module_->GetKernel("add"));
    ASSERT_OK_AND_ASSIGN(mix_, module_->GetKernel("mix"));
    ASSERT_OK_AND_ASSIGN(stream_, session().device(0).CreateStream());
    for (std::optional<Buffer>* buffer : {&x_, &y_, &z_}) {
      ASSERT_OK_AND_ASSIGN(*buffer, session().device(0).Allocate(kBytes));
      ASSERT_OK((*buffer)->Fill(uint32_t{0}, *stream_));
    }
    ASSERT_OK(session().Synchronize());
  }
  void TearDown() override { EXPECT_OK(session().Synchronize()); }

  static absl::StatusOr<GraphExec> Instantiate(
      const GraphDefinition& definition, const GraphExecOptions& options = {}) {
    HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
                              Graph::Create(session(), definition));
    HOLDFAST_ASSIGN_OR_RETURN(GraphExec exec, graph.Instantiate(options));
    HOLDFAST_RETURN_IF_ERROR(session().Synchronize());
    return exec;
  }

  absl::StatusOr<std::vector<uint32_t>> Read(const Buffer& buffer) const {
    std::vector<uint32_t> numbers(buffer.size() / sizeof(uint32_t));
    HOLDFAST_RETURN_IF_ERROR(buffer.Download(numbers, *stream_));
    return numbers;
  }
  void ExpectAll(const Buffer& buffer, uint32_t value) const {
    ASSERT_OK_AND_ASSIGN(const auto numbers, Read(buffer));
    EXPECT_EQ(numbers, std::vector<uint32_t>(numbers.size(), value));
  }

  std::optional<Module> module_;
  std::optional<Kernel> add_, mix_;
  std::optional<Stream> stream_;
  std::optional<Buffer> x_, y_, z_;
};

TEST_F(GraphTest, NodesRunInTheOrderOfTheirEdgesAtEachLaunch) {
  GraphDefinition graph;
  ASSERT_OK_AND_ASSIGN(const GraphNode fill,
                       graph.Add(FillNode(*y_, uint32_t{10})));
  ASSERT_OK_AND_ASSIGN(const GraphNode one,
                       graph.Add(KernelNode(kConfig, *add_, *x_, uint32_t{1})));
  ASSERT_OK_AND_ASSIGN(const GraphNode both,
                       graph.Add(EmptyNode(), {fill, one}));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode mix,
      graph.Add(KernelNode(kConfig, *mix_, *y_, *x_, uint32_t{3}), {both}));
  ASSERT_OK(graph.Add(CopyNode(*z_, *y_), {mix}));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  ASSERT_OK(exec.Upload(*stream_));
  for (uint32_t launch = 1; launch <= 20; ++launch) {
    ASSERT_OK(exec.Launch(*stream_));
  }
  ExpectAll(*z_, 10 * 3 + 20);
}

TEST_F(GraphTest, BoxesRowsAndRangesAreBytesForBytesThoseOfStreams) {
  std::vector<uint32_t> numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), 1u);
  ASSERT_OK(x_->Upload(numbers, *stream_));
  const Box box = {.width = 8, .height = 3, .depth = 2};
  GraphDefinition graph;
  ASSERT_OK_AND_ASSIGN(
      const GraphNode rows,
      graph.Add(FillRowsNode(uint16_t{0x1234}, {*y_, 4, 64}, 12, 5)));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode boxes,
      graph.Add(CopyBoxNode(box, {*y_, 16, 32, 128}, {*x_, 4, 16, 64}),
                {rows}));
  ASSERT_OK_AND_ASSIGN(const GraphNode range,
                       graph.Add(CopyNode({*y_, 900, *x_, 8, 100}), {boxes}));
  ASSERT_OK(graph.Add(FillNode(*y_, uint8_t{7}, 800, 3), {range}));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  ASSERT_OK(exec.Launch(*stream_));
  ASSERT_OK(FillRows(uint16_t{0x1234}, {*z_, 4, 64}, 12, 5, *stream_));
  ASSERT_OK(CopyBox(box, {*z_, 16, 32, 128}, {*x_, 4, 16, 64}, *stream_));
  ASSERT_OK(z_->CopyFrom(*x_, 8, 900, 100, *stream_));
  ASSERT_OK(z_->Fill(uint8_t{7}, 800, 3, *stream_));
  ASSERT_OK_AND_ASSIGN(const auto by_graph, Read(*y_));
  ASSERT_OK_AND_ASSIGN(const auto by_stream, Read(*z_));
  EXPECT_EQ(by_graph, by_stream);
}

TEST_F(GraphTest, ThreeCapturedStreamsForkAndJoin) {
  ASSERT_OK_AND_ASSIGN(const Stream left, session().device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(const Stream right, session().device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(StreamCapture capture, StreamCapture::Begin(*stream_));
  ASSERT_OK(Launch(*stream_, kConfig, *add_, *x_, uint32_t{1}));
  ASSERT_OK(left.Wait(*stream_));
  ASSERT_OK(right.Wait(*stream_));
  ASSERT_OK(y_->CopyFrom(*x_, left));
  ASSERT_OK(Launch(left, kConfig, *add_, *y_, uint32_t{100}));
  ASSERT_OK(z_->Fill(uint32_t{5}, right));
  ASSERT_OK(stream_->Wait(left));
  ASSERT_OK(stream_->Wait(right));
  ASSERT_OK(Launch(*stream_, kConfig, *mix_, *z_, *y_, uint32_t{2}));
  ASSERT_OK_AND_ASSIGN(const GraphDefinition graph, capture.End());
  ExpectAll(*x_, 0);  // nothing was carried out
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  for (int i = 0; i < 3; ++i) ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*z_, 5 * 2 + 103);
}

TEST_F(GraphTest, LaunchesOnSeveralStreamsRunOneAfterTheOther) {
  GraphDefinition graph;
  ASSERT_OK(graph.Add(KernelNode(kConfig, *add_, *x_, uint32_t{1})));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  ASSERT_OK_AND_ASSIGN(const Stream other, session().device(0).CreateStream());
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK(exec.Launch(*stream_));
    ASSERT_OK(exec.Launch(other));
  }
  ASSERT_OK(session().Synchronize());
  ExpectAll(*x_, 100);
}

TEST_F(GraphTest, WhatGraphsUseLivesAsLongAsTheyDo) {
  std::optional<GraphExec> exec;
  {
    ASSERT_OK_AND_ASSIGN(const Buffer temporary,
                         session().device(0).Allocate(kBytes));
    GraphDefinition graph;
    ASSERT_OK_AND_ASSIGN(const GraphNode fill,
                         graph.Add(FillNode(temporary, uint32_t{6})));
    ASSERT_OK(graph.Add(CopyNode(*x_, temporary), {fill}));
    ASSERT_OK_AND_ASSIGN(exec, Instantiate(graph));
  }
  ASSERT_OK_AND_ASSIGN(const Buffer next, session().device(0).Allocate(kBytes));
  ASSERT_OK(next.Fill(uint32_t{1}, *stream_));
  ASSERT_OK(exec->Launch(*stream_));
  ExpectAll(*x_, 6);
  ExpectAll(next, 1);
}

TEST_F(GraphTest, AnEventOrdersAGraphAndAStream) {
  ASSERT_OK_AND_ASSIGN(const Event done, session().device(0).CreateEvent());
  GraphDefinition graph;
  ASSERT_OK_AND_ASSIGN(const GraphNode add,
                       graph.Add(KernelNode(kConfig, *add_, *x_, uint32_t{4})));
  ASSERT_OK(graph.Add(RecordNode(done), {add}));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  ASSERT_OK_AND_ASSIGN(const Stream other, session().device(0).CreateStream());
  ASSERT_OK(exec.Launch(*stream_));
  ASSERT_OK(other.Wait(done));
  ASSERT_OK(y_->CopyFrom(*x_, other));
  ASSERT_OK(other.Synchronize());
  ExpectAll(*y_, 4);
}

TEST_F(GraphTest, AChildIsAllOfAnotherDefinition) {
  GraphDefinition child, graph;
  ASSERT_OK_AND_ASSIGN(const GraphNode first,
                       child.Add(KernelNode(kConfig, *add_, *x_, uint32_t{1})));
  ASSERT_OK(
      child.Add(KernelNode(kConfig, *mix_, *y_, *x_, uint32_t{1}), {first}));
  ASSERT_OK_AND_ASSIGN(const GraphNode once, graph.Add(ChildNode(child)));
  ASSERT_OK(graph.Add(ChildNode(child), {once}));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*y_, 1 + 2);
}

TEST_F(GraphTest, AWhileLoopEndsWhenAKernelSaysSo) {
  ASSERT_OK_AND_ASSIGN(const Kernel count_down,
                       module_->GetKernel("count_down"));
  GraphDefinition graph, body;
  const GraphCondition more = graph.CreateCondition(1);
  ASSERT_OK_AND_ASSIGN(const GraphNode add,
                       body.Add(KernelNode(kConfig, *add_, *x_, uint32_t{2})));
  ASSERT_OK(body.Add(KernelNode(kOneThread, count_down, *y_, more), {add}));
  ASSERT_OK_AND_ASSIGN(const GraphNode start,
                       graph.Add(FillNode(*y_, uint32_t{10})));
  ASSERT_OK(graph.Add(WhileNode(more, body), {start}));
  const auto made = Instantiate(graph);
  if (absl::IsUnimplemented(made.status())) GTEST_SKIP() << made.status();
  ASSERT_OK(made);
  const GraphExec& exec = *made;
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*x_, 20);
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*x_, 40);
}

TEST_F(GraphTest, IfElseAndSwitchTakeOneBranchAtMost) {
  ASSERT_OK_AND_ASSIGN(const Kernel choose, module_->GetKernel("choose"));
  std::vector<GraphDefinition> adds(3);
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_OK(
        adds[i].Add(KernelNode(kConfig, *add_, *x_, uint32_t{1} << 4 * i)));
  }
  GraphDefinition graph;
  const GraphCondition any = graph.CreateCondition(0);
  const GraphCondition which = graph.CreateCondition(0);
  ASSERT_OK_AND_ASSIGN(const GraphNode set_any,
                       graph.Add(KernelNode(kOneThread, choose, *y_, any)));
  ASSERT_OK_AND_ASSIGN(const GraphNode if_else,
                       graph.Add(IfElseNode(any, adds[1], adds[2]), {set_any}));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode set_which,
      graph.Add(KernelNode(kOneThread, choose, *y_, which), {if_else}));
  ASSERT_OK(graph.Add(SwitchNode(which, adds), {set_which}));
  const auto made = Instantiate(graph);
  if (absl::IsUnimplemented(made.status())) GTEST_SKIP() << made.status();
  ASSERT_OK(made);
  const GraphExec& exec = *made;
  uint32_t expected = 0;
  for (const uint32_t choice : {0u, 1u, 2u, 3u}) {
    ASSERT_OK(y_->Fill(choice, *stream_));
    ASSERT_OK(exec.Launch(*stream_));
    expected += choice == 0 ? 0x100 : 0x10;
    if (choice < 3) expected += 1u << 4 * choice;
    ExpectAll(*x_, expected);
  }
}

TEST_F(GraphTest, NodesAreUpdatedDisabledAndAllOfThemAtOnce) {
  GraphDefinition graph;
  ASSERT_OK_AND_ASSIGN(const GraphNode fill,
                       graph.Add(FillNode(*x_, uint32_t{1})));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode add,
      graph.Add(KernelNode(kConfig, *add_, *x_, uint32_t{2}), {fill}));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  ASSERT_OK(exec.Update(add, KernelNode(kConfig, *add_, *x_, uint32_t{7})));
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*x_, 8);
  ASSERT_OK(exec.SetEnabled(fill, false));
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*x_, 15);
  ASSERT_OK(exec.SetEnabled(fill, true));

  ASSERT_OK(graph.Set(fill, FillNode(*x_, uint32_t{50})));
  ASSERT_OK_AND_ASSIGN(const Graph changed, Graph::Create(session(), graph));
  ASSERT_OK(exec.Update(changed));
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*x_, 52);
}

TEST_F(GraphTest, ARefusedUpdateChangesNothing) {
  GraphDefinition graph;
  ASSERT_OK_AND_ASSIGN(const GraphNode fill,
                       graph.Add(FillNode(*x_, uint32_t{1})));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode add,
      graph.Add(KernelNode(kConfig, *add_, *x_, uint32_t{2}), {fill}));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  GraphDefinition other;
  ASSERT_OK(other.Add(FillNode(*x_, uint32_t{9})));
  ASSERT_OK_AND_ASSIGN(const Graph smaller, Graph::Create(session(), other));
  ASSERT_OK(exec.Update(smaller));
  EXPECT_EQ(session().Synchronize().code(),
            absl::StatusCode::kFailedPrecondition);
  NodeUpdates updates;
  updates.Set(add, KernelNode(kConfig, *add_, *x_, uint32_t{100}));
  updates.Set(fill, KernelNode(kConfig, *add_, *x_, uint32_t{100}));
  ASSERT_OK(exec.Update(updates));
  EXPECT_FALSE(session().Synchronize().ok());
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*x_, 3);
}

TEST_F(GraphTest, MemoryOfAGraphIsThereForItsNodes) {
  ASSERT_OK_AND_ASSIGN(auto reserved,
                       Buffer::OfGraph(session().state(), kBytes));
  std::optional<Buffer> memory(std::move(reserved));
  GraphDefinition graph;
  ASSERT_OK_AND_ASSIGN(const GraphNode allocate,
                       graph.Add(AllocationNode(*memory, 0)));
  ASSERT_OK_AND_ASSIGN(const GraphNode fill,
                       graph.Add(FillNode(*memory, uint32_t{3}), {allocate}));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode mix,
      graph.Add(KernelNode(kConfig, *mix_, *x_, *memory, uint32_t{1}), {fill}));
  ASSERT_OK(graph.Add(FreeNode(*memory), {mix}));
  ASSERT_OK_AND_ASSIGN(const Graph made, Graph::Create(session(), graph));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, made.Instantiate());
  ASSERT_OK(exec.Launch(*stream_));
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*x_, 6);
  // As CUDA has it.
  ASSERT_OK_AND_ASSIGN(const Graph clone, made.Clone());
  EXPECT_EQ(session().Synchronize().code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_OK_AND_ASSIGN(const GraphExec second, made.Instantiate());
  EXPECT_EQ(session().Synchronize().code(),
            absl::StatusCode::kFailedPrecondition);
  // The graph holds on to its memory.
  memory.reset();
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*x_, 9);
}

TEST_F(GraphTest, SemaphoresOrderAGraphWithAStream) {
  ASSERT_OK_AND_ASSIGN(const Semaphore semaphore,
                       session().device(0).CreateSemaphore());
  GraphDefinition graph;
  ASSERT_OK_AND_ASSIGN(const GraphNode wait, graph.Add(WaitNode(semaphore, 1)));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode add,
      graph.Add(KernelNode(kConfig, *add_, *x_, uint32_t{2}), {wait}));
  ASSERT_OK(graph.Add(SignalNode(semaphore, 2), {add}));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  ASSERT_OK(exec.Launch(*stream_));
  ASSERT_OK_AND_ASSIGN(const Stream other, session().device(0).CreateStream());
  ASSERT_OK(semaphore.Wait(2, other));
  ASSERT_OK_AND_ASSIGN(bool done, other.IsDone());
  EXPECT_FALSE(done) << "nobody has signalled 1";
  ASSERT_OK(semaphore.Signal(1));
  ASSERT_OK(other.Synchronize());
  ExpectAll(*x_, 2);
  // The value of one node changes in place.
  ASSERT_OK(exec.Update(wait, WaitNode(semaphore, 3)));
  ASSERT_OK(exec.Launch(*stream_));
  ASSERT_OK(semaphore.Signal(3));
  ASSERT_OK(stream_->Synchronize());
  ExpectAll(*x_, 4);
}

TEST_F(GraphTest, ADrawingHasEveryNodeAndNoAddress) {
  GraphDefinition graph, body;
  const GraphCondition condition = graph.CreateCondition(0);
  ASSERT_OK(body.Add(KernelNode(kConfig, *add_, *x_, uint32_t{2})));
  ASSERT_OK_AND_ASSIGN(const GraphNode fill,
                       graph.Add(FillNode(*x_, uint32_t{1})));
  ASSERT_OK(graph.Add(IfNode(condition, body), {fill}));
  ASSERT_OK_AND_ASSIGN(const Graph made, Graph::Create(session(), graph));
  ASSERT_OK_AND_ASSIGN(const std::string plain, made.Draw());
  EXPECT_NE(plain.find("n1 -> n2;"), std::string::npos) << plain;
  EXPECT_NE(plain.find("KERNEL"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("add"), std::string::npos) << plain;
  ASSERT_OK_AND_ASSIGN(const std::string verbose, made.Draw(true));
  EXPECT_NE(verbose.find("add"), std::string::npos) << verbose;
  EXPECT_NE(verbose.find("CONDITIONAL|IF"), std::string::npos) << verbose;
  EXPECT_EQ(verbose.find("0x"), std::string::npos) << verbose;
}

TEST_F(GraphTest, ACloneIsAGraphOfItsOwn) {
  GraphDefinition graph;
  ASSERT_OK(graph.Add(KernelNode(kConfig, *add_, *x_, uint32_t{1})));
  ASSERT_OK_AND_ASSIGN(const Graph made, Graph::Create(session(), graph));
  ASSERT_OK_AND_ASSIGN(const Graph clone, made.Clone());
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, clone.Instantiate());
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*x_, 1);
}

TEST_F(GraphTest, ErrorsNameTheNode) {
  GraphDefinition wrong, graph;
  ASSERT_OK(wrong.Add(EmptyNode()));
  ASSERT_OK(wrong.Add(KernelNode(kConfig, *add_, *x_)));
  const auto made = Graph::Create(session(), wrong);
  EXPECT_THAT(session().Synchronize(),
              StatusIs(absl::StatusCode::kInvalidArgument, "node 2"));
  ASSERT_OK(graph.Add(ChildNode(wrong)));
  const auto nested = Graph::Create(session(), graph);
  EXPECT_THAT(session().Synchronize(),
              StatusIs(absl::StatusCode::kInvalidArgument, "node 1, node 2"));
}

TEST_F(GraphTest, ADefinitionRunsInAnotherSession) {
  GraphDefinition graph;
  ASSERT_OK(graph.Add(KernelNode(kConfig, *add_, *x_, uint32_t{5})));
  ASSERT_OK_AND_ASSIGN(
      const auto other,
      Session::Open({.address = daemon().address().text, .name = "other"}));
  ASSERT_OK_AND_ASSIGN(const Compilation compiled,
                       Program(kSource).Compile(daemon()));
  ASSERT_OK_AND_ASSIGN(const Module module, other->Load(compiled.object));
  ASSERT_OK_AND_ASSIGN(const Kernel add, module.GetKernel("add"));
  ASSERT_OK_AND_ASSIGN(const Stream stream, other->device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(const Buffer y, other->device(0).Allocate(kBytes));
  ASSERT_OK(y.Fill(uint32_t{1}, stream));
  GraphBinding binding;
  binding.Bind(*add_, add);
  binding.Bind(*x_, y);
  ASSERT_OK_AND_ASSIGN(const GraphDefinition bound, Rebind(graph, binding));
  ASSERT_OK_AND_ASSIGN(const Graph made, Graph::Create(*other, bound));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, made.Instantiate());
  ASSERT_OK(exec.Launch(stream));
  std::vector<uint32_t> numbers(kCount);
  ASSERT_OK(y.Download(numbers, stream));
  EXPECT_EQ(numbers, std::vector<uint32_t>(kCount, 6));
  ExpectAll(*x_, 0);
}

TEST_F(GraphTest, ArenasAreCopiedAtEachLaunch) {
  const auto arena = session().CreateArena(1 << 16);
  if (!arena.ok()) GTEST_SKIP() << arena.status();
  ASSERT_OK_AND_ASSIGN(const ArenaSpan in, (*arena)->Allocate(kBytes));
  ASSERT_OK_AND_ASSIGN(const ArenaSpan out, (*arena)->Allocate(kBytes));
  ASSERT_OK_AND_ASSIGN(StreamCapture capture, StreamCapture::Begin(*stream_));
  ASSERT_OK(x_->CopyFrom(in, *stream_));
  ASSERT_OK(Launch(*stream_, kConfig, *add_, *x_, uint32_t{1}));
  ASSERT_OK(x_->CopyTo(out, *stream_));
  ASSERT_OK_AND_ASSIGN(const GraphDefinition graph, capture.End());
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  for (uint32_t launch = 0; launch < 3; ++launch) {
    for (uint32_t& number : in.As<uint32_t>()) number = 10 * launch;
    ASSERT_OK(exec.Launch(*stream_));
    ASSERT_OK(stream_->Synchronize());
    EXPECT_EQ(out.As<uint32_t>()[kCount - 1], 10 * launch + 1);
  }
}

TEST_F(GraphTest, NodesOfSeveralDevicesShareAGraph) {
  int devices = 0;
  ASSERT_EQ(driver().cuDeviceGetCount(&devices), CUDA_SUCCESS);
  if (devices < 2) GTEST_SKIP() << "this machine has one device";
  const Device first = session().device(0), second = session().device(1);
  ASSERT_OK(first.EnablePeerAccess(second));
  ASSERT_OK(second.EnablePeerAccess(first));
  ASSERT_OK_AND_ASSIGN(const Buffer there, second.Allocate(kBytes));
  GraphDefinition graph;
  ASSERT_OK_AND_ASSIGN(const GraphNode here,
                       graph.Add(KernelNode(kConfig, *add_, *x_, uint32_t{3})));
  ASSERT_OK_AND_ASSIGN(const GraphNode across,
                       graph.Add(CopyNode(there, *x_), {here}));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode add,
      graph.Add(KernelNode(kConfig, *add_, there, uint32_t{10}).On(1),
                {across}));
  ASSERT_OK(graph.Add(CopyNode(*y_, there).On(1), {add}));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, Instantiate(graph));
  ASSERT_OK(exec.Launch(*stream_));
  ASSERT_OK(exec.Launch(*stream_));
  ExpectAll(*y_, 16);
}

// Random graphs of fills, copies and kernels against the same work in a row.
class RandomGraphTest : public GraphTest {
 protected:
  static constexpr int kArrays = 6;

  void SetUp() override {
    GraphTest::SetUp();
    for (int i = 0; i < kArrays; ++i) {
      ASSERT_OK_AND_ASSIGN(Buffer array, session().device(0).Allocate(kBytes));
      arrays_.push_back(std::move(array));
    }
  }

  NodeParams NodeOf(const RandomOperation& o) const {
    const Buffer& to = arrays_[o.to];
    const Buffer& from = arrays_[o.from];
    switch (o.kind) {
      case RandomOperation::Kind::kFill:
        return FillNode(to, uint32_t{o.value});
      case RandomOperation::Kind::kCopy:
        return CopyNode(to, from);
      default:
        return KernelNode(kConfig, *mix_, to, from, uint32_t{o.value});
    }
  }

  absl::StatusOr<GraphDefinition> Define(const RandomProgram& program) const {
    GraphDefinition definition;
    std::vector<GraphNode> nodes;
    for (size_t i = 0; i < program.operations().size(); ++i) {
      std::vector<GraphNode> after;
      for (const size_t earlier : program.DependenciesOf(i)) {
        after.push_back(nodes[earlier]);
      }
      HOLDFAST_ASSIGN_OR_RETURN(
          nodes.emplace_back(),
          definition.Add(NodeOf(program.operations()[i]), after));
    }
    return definition;
  }

  // An error is a failure to agree, too.
  absl::Status Check(const RandomProgram& program) const {
    constexpr int kRuns = 3;
    for (const Buffer& array : arrays_) {
      HOLDFAST_RETURN_IF_ERROR(array.Fill(uint32_t{0}, *stream_));
    }
    HOLDFAST_ASSIGN_OR_RETURN(const GraphDefinition definition,
                              Define(program));
    HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, Instantiate(definition));
    for (int i = 0; i < kRuns; ++i) {
      HOLDFAST_RETURN_IF_ERROR(exec.Launch(*stream_));
    }
    const std::vector<unsigned> expected = program.ResultOf(kRuns);
    for (int i = 0; i < kArrays; ++i) {
      HOLDFAST_ASSIGN_OR_RETURN(const auto found, Read(arrays_[i]));
      if (found == std::vector<uint32_t>(kCount, expected[i])) continue;
      return absl::DataLossError(absl::StrCat("array ", i, " is wrong"));
    }
    return absl::OkStatus();
  }

  std::vector<Buffer> arrays_;
};

TEST_F(RandomGraphTest, GraphsDoWhatTheSameWorkInARowDoes) {
  absl::Status last;  // of the program that fails
  EXPECT_EQ(FindFailure(50, kArrays,
                        [&](const RandomProgram& program) {
                          const absl::Status status = Check(program);
                          if (!status.ok()) last = status;
                          return status.ok();
                        }),
            "")
      << last;
}

}  // namespace
}  // namespace holdfast::conformance
