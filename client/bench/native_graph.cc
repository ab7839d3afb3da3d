// SPDX-License-Identifier: Apache-2.0
#include "client/bench/native_graph.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/bench/graph_workload.h"
#include "client/bench/kernels.h"
#include "client/bench/native_driver.h"
#include "client/bench/workload.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {
namespace {

// A chain of kernels, and what it was instantiated to.
class NativeGraph {
 public:
  static absl::StatusOr<std::unique_ptr<NativeGraph>> Define(
      const NativeDriver& driver, const cuda::Kernel& kernel, int nodes) {
    std::unique_ptr<NativeGraph> made(new NativeGraph(driver, kernel));
    const cuda::DriverApi& api = driver.api();
    HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuGraphCreate(&made->graph_, 0));
    for (int i = 0; i < nodes; ++i) {
      CUgraphNode node = nullptr;
      HOLDFAST_CUDA_RETURN_IF_ERROR(
          api, cuGraphAddKernelNode(&node, made->graph_,
                                    i > 0 ? &made->nodes_.back() : nullptr,
                                    i > 0 ? 1 : 0, &made->params_));
      made->nodes_.push_back(node);
    }
    return made;
  }
  // Defines and instantiates.
  static absl::StatusOr<std::unique_ptr<NativeGraph>> Make(
      const NativeDriver& driver, const cuda::Kernel& kernel, int nodes) {
    HOLDFAST_ASSIGN_OR_RETURN(auto made, Define(driver, kernel, nodes));
    HOLDFAST_RETURN_IF_ERROR(made->Instantiate());
    return made;
  }
  ~NativeGraph() {
    EndExec();
    if (graph_ != nullptr) driver_.api().cuGraphDestroy(graph_);
  }

  absl::Status Instantiate() {
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    HOLDFAST_CUDA_RETURN_IF_ERROR(
        driver_.api(), cuGraphInstantiateWithParams(&exec_, graph_, &params));
    return absl::OkStatus();
  }
  void EndExec() {
    if (exec_ != nullptr) driver_.api().cuGraphExecDestroy(exec_);
    exec_ = nullptr;
  }

  absl::Status Launch() const {
    HOLDFAST_CUDA_RETURN_IF_ERROR(driver_.api(),
                                  cuGraphLaunch(exec_, driver_.stream()));
    return absl::OkStatus();
  }
  absl::Status Upload() const {
    HOLDFAST_CUDA_RETURN_IF_ERROR(driver_.api(),
                                  cuGraphUpload(exec_, driver_.stream()));
    return driver_.Synchronize();
  }
  absl::Status UpdateNodes() const {
    for (CUgraphNode node : nodes_) {
      HOLDFAST_CUDA_RETURN_IF_ERROR(
          driver_.api(), cuGraphExecKernelNodeSetParams(exec_, node, &params_));
    }
    return absl::OkStatus();
  }

 private:
  NativeGraph(const NativeDriver& driver, const cuda::Kernel& kernel)
      : driver_(driver) {
    for (int i = 0; i < 4; ++i) arguments_[i] = &values_[i];
    params_.kern = kernel.handle();
    params_.gridDimX = params_.gridDimY = params_.gridDimZ = 1;
    params_.blockDimX = 32;
    params_.blockDimY = params_.blockDimZ = 1;
    params_.kernelParams = arguments_;
  }

  const NativeDriver& driver_;
  uint64_t values_[4] = {};
  void* arguments_[4];
  CUDA_KERNEL_NODE_PARAMS params_{};
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  std::vector<CUgraphNode> nodes_;
};

absl::Status Require(const cuda::DriverApi& api) {
  HOLDFAST_CUDA_REQUIRE(api, cuGraphCreate);
  HOLDFAST_CUDA_REQUIRE(api, cuGraphDestroy);
  HOLDFAST_CUDA_REQUIRE(api, cuGraphAddKernelNode);
  HOLDFAST_CUDA_REQUIRE(api, cuGraphInstantiateWithParams);
  HOLDFAST_CUDA_REQUIRE(api, cuGraphUpload);
  HOLDFAST_CUDA_REQUIRE(api, cuGraphLaunch);
  HOLDFAST_CUDA_REQUIRE(api, cuGraphExecKernelNodeSetParams);
  HOLDFAST_CUDA_REQUIRE(api, cuGraphExecDestroy);
  return absl::OkStatus();
}

absl::Status MeasureLaunching(const NativeDriver& driver,
                              const cuda::Kernel& kernel, int nodes, bool quick,
                              NativeFigures* figures) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto graph,
                            NativeGraph::Make(driver, kernel, nodes));
  HOLDFAST_RETURN_IF_ERROR(graph->Upload());
  const auto launch = [&graph] { return graph->Launch(); };
  const auto synchronize = [&driver] { return driver.Synchronize(); };
  HOLDFAST_ASSIGN_OR_RETURN((*figures)[absl::StrCat("call_us/", nodes)],
                            CallTime(quick, launch, synchronize));
  HOLDFAST_ASSIGN_OR_RETURN((*figures)[absl::StrCat("through_us/", nodes)],
                            ThroughTime(nodes, quick, launch, synchronize));
  HOLDFAST_ASSIGN_OR_RETURN((*figures)[absl::StrCat("rate/", nodes)],
                            GraphRate(nodes, quick, launch, synchronize));
  return absl::OkStatus();
}

// The two halves of define_us, each with the end of what it makes.
absl::Status MeasureMaking(const NativeDriver& driver,
                           const cuda::Kernel& kernel, bool quick,
                           NativeFigures* figures) {
  HOLDFAST_ASSIGN_OR_RETURN(
      (*figures)["graph_us/1000"], TimeEach(2, Definitions(quick), [&] {
        return NativeGraph::Define(driver, kernel, 1000).status();
      }));
  HOLDFAST_ASSIGN_OR_RETURN(const auto graph,
                            NativeGraph::Define(driver, kernel, 1000));
  HOLDFAST_ASSIGN_OR_RETURN(
      (*figures)["instantiate_us/1000"],
      TimeEach(2, Definitions(quick), [&]() -> absl::Status {
        HOLDFAST_RETURN_IF_ERROR(graph->Instantiate());
        graph->EndExec();
        return absl::OkStatus();
      }));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NativeFigures> MeasureNativeGraphs(
    bool quick, const cuda::DriverOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto driver, NativeDriver::Open(options));
  HOLDFAST_RETURN_IF_ERROR(Require(driver->api()));
  HOLDFAST_ASSIGN_OR_RETURN(const auto kernel,
                            driver->Load(kEmptyKernels, "four"));
  NativeFigures figures;
  for (const int nodes : kGraphNodes) {
    HOLDFAST_RETURN_IF_ERROR(
        MeasureLaunching(*driver, *kernel, nodes, quick, &figures));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      figures["define_us/1000"],
      TimeEach(2, Definitions(quick), [&]() -> absl::Status {
        return NativeGraph::Make(*driver, *kernel, 1000).status();
      }));
  HOLDFAST_RETURN_IF_ERROR(MeasureMaking(*driver, *kernel, quick, &figures));
  HOLDFAST_ASSIGN_OR_RETURN(const auto graph,
                            NativeGraph::Make(*driver, *kernel, 100));
  HOLDFAST_ASSIGN_OR_RETURN(
      figures["update_us/100"],
      TimeEach(2, Definitions(quick), [&] { return graph->UpdateNodes(); }));
  uint64_t values[4] = {};
  void* arguments[] = {&values[0], &values[1], &values[2], &values[3]};
  HOLDFAST_ASSIGN_OR_RETURN(figures["singles_us/100"],
                            ThroughTime(
                                100, quick,
                                [&]() -> absl::Status {
                                  for (int i = 0; i < 100; ++i) {
                                    HOLDFAST_RETURN_IF_ERROR(driver->Launch(
                                        *kernel, 1, 32, arguments));
                                  }
                                  return absl::OkStatus();
                                },
                                [&driver] { return driver->Synchronize(); }));
  return figures;
}

}  // namespace holdfast::bench
