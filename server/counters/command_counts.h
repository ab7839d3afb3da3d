// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COUNTERS_COMMAND_COUNTS_H_
#define HOLDFAST_SERVER_COUNTERS_COMMAND_COUNTS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// Counts a session's commands by kind and outcome. Lies in memory that the
// supervisor reads (counter_page.h). One thread counts, any may read; counting
// takes a load and a store, no locked instruction.
class CommandCounts {
 public:
  // Kinds have their field numbers in Command. 0: commands of other kinds.
  static constexpr size_t kKinds = 1 + std::max<size_t>({
#define HOLDFAST_COMMAND(field, Message, ...) v1::Command::k##Message,
#include "proto/commands.inc"
                                       });

  struct Count {
    // Without an error at the time when the device was given the command.
    std::atomic<uint64_t> done{0};
    std::atomic<uint64_t> failed{0};
  };

  void Add(v1::Command::OperationCase kind, bool done) {
    const auto index = static_cast<size_t>(kind);
    Count& count = counts_[index < kKinds ? index : 0];
    std::atomic<uint64_t>& counter = done ? count.done : count.failed;
    counter.store(counter.load(std::memory_order_relaxed) + 1,
                  std::memory_order_relaxed);
  }

  const Count& Of(size_t kind) const { return counts_[kind]; }

 private:
  std::array<Count, kKinds> counts_;
};

// The name of a kind in metrics: "launch". Null: no command has this number.
constexpr const char* CommandName(size_t kind) {
  switch (kind) {
#define HOLDFAST_COMMAND(field, Message, ...) \
  case v1::Command::k##Message:               \
    return #field;
#include "proto/commands.inc"
    case 0:
      return "unknown";
    default:
      return nullptr;
  }
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COUNTERS_COMMAND_COUNTS_H_
