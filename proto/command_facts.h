// SPDX-License-Identifier: Apache-2.0
//
// The properties of one command: a row of proto/commands.inc as a value.
#ifndef HOLDFAST_PROTO_COMMAND_FACTS_H_
#define HOLDFAST_PROTO_COMMAND_FACTS_H_

#include <cstdint>

#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// How long a command may take.
enum class CommandLength { kShort, kLong };

// The work that a command submits to its stream.
enum class CommandWork { kNone, kMemory, kKernels };

// The effect of a command on the session's resources. When another executor
// restores the session, it repeats the commands with kMakes and kChanges,
// except commands on a resource that has been ended.
enum class CommandEffect {
  kNone,
  kMakes,
  kChanges,
  kEnds,
  kGivesBack,  // like kEnds; the resource's memory may go back to the
               // supervisor
};

// The memory that must be free before the executor carries out a command.
struct CommandRoom {
  enum class Memory { kNone, kInline, kPinned };

  static const CommandRoom kNone;
  // Memory of the executor for the bytes of commands and results.
  static constexpr CommandRoom Inline(uint64_t bytes) {
    return {Memory::kInline, bytes};
  }
  // Page-locked memory. A device may still use such memory after it was freed.
  static constexpr CommandRoom Pinned(uint64_t bytes) {
    return {bytes > 0 ? Memory::kPinned : Memory::kNone, bytes};
  }

  Memory memory = Memory::kNone;
  uint64_t bytes = 0;
};
inline constexpr CommandRoom CommandRoom::kNone = {};

// The operation of the graph node that stream capture makes from a command.
struct CommandNode {
  using enum v1::GraphNode::OperationCase;
  static constexpr auto kNone = OPERATION_NOT_SET;
};

struct CommandFacts {
  CommandLength length = CommandLength::kLong;
  CommandWork work = CommandWork::kNone;
  CommandRoom room;
  CommandEffect effect = CommandEffect::kNone;
  uint64_t resource = 0;  // the handle that `effect` is on, or 0
  uint64_t stream = 0;    // the handle of the command's stream, or 0

  // Returns the handle that the command ends, or 0.
  uint64_t ended() const {
    const bool ends =
        effect == CommandEffect::kEnds || effect == CommandEffect::kGivesBack;
    return ends ? resource : 0;
  }
};

// Returns the stream that a command's message names; 0 if the message has no
// such field.
template <CommandWork kWork, typename Message>
uint64_t StreamIn(const Message& message) {
  if constexpr (requires { message.stream(); }) {
    return message.stream();
  } else {
    static_assert(kWork == CommandWork::kNone, "work needs a stream");
    return 0;
  }
}

// Returns the properties in the command's row. A command without a row has no
// effect and may take long.
inline CommandFacts FactsOf(const v1::Command& command) {
  switch (command.operation_case()) {
#define HOLDFAST_COMMAND(field, Message, outcome, length, work, room, effect, \
                         resource, node)                                      \
  case v1::Command::k##Message: {                                             \
    [[maybe_unused]] const v1::Message& m = command.field();                  \
    return {CommandLength::length,                                            \
            CommandWork::work,                                                \
            CommandRoom::room,                                                \
            CommandEffect::effect,                                            \
            resource,                                                         \
            StreamIn<CommandWork::work>(m)};                                  \
  }
#include "proto/commands.inc"
    default:
      return {};
  }
}

// Returns the work of the command whose field in v1::Command has this number.
constexpr CommandWork WorkOf(uint32_t field) {
  switch (field) {
#define HOLDFAST_COMMAND(field, Message, outcome, length, work, ...) \
  case v1::Command::k##Message:                                      \
    return CommandWork::work;
#include "proto/commands.inc"
    default:
      return CommandWork::kNone;
  }
}

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_COMMAND_FACTS_H_
