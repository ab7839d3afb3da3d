// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/dot.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/software/driver/graph/allocation.h"
#include "core/software/runtime/graph_condition.h"

namespace holdfast::software {
namespace {

std::string Address(uintptr_t address) {
  return absl::StrCat("0x", absl::Hex(address));
}

std::string Address(const void* pointer) {
  return Address(reinterpret_cast<uintptr_t>(pointer));
}

// A line of a label, within quotes of the language.
std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}});
}

const char* NameOf(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST:
      return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "GRAPH";
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return "EMPTY";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "EVENT_WAIT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "MEM_FREE";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return "BATCH_MEM_OP";
    default:
      return "CONDITIONAL";
  }
}

// Writes the details of one node that the flags ask for, as lines.
struct Details {
  unsigned flags;

  bool Wanted(unsigned flag) const {
    return (flags & (flag | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE)) != 0;
  }

  std::string operator()(const KernelWork& node) const {
    const LaunchGeometry& g = node.launch.geometry;
    std::string text =
        absl::StrCat("\n", Escaped(node.launch.kernel->properties().name));
    if (Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS)) {
      absl::StrAppend(&text, "\ngrid {", g.grid[0], ",", g.grid[1], ",",
                      g.grid[2], "} block {", g.block[0], ",", g.block[1], ",",
                      g.block[2], "} shared ", g.dynamic_shared_bytes);
    }
    if (Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES)) {
      absl::StrAppend(&text, "\ncooperative ", g.cooperative ? 1 : 0);
    }
    if (Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) {
      absl::StrAppend(&text, "\nfunc ", Address(node.function));
    }
    return text;
  }
  std::string operator()(const CopyWork& node) const {
    if (!Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)) return "";
    const Copy& c = node.copy;
    return absl::StrCat("\n", Address(c.source.address), " to ",
                        Address(c.destination.address), "\n", c.width, " x ",
                        c.height, " x ", c.depth);
  }
  std::string operator()(const FillWork& node) const {
    if (!Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)) return "";
    const Fill& f = node.fill;
    return absl::StrCat("\n", Address(f.address), " = ", f.value, "\n", f.width,
                        " x ", f.height, " of ", f.element, " bytes, pitch ",
                        f.pitch);
  }
  std::string operator()(const HostWork& node) const {
    if (!Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS)) return "";
    return absl::StrCat("\nfn ",
                        Address(reinterpret_cast<uintptr_t>(node.function)),
                        " data ", Address(node.data));
  }
  std::string operator()(const EventWaitWork& node) const {
    return EventText(node.handle);
  }
  std::string operator()(const EventRecordWork& node) const {
    return EventText(node.handle);
  }
  std::string operator()(const ValueWork& node) const {
    if (!Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS)) return "";
    std::string text;
    for (const MemoryOperation& o : node.operations) {
      const bool wait = o.kind == MemoryOperation::Kind::kWait;
      absl::StrAppend(&text, "\n", wait ? "wait " : "write ",
                      Address(o.address), " ", o.value);
    }
    return text;
  }
  std::string operator()(const AllocationWork& node) const {
    if (!Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS)) return "";
    return absl::StrCat("\n", Address(node.parameters.dptr), "\n",
                        node.parameters.bytesize, " bytes");
  }
  std::string operator()(const FreeWork& node) const {
    if (!Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS)) return "";
    return absl::StrCat("\n", Address(node.allocation->address()));
  }
  std::string operator()(const ConditionalWork& node) const {
    if (!Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS)) return "";
    constexpr const char* kTypes[] = {"IF", "WHILE", "SWITCH"};
    return absl::StrCat("\n", kTypes[node.type], " handle ",
                        Address(node.condition->handle()), " size ",
                        node.graphs.size());
  }
  std::string operator()(const ChildWork&) const { return ""; }
  std::string operator()(const EmptyWork&) const { return ""; }

  std::string EventText(CUevent event) const {
    if (!Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS)) return "";
    return absl::StrCat("\nevent ", Address(event));
  }
};

// Writes graphs, numbered as they come, into one text.
class Writer {
 public:
  explicit Writer(unsigned flags) : details_{flags} {}

  std::string Write(const Graph& graph) {
    text_ = "digraph dot {\n";
    WriteGraph(graph);
    return text_ + "}\n";
  }

 private:
  // Returns the graph's name.
  std::string WriteGraph(const Graph& graph) {
    const std::string name = absl::StrCat("graph_", ++graphs_);
    absl::StrAppend(&text_, "subgraph cluster_", graphs_, " {\nlabel=\"", name,
                    "\" graph[style=\"dashed\"];\n");
    std::map<const GraphNode*, std::string> names;
    for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
      names[node.get()] = absl::StrCat(name, "_node_", names.size());
      WriteNode(*node, names[node.get()], names.size() - 1);
    }
    for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
      for (const GraphEdge& edge : node->dependents) {
        WriteEdge(names[node.get()], names[edge.node], edge.data);
      }
    }
    absl::StrAppend(&text_, "}\n");
    return name;
  }

  void WriteNode(const GraphNode& node, const std::string& name,
                 size_t number) {
    absl::StrAppend(&text_, "\"", name,
                    "\"[style=\"bold\" shape=\"octagon\" label=\"", number,
                    "\n", NameOf(node.type()), std::visit(details_, node.work));
    if (details_.Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) {
      absl::StrAppend(&text_, "\nnode ", Address(node.handle));
    }
    absl::StrAppend(&text_, "\n\"];\n");
    for (const std::shared_ptr<Graph>& inner : node.graphs()) {
      const bool empty = inner->nodes().empty();
      const std::string graph = WriteGraph(*inner);
      if (empty) continue;
      absl::StrAppend(&text_, "\"", name, "\" -> \"", graph,
                      "_node_0\" [style=\"dashed\"];\n");
    }
  }

  void WriteEdge(const std::string& from, const std::string& to,
                 const CUgraphEdgeData& data) {
    absl::StrAppend(&text_, "\"", from, "\" -> \"", to, "\"");
    if (details_.Wanted(CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO) ||
        data.type != 0 || data.from_port != 0) {
      absl::StrAppend(&text_, " [headlabel=\"port ", data.from_port, " type ",
                      data.type, "\"]");
    }
    absl::StrAppend(&text_, ";\n");
  }

  const Details details_;
  std::string text_;
  int graphs_ = 0;
};

}  // namespace

std::string DrawGraph(const Graph& graph, unsigned flags) {
  return Writer(flags).Write(graph);
}

}  // namespace holdfast::software
