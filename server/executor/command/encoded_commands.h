// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_ENCODED_COMMANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_ENCODED_COMMANDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast::executor {

// The encoded bytes, as received, of those commands of a batch that make or
// update graphs. The journal records these bytes, because encoding thousands of
// nodes again takes a third of the time of looking up their operands. A batch
// without such commands, which is the usual case, is not kept.
class EncodedCommands {
 public:
  EncodedCommands() = default;
  EncodedCommands(const EncodedCommands&) = delete;
  EncodedCommands& operator=(const EncodedCommands&) = delete;

  // Copies the encoded `batch` if it has such a command. `message` is the
  // decoded batch. REQUIRES: this object is empty.
  void Keep(absl::string_view batch, const v1::CommandBatch& message);
  // Makes this object empty.
  void Clear();

  // Returns the encoded v1::Command with this index in the batch; empty if it
  // is not kept. Valid until Clear.
  absl::string_view Of(int index) const;
  // The number of kept bytes.
  size_t bytes() const { return batch_.size(); }

 private:
  std::string batch_;
  std::vector<absl::string_view> commands_;  // in batch_
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_ENCODED_COMMANDS_H_
