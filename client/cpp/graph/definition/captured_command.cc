// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/definition/captured_command.h"

#include <cstdint>
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "client/cpp/submission/wire_writer.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "holdfast/v1/commands.pb.h"
#include "proto/command_facts.h"

namespace holdfast {
namespace {

using google::protobuf::internal::WireFormatLite;
using Nodes = std::vector<NodeParams>;

// One field of an encoded message.
struct WireField {
  int number = 0;
  absl::string_view whole;  // with its tag
  absl::string_view value;  // of a message or bytes; else empty
};

// Takes the first field off `bytes`; nullopt: there is none, or no whole one.
std::optional<WireField> TakeField(absl::string_view& bytes) {
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t*>(bytes.data()),
      static_cast<int>(bytes.size()));
  const auto position = [&input] {
    return static_cast<size_t>(input.CurrentPosition());
  };
  const uint32_t tag = input.ReadTag();
  WireField field = {WireFormatLite::GetTagFieldNumber(tag), {}, {}};
  if (WireFormatLite::GetTagWireType(tag) ==
      WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
    uint32_t size = 0;
    if (!input.ReadVarint32(&size)) return std::nullopt;
    const size_t begin = position();
    if (!input.Skip(static_cast<int>(size))) return std::nullopt;
    field.value = bytes.substr(begin, size);
  } else if (tag == 0 || !WireFormatLite::SkipField(&input, tag)) {
    return std::nullopt;
  }
  field.whole = bytes.substr(0, position());
  bytes.remove_prefix(position());
  return field;
}

// Returns true if the field is one of the operation as a node. A node names no
// stream.
template <typename Operation>
bool IsInNode(const WireField& field) {
  return field.number != Operation::kStreamFieldNumber;
}

// On a stream a launch may be allowed to begin before the one ahead has ended
// (programmatic_stream_serialization). In a graph that is for an edge to allow;
// ours wait for the whole of the node ahead, which the launch has to bear with
// on a stream, too.
template <>
bool IsInNode<v1::Launch>(const WireField& field) {
  if (field.number == v1::Launch::kStreamFieldNumber) return false;
  if (field.number != v1::Launch::kAttributesFieldNumber) return true;
  absl::string_view value = field.value;
  const std::optional<WireField> attribute = TakeField(value);
  return !attribute.has_value() ||
         attribute->number !=
             v1::LaunchAttribute::kProgrammaticStreamSerializationFieldNumber;
}

// A copy between an arena and a buffer, in either direction.
NodeParams CopyOf(uint64_t destination, uint64_t destination_offset,
                  uint64_t source, uint64_t source_offset, uint64_t size) {
  using Fields = v1::fields::CopyBuffer;
  WireWriter writer(64);
  writer.Message(v1::fields::GraphNode::kCopy, [&] {
    writer.Write(Fields::kDestination, destination);
    writer.Write(Fields::kDestinationOffset, destination_offset);
    writer.Write(Fields::kSource, source);
    writer.Write(Fields::kSourceOffset, source_offset);
    writer.Write(Fields::kSize, size);
  });
  return NodeParams::FromFields({writer.data(), writer.size()});
}

// The nodes of commands that have no operation of a node.
Nodes NodesOf(const v1::CopyIn& copy) {
  return {CopyOf(copy.buffer(), copy.offset(), copy.arena(),
                 copy.arena_offset(), copy.size())};
}

Nodes NodesOf(const v1::CopyOut& copy) {
  return {CopyOf(copy.arena(), copy.arena_offset(), copy.buffer(),
                 copy.offset(), copy.size())};
}

Nodes NodesOf(const v1::CopyBatch& batch) {
  Nodes nodes;
  for (const v1::BatchedCopy& copy : batch.copies()) {
    nodes.push_back(CopyOf(copy.destination(), copy.destination_offset(),
                           copy.source(), copy.source_offset(), copy.size()));
  }
  return nodes;
}

absl::Status Refuse(absl::string_view name) {
  return absl::FailedPreconditionError(
      absl::StrCat("a graph has no node for ", name));
}

template <typename Message, int kNode>
absl::StatusOr<Nodes> ToNodesOf(absl::string_view name,
                                absl::string_view message) {
  if constexpr (std::is_same_v<Message, v1::LaunchGraph>) {
    return absl::FailedPreconditionError(
        "the launch of a graph cannot be captured: add its definition to the "
        "capture (StreamCapture::Add, ChildNode; in Python "
        "GraphBuilder.embed)");
  } else if constexpr (kNode == CommandNode::kNone) {
    return Refuse(name);
  } else if constexpr (requires(const Message& parsed) { NodesOf(parsed); }) {
    Message parsed;
    if (parsed.ParseFromArray(message.data(),
                              static_cast<int>(message.size()))) {
      return NodesOf(parsed);
    }
    return absl::InternalError(absl::StrCat(name, ": cannot be read back"));
  } else {
    // The operation's bytes are those of the command.
    WireWriter writer(message.size() + 16);
    writer.Message(wire::MessageField{kNode}, [&] {
      while (const std::optional<WireField> field = TakeField(message)) {
        if (IsInNode<Message>(*field)) writer.Append(field->whole);
      }
    });
    return Nodes{NodeParams::FromFields({writer.data(), writer.size()})};
  }
}

}  // namespace

absl::StatusOr<Nodes> ToNodes(absl::string_view command) {
  const WireField operation = TakeField(command).value_or(WireField());
  switch (operation.number) {
#define HOLDFAST_COMMAND(field, Message, outcome, length, work, room, effect, \
                         resource, node)                                      \
  case v1::Command::k##Message:                                               \
    return ToNodesOf<v1::Message, CommandNode::node>(#field, operation.value);
#include "proto/commands.inc"
    default:
      return Refuse("an empty command");
  }
}

}  // namespace holdfast
