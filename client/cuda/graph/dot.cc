// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/dot.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/cuda/graph/graph_memory.h"

namespace holdfast::libcuda {
namespace {

std::string Text(const Dim3& dim) {
  return absl::StrCat(dim.x, "x", dim.y, "x", dim.z);
}

std::string Text(const void* pointer) {
  return absl::StrFormat("%#x", reinterpret_cast<uintptr_t>(pointer));
}

std::string Text(CUdeviceptr address) {
  return absl::StrFormat("%#x", address);
}

// The lines of a node's label.
struct Label {
  unsigned flags;

  bool Shows(unsigned flag) const {
    return (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | flag)) != 0;
  }

  std::string operator()(const KernelWork& kernel) const {
    std::string text = absl::StrCat("KERNEL\n", kernel.function->name());
    if (Shows(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS)) {
      absl::StrAppend(&text, "\ngrid ", Text(kernel.config.grid), "\nblock ",
                      Text(kernel.config.block), "\nshared ",
                      kernel.config.dynamic_shared_bytes);
    }
    return text;
  }
  std::string operator()(const CopyWork& work) const {
    if (!Shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)) return "MEMCPY";
    const CopyDescription& copy = work.copy;
    return absl::StrCat("MEMCPY\n", Text(copy.source.address), " to ",
                        Text(copy.destination.address), "\n", copy.box.width,
                        "x", copy.box.height, "x", copy.box.depth, " bytes");
  }
  std::string operator()(const FillWork& work) const {
    if (!Shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)) return "MEMSET";
    const CUDA_MEMSET_NODE_PARAMS& p = work.parameters;
    return absl::StrCat("MEMSET\n", p.value, " at ", Text(p.dst), "\n", p.width,
                        "x", p.height, " of ", p.elementSize, " bytes");
  }
  std::string operator()(const ValueWork& work) const {
    return absl::StrCat("BATCH_MEM_OP\n", work.operations.size(),
                        " operations");
  }
  std::string operator()(const HostWork& work) const {
    if (!Shows(CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS)) return "HOST";
    return absl::StrCat("HOST\n",
                        Text(reinterpret_cast<const void*>(work.function)), "(",
                        Text(work.data), ")");
  }
  std::string operator()(const ChildWork&) const { return "CHILD GRAPH"; }
  std::string operator()(const EmptyWork&) const { return "EMPTY"; }
  std::string operator()(const EventWaitWork& work) const {
    if (!Shows(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS)) return "EVENT WAIT";
    return absl::StrCat("EVENT WAIT\n", Text(work.handle));
  }
  std::string operator()(const EventRecordWork& work) const {
    if (!Shows(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS)) {
      return "EVENT RECORD";
    }
    return absl::StrCat("EVENT RECORD\n", Text(work.handle));
  }
  std::string operator()(const AllocationWork& work) const {
    if (!Shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS)) {
      return "MEM ALLOC";
    }
    return absl::StrCat("MEM ALLOC\n", work.allocation->size(), " bytes at ",
                        Text(CUdeviceptr{work.allocation->address()}));
  }
  std::string operator()(const FreeWork& work) const {
    if (!Shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS))
      return "MEM FREE";
    return absl::StrCat("MEM FREE\n",
                        Text(CUdeviceptr{work.allocation->address()}));
  }
  std::string operator()(const ConditionalWork& work) const {
    constexpr const char* kNames[] = {"IF", "WHILE", "SWITCH"};
    return absl::StrCat("CONDITIONAL\n", kNames[work.type]);
  }
};

// A string of DOT; the name of a kernel may have any bytes.
std::string Quoted(const std::string& text) {
  return absl::StrCat(
      "\"",
      absl::StrReplaceAll(text,
                          {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
      "\"");
}

std::string NameOf(const Node& node) {
  return absl::StrFormat("node_%x", reinterpret_cast<uintptr_t>(node.handle));
}

void Draw(const Graph& graph, unsigned flags, std::string* text) {
  for (const std::shared_ptr<Node>& node : graph.nodes()) {
    std::string label = std::visit(Label{flags}, node->work);
    if ((flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE |
                  CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) != 0) {
      absl::StrAppend(&label, "\n", Text(node->handle));
    }
    absl::StrAppend(text, NameOf(*node), " [label=", Quoted(label), "];\n");
    for (const Edge& edge : node->dependents) {
      absl::StrAppend(text, NameOf(*node), " -> ", NameOf(*edge.node), ";\n");
    }
    for (size_t i = 0; i < node->graphs().size(); ++i) {
      const Graph& inner = *node->graphs()[i];
      absl::StrAppend(text, "subgraph cluster_", NameOf(*node), "_", i, " {\n");
      Draw(inner, flags, text);
      absl::StrAppend(text, "}\n");
      if (inner.nodes().empty()) continue;
      absl::StrAppend(text, NameOf(*node), " -> ",
                      NameOf(*inner.nodes().front()), " [style=dashed];\n");
    }
  }
}

}  // namespace

std::string DrawGraph(const Graph& graph, unsigned flags) {
  std::string text = "digraph graph_ {\nnode [shape=box];\n";
  Draw(graph, flags, &text);
  absl::StrAppend(&text, "}\n");
  return text;
}

}  // namespace holdfast::libcuda
