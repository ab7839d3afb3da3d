// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_PROCESSOR_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_PROCESSOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "holdfast/v1/commands.pb.h"
#include "server/counters/command_counts.h"
#include "server/executor/command/command.h"
#include "server/executor/command/encoded_commands.h"
#include "server/executor/command/turn_keeper.h"
#include "server/executor/journal/session_journal.h"
#include "server/executor/resources/resources.h"
#include "server/executor/submission/result_queue.h"

namespace holdfast::executor {

// Carries out commands in order, and counts failures for the next fence. Not
// thread-safe: belongs to the submission thread.
class CommandProcessor {
 public:
  // Any thread calls `wake` when a waiting batch may continue. `journal` may be
  // null: then nothing is recorded. REQUIRES: `resources`, `counts` and
  // `journal` outlive this object.
  CommandProcessor(Resources& resources, CommandCounts& counts,
                   ObjectFetcher fetch_object, SessionJournal* journal,
                   std::function<void()> wake)
      : resources_(resources),
        counts_(counts),
        fetch_object_(std::move(fetch_object)),
        journal_(journal),
        wake_(std::move(wake)),
        turns_(resources, wake_) {}

  // Carries out the commands of the batch from the index `*next` on, and
  // advances `*next`. Results go to `results`, at once or later. `encoded` has
  // the encoded commands of the batch, and may be null. Returns true when all
  // commands were carried out. Returns false if the command `*next` must wait
  // for `wake`: until results are taken, inline memory is free, no device uses
  // freed pinned memory, or the session has its turn at a busy device.
  bool Process(const v1::CommandBatch& batch, const EncodedCommands* encoded,
               const std::shared_ptr<ResultQueue>& results, int* next);

 private:
  // Returns true if there is room for the command's result and memory. If not,
  // `wake` is called later.
  bool MayProceed(const v1::Command& command, ResultQueue& results);
  // Sends the error, and counts it for the next fence.
  void NoteFailure(const CommandContext& context, const absl::Status& status);

  // Runs the command's handler, and records the command in the journal.
  // `encoded` is the encoded command, or empty.
  absl::Status Carry(const CommandContext& context, const v1::Command& command,
                     absl::string_view encoded);

  Resources& resources_;
  CommandCounts& counts_;
  const ObjectFetcher fetch_object_;
  SessionJournal* const journal_;
  const std::function<void()> wake_;
  TurnKeeper turns_;
  v1::FenceResult failures_;  // since the last fence
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_PROCESSOR_H_
