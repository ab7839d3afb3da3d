// SPDX-License-Identifier: Apache-2.0
//
// The commands that a session's client has submitted and whose outcome it does
// not know, and what becomes of them when their Execute stream has ended.
//
// Each command is in a batch, which is being filled, was written to a stream,
// or is unsent because it found the stream ended. Some commands leave more: a
// slot for the result, a resource that reports the failure of its creation, or
// the bytes of a destruction.
//
// If the session was suspended, everything that arrived was carried out, and
// nothing is dropped: ResumeSuspended keeps the batches that did not arrive,
// and they are sent again in order, as they are, with their numbers. Callers
// only notice a delay.
//
// After a fault everything that was submitted and not carried out is dropped,
// since it may build on what the fault has destroyed. Callers that wait for a
// result fail with the fault; if none of them takes it, the next call that
// submits or waits does. So somebody is told, once (QueueState), and nothing
// that is submitted until then runs. Only destructions are sent again, with new
// numbers: a resource that its owner has let go would stay otherwise.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_SUBMITTED_COMMANDS_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_SUBMITTED_COMMANDS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/submission/command_batch.h"
#include "client/cpp/submission/failure_log.h"
#include "client/cpp/submission/filling_batch.h"
#include "client/cpp/submission/queue_state.h"
#include "client/cpp/submission/result_slot.h"
#include "client/cpp/submission/wire_writer.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// Not thread-safe, never waits, and writes to no stream: CommandQueue does.
class SubmittedCommands {
 public:
  // Writes the fields of one v1::Command.
  using Encode = absl::FunctionRef<void(WireWriter&)>;
  // Writes a batch to a stream.
  using Send = absl::FunctionRef<void(std::unique_ptr<CommandBatch>)>;

  // A command that was added to the batch that is being filled.
  struct Added {
    uint64_t sequence = 0;  // its number
    bool begins = false;    // the batch
    bool full = false;      // the batch should be sent
  };

  // The batch to send next, and how.
  struct Outgoing {
    uint64_t last_sequence = 0;           // of all commands
    std::unique_ptr<CommandBatch> batch;  // null: there is none
    bool suspended = false;               // keep it, as KeepUnsent
    bool unsent = false;                  // send those of TakeUnsent before it
  };

  // Commands up to `received_through` were an earlier client's.
  SubmittedCommands(std::shared_ptr<CommandBatchPool> pool,
                    FillingBatch::Limits limits, uint64_t received_through)
      : received_through_(received_through),
        filling_(std::move(pool), limits, received_through) {}

  QueueState& state() { return state_; }
  const QueueState& state() const { return state_; }

  // Add a command. They fail as QueueState::CheckSubmission and
  // FillingBatch::Append do.
  absl::StatusOr<Added> Add(Encode encode);
  // FailureOf returns its failure until Forget.
  absl::StatusOr<Added> AddCreation(Encode encode);
  // As AddCreation, and TakeFailure does not return the failure.
  absl::StatusOr<Added> AddAlone(Encode encode);
  // The slot gets the command's number now, and its result when it is there.
  absl::StatusOr<Added> AddAwaited(Encode encode,
                                   std::shared_ptr<ResultSlot> slot);
  // Adds a command that destroys a resource, in every state but a lost session,
  // with which all resources end. It is sent again if a fault drops it.
  Added AddEnd(Encode encode);

  // Takes the batch that is being filled, to be sent now.
  Outgoing TakeOutgoing();
  // Keeps a batch that found the stream ended, or the session suspended.
  void KeepUnsent(absl::string_view batch);
  // Returns the unsent batches, in order. The caller writes them, and gives
  // back those that found the stream ended.
  std::vector<std::string> TakeUnsent();
  void GiveBackUnsent(std::vector<std::string> batches);
  // The last command that was taken for a stream.
  uint64_t written_through() const { return written_through_; }
  // Returns the number for LateFlusher::Options::waiting.
  uint64_t Unflushed() const;
  // Returns true if a suspended session has to come back.
  bool NeedsSession() const;

  // Notes that the result of a command has arrived; `error` is the result's.
  // Returns the slot of the callers that wait for it, or null.
  std::shared_ptr<ResultSlot> NoteResult(const v1::Result& result,
                                         const absl::Status& error);

  // As in CommandQueue.
  absl::Status TakeFailure();
  absl::Status FailureOf(uint64_t sequence);
  void Forget(uint64_t sequence) { failures_.Unwatch(sequence); }
  // Returns the failure of a command of AddAlone, and forgets it.
  absl::Status TakeAlone(uint64_t sequence);
  void NoteTold(const absl::Status& status);

  // The functions below return slots that will get no result. The caller sets
  // them to the error, without a lock.

  // Notes the session's loss. Returns no slots if it is lost already.
  ResultSlots Lose(const absl::Status& reason);
  // Notes that the fault needs the user's consent.
  ResultSlots Ask(const absl::Status& fault);
  // Continues after a suspension, before which the commands up to
  // `carried_out_through` were carried out. `unsent`: batches of later commands
  // that were written and did not arrive, in order.
  ResultSlots ResumeSuspended(uint64_t carried_out_through,
                              std::vector<std::string> unsent);
  // Continues after a fault; the commands up to `begun` were begun before it.
  // Calls `send` where the destructions fill more than a batch.
  ResultSlots Resume(const absl::Status& fault, uint64_t begun, Send send);

 private:
  // A destruction that may not have been carried out.
  struct End {
    uint64_t sequence = 0;
    std::string bytes;  // in a batch
  };

  // Appends one command as `write` encodes it for a batch, whatever the state.
  template <typename Write>
  absl::StatusOr<Added> Append(const Write& write);
  // As Append, for a destruction.
  template <typename Write>
  Added AppendEnd(const Write& write);
  // Asks for a result, which tells that the destructions before it ran.
  // Returns true if the batch should be sent.
  bool AppendFence();
  // Appends the destructions that the executor may not have carried out.
  void RepeatEnds(uint64_t begun, Send send);
  // Keeps the failure of an earlier client's commands, which a fence reports
  // once.
  void NoteEarlierFailure(const v1::FenceResult& fence);
  ResultSlots TakeSlots();

  const uint64_t received_through_;
  QueueState state_;
  FillingBatch filling_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<ResultSlot>> awaited_;
  FailureLog failures_;
  std::deque<End> ends_;
  std::vector<std::string> unsent_;
  uint64_t written_through_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_SUBMITTED_COMMANDS_H_
