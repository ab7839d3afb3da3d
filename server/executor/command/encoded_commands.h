// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_ENCODED_COMMANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_ENCODED_COMMANDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast::executor {

// The encoded bytes, as received, of a batch's commands that make or update
// graphs. The journal records these bytes: encoding thousands of nodes again
// takes a third of the time of looking up their operands. Batches without such
// commands, which are most, are not kept.
class EncodedCommands {
 public:
  EncodedCommands() = default;
  EncodedCommands(const EncodedCommands&) = delete;
  EncodedCommands& operator=(const EncodedCommands&) = delete;

  // Copies `batch` if it has such a command. `message` is the decoded batch.
  // REQUIRES: this object is empty.
  void Keep(absl::string_view batch, const v1::CommandBatch& message);
  void Clear();

  // Returns the encoded fields of command `index`; empty if they are not kept.
  // Valid until Clear.
  absl::string_view Of(int index) const;
  // The number of kept bytes.
  size_t bytes() const { return batch_.size(); }

 private:
  std::string batch_;
  std::vector<absl::string_view> commands_;  // in batch_
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_ENCODED_COMMANDS_H_
