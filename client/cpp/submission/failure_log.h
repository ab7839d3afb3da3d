// SPDX-License-Identifier: Apache-2.0
//
// Failures of commands that nobody waits for. They are kept until the next call
// that waits for the device reports them; those that made a resource, for as
// long as the resource lives, so that it can tell its cause.
//
// A handle whose creation failed repeats the creation's failure to every
// command that uses it. So a call that was answered with that failure has told
// it: the next call that waits has nothing to report of it.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_FAILURE_LOG_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_FAILURE_LOG_H_

#include <cstdint>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace holdfast {

// Not thread-safe. Bounded: one failure, and one for each live resource.
class FailureLog {
 public:
  // Command `sequence` makes a resource.
  void Watch(uint64_t sequence) { watched_.emplace(sequence, Watched()); }
  // A caller waits for command `sequence` and asks Of for its failure, which
  // Take does not tell.
  void WatchAlone(uint64_t sequence) {
    watched_.emplace(sequence, Watched{absl::OkStatus(), /*alone=*/true});
  }
  // That resource is no more, or that caller knows.
  void Unwatch(uint64_t sequence);

  void Add(uint64_t sequence, const absl::Status& status);

  // A call failed with `status`. Take does not tell it of the creations that
  // failed with the same.
  void NoteTold(const absl::Status& status);

  // The watched commands after `sequence` were dropped: their resources do not
  // exist. Take does not tell that.
  void DropAfter(uint64_t sequence, const absl::Status& status);

  // The failure of the lowest sequence number since the last Take, "command 17
  // failed: ...", with the number of those that followed. OK: there was none.
  absl::Status Take();

  // The status of a watched command; OK if no failure is known yet.
  absl::Status Of(uint64_t sequence) const;

 private:
  struct Watched {
    absl::Status outcome;
    bool alone = false;
  };

  void AddForTake(uint64_t sequence, const absl::Status& status);

  absl::flat_hash_map<uint64_t, Watched> watched_;
  // Of watched_: failed, and Take has yet to tell it.
  absl::btree_set<uint64_t> untold_;
  // Of the others.
  uint64_t first_sequence_ = 0;
  absl::Status first_;
  uint64_t count_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_FAILURE_LOG_H_
