// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/graph_file.h"

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/graph/definition/definition_walk.h"
#include "client/cpp/graph/handle_uses.h"
#include "core/base/status_macros.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "holdfast/v1/graph_file.pb.h"
#include "proto/protocol_limits.h"

namespace holdfast {
namespace {

// Keeps the first error.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    text_ =
        absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::Status ParseText(absl::string_view text, v1::GraphFile* file) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  // A branch is three messages in each other, and its deepest node a few more.
  parser.SetRecursionLimit(4 * kMaxGraphDepth);
  if (parser.ParseFromString(std::string(text), file)) return absl::OkStatus();
  return absl::InvalidArgumentError(error.text());
}

absl::Status ParseJson(absl::string_view text, v1::GraphFile* file) {
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), file);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(status.message()));
}

using Numbers = absl::flat_hash_set<uint64_t>;

template <typename List>
absl::StatusOr<Numbers> NumbersOf(const List& list, const char* kind) {
  Numbers numbers;
  for (const auto& entry : list) {
    if (entry.id() != 0 && numbers.insert(entry.id()).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        kind, " ", entry.id(),
        entry.id() == 0 ? ": numbers begin with 1" : " is there twice"));
  }
  return numbers;
}

// Adds the memory that nodes allocate to the numbers of buffers.
absl::Status AddAllocations(const v1::GraphDefinition& definition,
                            Numbers* buffers) {
  absl::Status status;
  ForEachDefinition(definition, [&](const v1::GraphDefinition& level) {
    for (const v1::GraphNode& node : level.nodes()) {
      if (!node.has_allocation()) continue;
      const uint64_t buffer = node.allocation().buffer();
      if (buffer != 0 && buffers->insert(buffer).second) continue;
      status.Update(absl::InvalidArgumentError(
          absl::StrCat("node ", node.id(), " allocates buffer ", buffer,
                       ", a number that is 0 or taken")));
    }
  });
  return status;
}

// Dimensions that a file leaves out are 1.
void CompleteDimensions(v1::Dim3& size) {
  if (size.x() == 0) size.set_x(1);
  if (size.y() == 0) size.set_y(1);
  if (size.z() == 0) size.set_z(1);
}

void CompleteLaunches(v1::GraphDefinition& definition) {
  ForEachDefinition(definition, [](v1::GraphDefinition& level) {
    for (v1::GraphNode& node : *level.mutable_nodes()) {
      if (!node.has_launch()) continue;
      v1::Launch& launch = *node.mutable_launch();
      CompleteDimensions(*launch.mutable_grid());
      CompleteDimensions(*launch.mutable_block());
      if (launch.has_cluster()) CompleteDimensions(*launch.mutable_cluster());
    }
  });
}

absl::Status CheckFile(const v1::GraphFile& file) {
  HOLDFAST_RETURN_IF_ERROR(
      GraphDefinition::FromProto(file.definition()).status());
  HOLDFAST_ASSIGN_OR_RETURN(const Numbers kernels,
                            NumbersOf(file.kernels(), "kernel"));
  HOLDFAST_ASSIGN_OR_RETURN(Numbers buffers,
                            NumbersOf(file.buffers(), "buffer"));
  HOLDFAST_ASSIGN_OR_RETURN(const Numbers events,
                            NumbersOf(file.events(), "event"));
  HOLDFAST_RETURN_IF_ERROR(AddAllocations(file.definition(), &buffers));
  absl::Status status;
  v1::GraphDefinition definition = file.definition();
  ForEachDefinition(definition, [&](v1::GraphDefinition& level) {
    for (v1::GraphNode& node : *level.mutable_nodes()) {
      ReplaceHandles(node, [&](HandleUse use, uint64_t number) {
        const bool declared =
            use == HandleUse::kKernel   ? kernels.contains(number)
            : use == HandleUse::kBuffer ? buffers.contains(number)
            : use == HandleUse::kEvent  ? events.contains(number)
                                        : false;
        if (!declared) {
          status.Update(absl::InvalidArgumentError(
              absl::StrCat("node ", node.id(), ": the file has no ",
                           HandleUseName(use), " ", number)));
        }
        return number;
      });
    }
  });
  return status;
}

}  // namespace

absl::StatusOr<GraphFileFormat> FormatOfPath(absl::string_view path) {
  if (absl::EndsWith(path, ".json")) return GraphFileFormat::kJson;
  if (absl::EndsWith(path, ".textproto")) return GraphFileFormat::kTextProto;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": a graph is a .json or a .textproto"));
}

absl::StatusOr<v1::GraphFile> ParseGraphFile(absl::string_view text,
                                             GraphFileFormat format) {
  v1::GraphFile file;
  HOLDFAST_RETURN_IF_ERROR(format == GraphFileFormat::kJson
                               ? ParseJson(text, &file)
                               : ParseText(text, &file));
  HOLDFAST_RETURN_IF_ERROR(CheckFile(file));
  CompleteLaunches(*file.mutable_definition());
  return file;
}

absl::StatusOr<std::string> FormatGraphFile(const v1::GraphFile& file,
                                            GraphFileFormat format) {
  std::string text;
  if (format == GraphFileFormat::kTextProto) {
    google::protobuf::TextFormat::PrintToString(file, &text);
    return text;
  }
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  const auto status =
      google::protobuf::util::MessageToJsonString(file, &text, options);
  if (status.ok()) return text;
  return absl::InvalidArgumentError(std::string(status.message()));
}

GraphNames NamesOf(const v1::GraphFile& file) {
  GraphNames names;
  for (const auto& kernel : file.kernels()) {
    if (!kernel.name().empty()) names.kernels[kernel.id()] = kernel.name();
  }
  for (const auto& buffer : file.buffers()) {
    if (!buffer.name().empty()) names.buffers[buffer.id()] = buffer.name();
  }
  for (const auto& event : file.events()) {
    if (!event.name().empty()) names.events[event.id()] = event.name();
  }
  return names;
}

GraphFileWriter::GraphFileWriter() : file_(std::make_unique<v1::GraphFile>()) {}

GraphFileWriter::~GraphFileWriter() = default;

void GraphFileWriter::Name(const Kernel& kernel, const std::string& source,
                           const std::string& name) {
  v1::FileKernel& entry = *file_->add_kernels();
  entry.set_id(file_->kernels_size());
  entry.set_source(source);
  entry.set_name(name);
  numbers_.kernels[kernel.handle()] = entry.id();
}

void GraphFileWriter::Name(const Buffer& buffer, const std::string& name,
                           bool scratch) {
  v1::FileBuffer& entry = *file_->add_buffers();
  entry.set_id(file_->buffers_size());
  entry.set_name(name);
  entry.set_size(buffer.size());
  entry.set_scratch(scratch);
  numbers_.buffers[buffer.handle()] = entry.id();
}

void GraphFileWriter::Name(const Event& event, const std::string& name) {
  v1::FileEvent& entry = *file_->add_events();
  entry.set_id(file_->events_size());
  entry.set_name(name);
  numbers_.events[event.handle()] = entry.id();
}

absl::StatusOr<v1::GraphFile> GraphFileWriter::Write(
    const GraphDefinition& definition) const {
  GraphBinding numbers = numbers_;
  uint64_t next = file_->buffers_size();
  ForEachDefinition(definition.proto(), [&](const v1::GraphDefinition& level) {
    for (const v1::GraphNode& node : level.nodes()) {
      if (!node.has_allocation()) continue;
      numbers.buffers[node.allocation().buffer()] = ++next;
    }
  });
  HOLDFAST_ASSIGN_OR_RETURN(const GraphDefinition numbered,
                            Rebind(definition, numbers));
  v1::GraphFile file = *file_;
  *file.mutable_definition() = numbered.proto();
  return file;
}

}  // namespace holdfast
