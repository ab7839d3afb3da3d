// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/bench/bench.h"
#include "client/bench/delay_proxy.h"
#include "client/bench/graph_workload.h"
#include "client/bench/kernels.h"
#include "client/bench/workload.h"
#include "client/cpp/connection/address.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/launch.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/objects.pb.h"

namespace holdfast::bench {
namespace {

const LaunchConfig kOneWarp = {.grid = 1, .block = 32};

// A session's kernel and stream, for the launches that are timed.
struct Target {
  Session& session;
  Stream stream;
  Kernel kernel;
  Buffer buffer;

  NodeParams Node() const {
    return KernelNode(kOneWarp, kernel, buffer, buffer, 1.0f, uint64_t{1});
  }
  absl::Status Single() const {
    return Launch(stream, kOneWarp, kernel, buffer, buffer, 1.0f, uint64_t{1});
  }
  absl::Status Synchronize() const { return stream.Synchronize(); }
};

absl::StatusOr<Target> MakeTarget(Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(Stream stream, session.device(0).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(
      const ObjectCode object,
      ObjectCode::Put(session.daemon(), kEmptyKernels, v1::OBJECT_FORMAT_PTX));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module, session.Load(object));
  HOLDFAST_ASSIGN_OR_RETURN(Kernel kernel, module.GetKernel("four"));
  HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer, session.device(0).Allocate(4096));
  return Target{session, std::move(stream), std::move(kernel),
                std::move(buffer)};
}

// A chain of launches.
absl::StatusOr<GraphDefinition> Define(const Target& target, int nodes) {
  GraphDefinition definition;
  std::vector<GraphNode> last;
  for (int i = 0; i < nodes; ++i) {
    HOLDFAST_ASSIGN_OR_RETURN(const GraphNode node,
                              definition.Add(target.Node(), last));
    last = {node};
  }
  return definition;
}

absl::StatusOr<GraphExec> MakeExec(const Target& target, int nodes) {
  HOLDFAST_ASSIGN_OR_RETURN(const GraphDefinition definition,
                            Define(target, nodes));
  HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
                            Graph::Create(target.session, definition));
  HOLDFAST_ASSIGN_OR_RETURN(GraphExec exec, graph.Instantiate());
  HOLDFAST_RETURN_IF_ERROR(target.session.Synchronize());
  return exec;
}

Figure MakeFigure(Bench& bench, std::string name, const std::string& native) {
  return {.group = "graph",
          .name = std::move(name),
          .unit = "µs",
          .baseline = bench.NativeBaseline("graph", native)};
}

absl::Status AddLaunching(Bench& bench, const Target& target, int nodes) {
  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, MakeExec(target, nodes));
  HOLDFAST_RETURN_IF_ERROR(exec.Upload(target.stream));
  HOLDFAST_RETURN_IF_ERROR(target.Synchronize());
  const auto launch = [&] { return exec.Launch(target.stream); };
  const auto synchronize = [&] { return target.Synchronize(); };
  const std::string what =
      nodes == 1 ? "1 kernel" : absl::StrCat(nodes, " kernels");

  Figure call =
      MakeFigure(bench, absl::StrCat("launch of ", what, ", the call"),
                 absl::StrCat("call_us/", nodes));
  HOLDFAST_ASSIGN_OR_RETURN(call.value,
                            CallTime(bench.quick(), launch, synchronize));
  bench.Add(std::move(call));

  Figure through =
      MakeFigure(bench, absl::StrCat("launch of ", what, " and synchronise"),
                 absl::StrCat("through_us/", nodes));
  HOLDFAST_ASSIGN_OR_RETURN(
      through.value, ThroughTime(nodes, bench.quick(), launch, synchronize));
  bench.Add(std::move(through).ReachingSum(4));

  Figure rate =
      MakeFigure(bench, absl::StrCat("launches of ", what, ", pipelined"),
                 absl::StrCat("rate/", nodes));
  rate.unit = "/s";
  rate.better = Better::kMore;
  HOLDFAST_ASSIGN_OR_RETURN(
      rate.value, GraphRate(nodes, bench.quick(), launch, synchronize));
  bench.Add(std::move(rate).ReachingRatio(0.97));
  return absl::OkStatus();
}

// The two halves of "define and instantiate", each with the end of what it
// makes.
absl::Status AddHalves(Bench& bench, const Target& target) {
  const auto make = [&]() -> absl::StatusOr<Graph> {
    HOLDFAST_ASSIGN_OR_RETURN(const GraphDefinition definition,
                              Define(target, 1000));
    HOLDFAST_ASSIGN_OR_RETURN(Graph graph,
                              Graph::Create(target.session, definition));
    HOLDFAST_RETURN_IF_ERROR(target.session.Synchronize());
    return graph;
  };
  Figure define = MakeFigure(bench, "define 1000 kernels", "graph_us/1000");
  HOLDFAST_ASSIGN_OR_RETURN(
      define.value,
      TimeEach(2, Definitions(bench.quick()), [&] { return make().status(); }));
  bench.Add(std::move(define));

  HOLDFAST_ASSIGN_OR_RETURN(const Graph graph, make());
  Figure instantiate =
      MakeFigure(bench, "instantiate 1000 kernels", "instantiate_us/1000");
  HOLDFAST_ASSIGN_OR_RETURN(
      instantiate.value,
      TimeEach(2, Definitions(bench.quick()), [&]() -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, graph.Instantiate());
        return target.session.Synchronize();
      }));
  bench.Add(std::move(instantiate));
  return absl::OkStatus();
}

absl::Status AddMaking(Bench& bench, const Target& target) {
  Figure define = MakeFigure(bench, "define and instantiate 1000 kernels",
                             "define_us/1000");
  HOLDFAST_ASSIGN_OR_RETURN(
      define.value, TimeEach(2, Definitions(bench.quick()),
                             [&] { return MakeExec(target, 1000).status(); }));
  bench.Add(std::move(define).ReachingRatio(1.2));
  HOLDFAST_RETURN_IF_ERROR(AddHalves(bench, target));

  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, MakeExec(target, 100));
  Figure update =
      MakeFigure(bench, "update the arguments of 100 kernels", "update_us/100");
  HOLDFAST_ASSIGN_OR_RETURN(
      update.value,
      TimeEach(2, Definitions(bench.quick()), [&]() -> absl::Status {
        NodeUpdates updates;
        for (uint32_t id = 1; id <= 100; ++id) updates.Set({id}, target.Node());
        HOLDFAST_RETURN_IF_ERROR(exec.Update(updates));
        return target.session.Synchronize();
      }));
  bench.Add(std::move(update).ReachingRatio(1.2));
  return absl::OkStatus();
}

absl::Status LaunchSingles(const Target& target, int count) {
  for (int i = 0; i < count; ++i) {
    HOLDFAST_RETURN_IF_ERROR(target.Single());
  }
  return absl::OkStatus();
}

absl::Status AddSingles(Bench& bench, const Target& target) {
  Figure singles =
      MakeFigure(bench, "100 kernels one by one, pipelined, and synchronise",
                 "singles_us/100");
  HOLDFAST_ASSIGN_OR_RETURN(
      singles.value,
      ThroughTime(
          100, bench.quick(), [&] { return LaunchSingles(target, 100); },
          [&] { return target.Synchronize(); }));
  bench.Add(std::move(singles));
  return absl::OkStatus();
}

// Over a network that is `round_trip` long. The baseline is one command that is
// waited for: a graph is as quick as the shortest that there is.
absl::Status AddDelayed(Bench& bench, absl::Duration round_trip) {
  HOLDFAST_ASSIGN_OR_RETURN(const Address tcp,
                            Address::Parse(bench.options().tcp_address));
  HOLDFAST_ASSIGN_OR_RETURN(const auto proxy,
                            DelayProxy::Start(tcp.target, round_trip / 2));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open(
          {.address = absl::StrCat("tcp:", proxy->target()), .name = "bench"}));
  HOLDFAST_ASSIGN_OR_RETURN(const Target target, MakeTarget(*session));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, MakeExec(target, 100));
  const int count = bench.quick() ? 10 : 50;
  HOLDFAST_ASSIGN_OR_RETURN(const Summary wait, TimeEach(3, count, [&] {
                              return target.Synchronize();
                            }));
  const auto add = [&](const char* what, auto launch) -> absl::Status {
    Figure figure{.group = "graph",
                  .name = absl::StrCat(what, ", over TCP with a round trip of ",
                                       absl::FormatDuration(round_trip)),
                  .unit = "µs",
                  .baseline = Baseline{"one command, waited for", wait}};
    HOLDFAST_ASSIGN_OR_RETURN(figure.value,
                              TimeEach(3, count, [&]() -> absl::Status {
                                HOLDFAST_RETURN_IF_ERROR(launch());
                                return target.Synchronize();
                              }));
    bench.Add(std::move(figure));
    return absl::OkStatus();
  };
  HOLDFAST_RETURN_IF_ERROR(add("a graph of 100 kernels",
                               [&] { return exec.Launch(target.stream); }));
  HOLDFAST_RETURN_IF_ERROR(add("100 kernels one by one",
                               [&] { return LaunchSingles(target, 100); }));
  return add("100 kernels, each waited for", [&]() -> absl::Status {
    for (int i = 0; i < 99; ++i) {
      HOLDFAST_RETURN_IF_ERROR(target.Single());
      HOLDFAST_RETURN_IF_ERROR(target.Synchronize());
    }
    return target.Single();
  });
}

}  // namespace

absl::Status MeasureGraphs(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(Session * session, bench.session());
  HOLDFAST_ASSIGN_OR_RETURN(const Target target, MakeTarget(*session));
  for (const int nodes : kGraphNodes) {
    HOLDFAST_RETURN_IF_ERROR(AddLaunching(bench, target, nodes));
  }
  HOLDFAST_RETURN_IF_ERROR(AddMaking(bench, target));
  HOLDFAST_RETURN_IF_ERROR(AddSingles(bench, target));
  if (bench.options().tcp_address.empty()) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(AddDelayed(bench, absl::Milliseconds(1)));
  return AddDelayed(bench, absl::Milliseconds(30));
}

}  // namespace holdfast::bench
