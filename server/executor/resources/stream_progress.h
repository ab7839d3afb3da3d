// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_PROGRESS_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_PROGRESS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/base/raise_to.h"

namespace holdfast::executor {

// A point in a stream: the end of the stream's commands up to `sequence`.
struct StreamPoint {
  // The last command of the stream that is known to be done; null: a point in
  // no stream.
  std::shared_ptr<std::atomic<uint64_t>> done;
  uint64_t sequence = 0;

  // Notes that the stream has come to this point. Thread-safe.
  void Reach() const { RaiseTo(sequence, *done); }
};

// Follows the first command of a stream that may be unfinished. The session's
// commands before the first of all streams are completed, which the journal
// notes (Resources::NoteCompletion). Not thread-safe, except for
// StreamPoint::Reach.
class StreamProgress {
 public:
  static constexpr uint64_t kNone = UINT64_MAX;

  // Called before the stream gets work of the command `sequence`; may be left
  // out if it was called since the last NoteIdle.
  void NoteGiven(uint64_t sequence) {
    if (first_ == kNone) first_ = sequence;
  }
  // Called when all work of the stream is done.
  void NoteIdle() { first_ = kNone; }

  // Returns the end of the stream's present work. `sequence` is the session's
  // present command.
  StreamPoint At(uint64_t sequence) const { return {done_, sequence}; }

  // Returns StreamPoint::done of the stream's points.
  const std::atomic<uint64_t>* done() const { return done_.get(); }

  // Returns a command before which all commands of the stream are done; kNone
  // if the stream has no unfinished command.
  uint64_t first_unfinished() const {
    return first_ == kNone ? kNone : std::max(first_, *done_ + 1);
  }

 private:
  uint64_t first_ = kNone;
  std::shared_ptr<std::atomic<uint64_t>> done_ =
      std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_PROGRESS_H_
