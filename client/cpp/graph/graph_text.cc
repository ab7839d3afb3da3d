// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/graph_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cpp/graph/definition/node_kind.h"
#include "client/cpp/graph/handle_uses.h"

namespace holdfast {
namespace {

using Names = absl::flat_hash_map<uint64_t, std::string>;

// The text of one node, without its id.
class NodeText {
 public:
  explicit NodeText(const GraphNames& names) : names_(names) {}

  std::string Of(const v1::GraphNode& node) const {
    switch (node.operation_case()) {
      case v1::GraphNode::kLaunch:
        return OfLaunch(node.launch());
      case v1::GraphNode::kCopy:
        return absl::StrCat(
            "copy ", node.copy().size(), " bytes from ",
            Place(node.copy().source(), node.copy().source_offset()), " to ",
            Place(node.copy().destination(), node.copy().destination_offset()));
      case v1::GraphNode::kCopyRect:
        return absl::StrCat("copy ", Size(node.copy_rect()), " from ",
                            Place(node.copy_rect().source()), " to ",
                            Place(node.copy_rect().destination()));
      case v1::GraphNode::kFill:
        return absl::StrCat("fill ", node.fill().size(), " bytes of ",
                            Place(node.fill().buffer(), node.fill().offset()),
                            " with ", Pattern(node.fill()));
      case v1::GraphNode::kFillRect:
        return absl::StrCat("fill ", node.fill_rect().width(), " bytes x ",
                            node.fill_rect().height(), " of ",
                            Place(node.fill_rect().destination()), " with ",
                            Pattern(node.fill_rect()));
      case v1::GraphNode::kRecord:
        return absl::StrCat("record ", Event(node.record().event()));
      case v1::GraphNode::kWait:
        return absl::StrCat("wait for ", Event(node.wait().event()));
      case v1::GraphNode::kAllocation:
        return absl::StrCat("allocate ", Buffer(node.allocation().buffer()),
                            ", ", node.allocation().size(), " bytes");
      case v1::GraphNode::kFree:
        return absl::StrCat("free ", Buffer(node.free().buffer()));
      case v1::GraphNode::kConditional:
        return OfConditional(node.conditional());
      case v1::GraphNode::kSignalSemaphore:
        return absl::StrCat("signal semaphore ",
                            HandleNumber(node.signal_semaphore().semaphore()),
                            " with ", node.signal_semaphore().value());
      case v1::GraphNode::kWaitSemaphore:
        return absl::StrCat("wait for semaphore ",
                            HandleNumber(node.wait_semaphore().semaphore()),
                            " to be ", node.wait_semaphore().value());
      case v1::GraphNode::kValueBatch:
        return OfValues(node.value_batch());
      default:
        return std::string(NodeKindName(node));
    }
  }

 private:
  static std::string Name(const Names& names, HandleUse use, uint64_t handle) {
    const auto found = names.find(handle);
    if (found != names.end()) return found->second;
    return absl::StrCat(HandleUseName(use), " ", HandleNumber(handle));
  }
  std::string Buffer(uint64_t handle) const {
    return Name(names_.buffers, HandleUse::kBuffer, handle);
  }
  std::string Event(uint64_t handle) const {
    return Name(names_.events, HandleUse::kEvent, handle);
  }

  std::string Place(uint64_t buffer, uint64_t offset) const {
    if (buffer == 0) return "null";
    if (offset == 0) return Buffer(buffer);
    return absl::StrCat(Buffer(buffer), " + ", offset);
  }
  std::string Place(const v1::PitchedRange& range) const {
    std::string text = Place(range.buffer(), range.offset());
    if (range.row_pitch() != 0) {
      absl::StrAppend(&text, " (pitch ", range.row_pitch(), ")");
    }
    return text;
  }

  static std::string Size(const v1::CopyRect& copy) {
    std::string text = absl::StrCat(copy.width(), " bytes x ", copy.height());
    if (copy.depth() > 1) absl::StrAppend(&text, " x ", copy.depth());
    return text;
  }
  // "16", "16 x 2"
  static std::string Size(const v1::Dim3& size) {
    std::string text = absl::StrCat(size.x());
    if (size.y() > 1 || size.z() > 1) absl::StrAppend(&text, " x ", size.y());
    if (size.z() > 1) absl::StrAppend(&text, " x ", size.z());
    return text;
  }

  template <typename Fill>
  static std::string Pattern(const Fill& fill) {
    if (fill.has_half_word())
      return absl::StrFormat("0x%04x", fill.half_word());
    if (fill.has_word()) return absl::StrFormat("0x%08x", fill.word());
    return absl::StrFormat("0x%02x", fill.byte());
  }

  std::string OfLaunch(const v1::Launch& launch) const {
    const std::string kernel =
        Name(names_.kernels, HandleUse::kKernel, launch.kernel());
    return absl::StrCat(
        "launch ", kernel, ", grid ", Size(launch.grid()), ", block ",
        Size(launch.block()), ", with (",
        absl::StrJoin(launch.arguments(), ", ",
                      [this](std::string* out, const v1::Argument& argument) {
                        absl::StrAppend(out, OfArgument(argument));
                      }),
        ")");
  }

  std::string OfArgument(const v1::Argument& argument) const {
    switch (argument.value_case()) {
      case v1::Argument::kBuffer:
        return Place(argument.buffer().buffer(), argument.buffer().offset());
      case v1::Argument::kBoolean:
        return argument.boolean() ? "true" : "false";
      case v1::Argument::kI8:
        return absl::StrCat(argument.i8());
      case v1::Argument::kI16:
        return absl::StrCat(argument.i16());
      case v1::Argument::kI32:
        return absl::StrCat(argument.i32());
      case v1::Argument::kI64:
        return absl::StrCat(argument.i64());
      case v1::Argument::kU8:
        return absl::StrCat(argument.u8());
      case v1::Argument::kU16:
        return absl::StrCat(argument.u16());
      case v1::Argument::kU32:
        return absl::StrCat(argument.u32());
      case v1::Argument::kU64:
        return absl::StrCat(argument.u64());
      case v1::Argument::kF16Bits:
        return absl::StrFormat("f16 0x%04x", argument.f16_bits());
      case v1::Argument::kF32:
        return absl::StrCat(argument.f32());
      case v1::Argument::kF64:
        return absl::StrCat(argument.f64());
      case v1::Argument::kRaw:
        return absl::StrCat(argument.raw().size(), " raw bytes");
      case v1::Argument::kGraphCondition:
        return absl::StrCat("condition ", argument.graph_condition());
      default:
        return "?";
    }
  }

  // "write 1 to buffer 3, wait for 5 at buffer 3 + 8"
  std::string OfValues(const v1::ValueBatch& batch) const {
    return absl::StrJoin(
        batch.operations(), ", ",
        [this](std::string* out, const v1::ValueOperation& operation) {
          const bool writes =
              operation.kind() == v1::ValueOperation::KIND_WRITE;
          absl::StrAppend(out, writes ? "write " : "wait for ",
                          operation.value(), writes ? " to " : " at ",
                          Place(operation.buffer(), operation.offset()));
        });
  }

  static std::string OfConditional(const v1::ConditionalNode& node) {
    const char* const kind = node.kind() == v1::ConditionalNode::KIND_IF ? "if"
                             : node.kind() == v1::ConditionalNode::KIND_WHILE
                                 ? "while"
                                 : "switch";
    return absl::StrCat(kind, " condition ", node.condition());
  }

  const GraphNames& names_;
};

// "then", "body", "2"
std::string BranchName(const v1::ConditionalNode& node, int branch) {
  if (node.kind() == v1::ConditionalNode::KIND_WHILE) return "body";
  if (node.kind() == v1::ConditionalNode::KIND_IF) {
    return branch == 0 ? "then" : "else";
  }
  return absl::StrCat("case ", branch);
}

void AppendLines(const v1::GraphDefinition& definition, const NodeText& text,
                 int indent, std::string* out) {
  const std::string margin(indent, ' ');
  for (const v1::GraphCondition& condition : definition.conditions()) {
    absl::StrAppend(out, margin, "condition ", condition.id());
    if (condition.has_default_value()) {
      absl::StrAppend(out, " = ", condition.default_value());
    }
    absl::StrAppend(out, "\n");
  }
  for (const v1::GraphNode& node : definition.nodes()) {
    absl::StrAppend(out, margin, node.id(), ": ", text.Of(node));
    if (node.after_size() > 0) {
      absl::StrAppend(out, " after ", absl::StrJoin(node.after(), ", "));
    }
    if (node.device() != 0) absl::StrAppend(out, " on device ", node.device());
    absl::StrAppend(out, "\n");
    if (node.has_child()) AppendLines(node.child(), text, indent + 4, out);
    for (int i = 0; i < node.conditional().branches_size(); ++i) {
      absl::StrAppend(out, margin, "  ", BranchName(node.conditional(), i),
                      "\n");
      AppendLines(node.conditional().branches(i), text, indent + 4, out);
    }
  }
}

// Within a quoted string of DOT.
std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "\"";
}

// Writes one level; node 3 of it is `prefix` + "3".
void AppendDot(const v1::GraphDefinition& definition, const NodeText& text,
               const std::string& prefix, int indent, std::string* out) {
  const std::string margin(indent, ' ');
  const auto inside = [&](const v1::GraphDefinition& inner,
                          const std::string& node, const std::string& name,
                          const std::string& label) {
    absl::StrAppend(out, margin, "subgraph cluster_", name, " {\n", margin,
                    "  label=", Quoted(label), ";\n");
    AppendDot(inner, text, name + "_", indent + 2, out);
    absl::StrAppend(out, margin, "}\n");
    for (const v1::GraphNode& root : inner.nodes()) {
      if (root.after_size() > 0) continue;
      absl::StrAppend(out, margin, node, " -> ", name, "_", root.id(),
                      " [style=dashed];\n");
    }
  };
  for (const v1::GraphNode& node : definition.nodes()) {
    const std::string name = absl::StrCat(prefix, node.id());
    const char* const shape = node.has_conditional() ? ", shape=diamond" : "";
    absl::StrAppend(out, margin, name, " [label=",
                    Quoted(absl::StrCat(node.id(), ": ", text.Of(node))), shape,
                    "];\n");
    for (const uint32_t before : node.after()) {
      absl::StrAppend(out, margin, prefix, before, " -> ", name, ";\n");
    }
    if (node.has_child()) inside(node.child(), name, name + "_child", "child");
    for (int i = 0; i < node.conditional().branches_size(); ++i) {
      inside(node.conditional().branches(i), name, absl::StrCat(name, "_b", i),
             BranchName(node.conditional(), i));
    }
  }
}

}  // namespace

std::string ToString(const GraphDefinition& definition,
                     const GraphNames& names) {
  std::string text;
  AppendLines(definition.proto(), NodeText(names), 0, &text);
  return text;
}

std::string ToDot(const GraphDefinition& definition, const GraphNames& names,
                  absl::string_view title) {
  std::string dot =
      absl::StrCat("digraph ", Quoted(title), " {\n  node [shape=box];\n");
  AppendDot(definition.proto(), NodeText(names), "n", 2, &dot);
  return dot + "}\n";
}

}  // namespace holdfast
