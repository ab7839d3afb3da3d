// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/encoded_commands.h"

#include <algorithm>
#include <cstdint>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"

namespace holdfast::executor {
namespace {

// Memory that an empty one keeps for the next batch.
constexpr size_t kKeptCapacity = size_t{256} << 10;

// Does it make or update a graph?
bool IsWanted(const v1::Command& command) {
  return command.has_create_graph() || command.has_update_graph_exec();
}

// Finds the commands in a batch that protobuf has decoded.
std::vector<absl::string_view> Split(absl::string_view batch) {
  using google::protobuf::internal::WireFormatLite;
  constexpr uint32_t kCommand =
      WireFormatLite::MakeTag(v1::CommandBatch::kCommandsFieldNumber,
                              WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  std::vector<absl::string_view> commands;
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t*>(batch.data()),
      static_cast<int>(batch.size()));
  while (const uint32_t tag = input.ReadTag()) {
    if (tag != kCommand) {
      if (!WireFormatLite::SkipField(&input, tag)) return {};
      continue;
    }
    uint32_t size = 0;
    if (!input.ReadVarint32(&size)) return {};
    const auto begin = static_cast<size_t>(input.CurrentPosition());
    if (!input.Skip(static_cast<int>(size))) return {};
    commands.push_back(batch.substr(begin, size));
  }
  return commands;
}

}  // namespace

void EncodedCommands::Keep(absl::string_view batch,
                           const v1::CommandBatch& message) {
  if (std::none_of(message.commands().begin(), message.commands().end(),
                   IsWanted)) {
    return;
  }
  batch_.assign(batch.data(), batch.size());
  commands_ = Split(batch_);
  if (commands_.size() != static_cast<size_t>(message.commands_size())) {
    return Clear();  // Each would have been one of the message's.
  }
  for (size_t i = 0; i < commands_.size(); ++i) {
    if (!IsWanted(message.commands(static_cast<int>(i)))) commands_[i] = {};
  }
}

void EncodedCommands::Clear() {
  commands_.clear();
  batch_.clear();
  if (batch_.capacity() > kKeptCapacity) batch_.shrink_to_fit();
}

absl::string_view EncodedCommands::Of(int index) const {
  const auto position = static_cast<size_t>(index);
  return position < commands_.size() ? commands_[position]
                                     : absl::string_view();
}

}  // namespace holdfast::executor
