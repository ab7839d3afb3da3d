// SPDX-License-Identifier: Apache-2.0
//
// The commands that a session's client has submitted and whose outcome it does
// not know yet. When their Execute stream has ended, this class decides which
// commands are sent again and which are dropped.
//
// Each command is in a batch. The batch is being filled, was written to a
// stream, or is unsent, because the stream had ended. This class also keeps the
// slots of awaited results, the failures of creations, and the bytes of
// destructions.
//
// If the session was suspended, all commands that arrived were carried out, and
// no command is dropped. ResumeSuspended keeps the batches that did not arrive;
// they are sent again unchanged, in order, with their numbers. Callers only
// notice a delay.
//
// After a fault all commands that were submitted and not carried out are
// dropped, since they may use data that the fault has destroyed. Callers that
// wait for a result fail with the fault; if no such caller reports the fault,
// the next call that submits or waits fails with it. Thus the fault is reported
// once (QueueState), and no command that is submitted before the report runs.
// Only destructions are sent again, with new numbers: otherwise a resource
// would stay although its owner has destroyed it.
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

// Not thread-safe. Never waits, and writes to no stream: CommandQueue locks,
// waits and writes.
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
    bool suspended = false;               // pass the batch to KeepUnsent
    bool unsent = false;  // send the batches of TakeUnsent first
  };

  // Earlier clients have submitted the commands up to `received_through`.
  SubmittedCommands(std::shared_ptr<CommandBatchPool> pool,
                    FillingBatch::Limits limits, uint64_t received_through)
      : received_through_(received_through),
        filling_(std::move(pool), limits, received_through) {}

  QueueState& state() { return state_; }
  const QueueState& state() const { return state_; }

  // Add a command to the batch that is being filled. Fail as
  // QueueState::CheckSubmission and FillingBatch::Append do.
  absl::StatusOr<Added> Add(Encode encode);
  // Adds a command that makes a resource. FailureOf returns its failure until
  // Forget.
  absl::StatusOr<Added> AddCreation(Encode encode);
  // Adds a command whose failure TakeAlone returns. TakeFailure does not return
  // it.
  absl::StatusOr<Added> AddAlone(Encode encode);
  // Adds a command with a result. The slot gets the command's number now, and
  // the result when it has arrived.
  absl::StatusOr<Added> AddAwaited(Encode encode,
                                   std::shared_ptr<ResultSlot> slot);
  // Adds a command that destroys a resource, in every state but a lost session,
  // with which all resources end. The command is sent again if a fault drops
  // it.
  Added AddEnd(Encode encode);

  // Takes the batch that is being filled, to be sent now.
  Outgoing TakeOutgoing();
  // Keeps a batch that could not be written, because the stream has ended or
  // the session is suspended.
  void KeepUnsent(absl::string_view batch);
  // Takes out the unsent batches, in order. The caller writes them, and gives
  // back (GiveBackUnsent) the batches that it could not write because the
  // stream has ended.
  std::vector<std::string> TakeUnsent();
  void GiveBackUnsent(std::vector<std::string> batches);
  // The last command that was taken for a stream.
  uint64_t written_through() const { return written_through_; }
  // Returns the number for LateFlusher::Options::waiting.
  uint64_t Unflushed() const;
  // Returns true if a suspended session must be resumed.
  bool NeedsSession() const;

  // Notes that the result of a command has arrived; `error` is the result's.
  // Returns the slot of the callers that wait for it, or null.
  std::shared_ptr<ResultSlot> NoteResult(const v1::Result& result,
                                         const absl::Status& error);

  // Return failures, as the methods of CommandQueue do. Forget drops the
  // failure of a creation.
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

  // Appends one command as `write` encodes it for a batch, in every state.
  template <typename Write>
  absl::StatusOr<Added> Append(const Write& write);
  // Appends a destruction, whose bytes are kept until it was carried out.
  template <typename Write>
  Added AppendEnd(const Write& write);
  // Appends a fence, whose result shows that the destructions before it have
  // run. Returns true if the batch should be sent.
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
