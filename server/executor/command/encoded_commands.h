// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_ENCODED_COMMANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_ENCODED_COMMANDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast::executor {

// The commands of a batch that make or update graphs, as the client has encoded
// them. The journal has these, and to encode thousands of nodes again would
// take a third of the time that it takes to look up what they name. Most
// batches have none, and are not kept.
class EncodedCommands {
 public:
  EncodedCommands() = default;
  EncodedCommands(const EncodedCommands&) = delete;
  EncodedCommands& operator=(const EncodedCommands&) = delete;

  // Copies `batch`, which was decoded to `message`, if it has such a command.
  // REQUIRES: empty.
  void Keep(absl::string_view batch, const v1::CommandBatch& message);
  void Clear();

  // The fields of command `index` of the batch; empty: it is another command,
  // or not kept. Valid until Clear.
  absl::string_view Of(int index) const;
  // Bytes that are kept.
  size_t bytes() const { return batch_.size(); }

 private:
  std::string batch_;
  std::vector<absl::string_view> commands_;  // in batch_
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_ENCODED_COMMANDS_H_
