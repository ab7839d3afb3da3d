// SPDX-License-Identifier: Apache-2.0
//
// The rule when a pool may start executors. This class reads no clock and
// starts nothing: its caller reports events with their times, and reads the
// state.
//
//   event               state afterwards
//   NoteFailed          paused for a time that doubles with each failure
//   the time is over,   open
//   or EndPause
//   NoteReady           as before; the next pause is the first one again
//   NoteTaken           settling for a short time, in which only executors for
//                       waiting calls are started; no executor counts as lost
//   NoteLost            as before; after three in a row, TooManyLost
#ifndef HOLDFAST_SERVER_SUPERVISOR_START_BACKOFF_H_
#define HOLDFAST_SERVER_SUPERVISOR_START_BACKOFF_H_

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace holdfast::supervisor {

// Times are those of SteadyNow. Not thread-safe.
class StartBackoff {
 public:
  // The first and the longest pause after failed starts.
  StartBackoff(absl::Duration first, absl::Duration longest)
      : first_(first), longest_(longest), next_(first) {}

  // Notes that a start has failed for this reason. Returns the length of the
  // pause that begins.
  absl::Duration NoteFailed(const absl::Status& reason, absl::Time now);
  // Notes that an executor has become ready.
  void NoteReady() { next_ = first_; }
  // Notes that a ready executor was taken. `others_wait`: other executors are
  // ready, so the next start can wait longer.
  void NoteTaken(bool others_wait, absl::Time now);
  // Notes that a ready executor has ended before it was taken.
  void NoteLost() { ++lost_; }

  // End the pause; EndPauseAt only if its time is over at `now`.
  void EndPause() { failure_ = absl::OkStatus(); }
  void EndPauseAt(absl::Time now);

  // The state of the pause: nothing is started while paused() is true.
  // failure() is its reason, and OK if there is no pause; retry() is the time
  // of its end.
  bool paused() const { return !failure_.ok(); }
  const absl::Status& failure() const { return failure_; }
  absl::Time retry() const { return retry_; }

  // Returns the time before which only executors for waiting calls are started.
  absl::Time settled() const { return settled_; }

  // Returns true if at least kMaxLost ready executors have ended since an
  // executor was taken last. The pool then treats this as a failed start.
  bool TooManyLost() const { return lost_ >= kMaxLost; }

 private:
  static constexpr int kMaxLost = 3;

  const absl::Duration first_;
  const absl::Duration longest_;
  absl::Duration next_;   // the pause after the next failure
  absl::Status failure_;  // OK: no pause
  absl::Time retry_ = absl::InfinitePast();
  absl::Time settled_ = absl::InfinitePast();
  int lost_ = 0;  // since the last NoteTaken
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_START_BACKOFF_H_
