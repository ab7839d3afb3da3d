// SPDX-License-Identifier: Apache-2.0
//
// Failures of commands without a waiting caller. The next call that waits for
// the device reports them. The failure of a command that made a resource is
// also kept as long as the resource lives, so that the resource can report its
// cause.
//
// A handle whose creation failed repeats that failure to every command that
// uses it. A call that got the failure in this way has reported it, so the next
// call that waits does not report it again.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_FAILURE_LOG_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_FAILURE_LOG_H_

#include <cstdint>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace holdfast {

// Stores at most one failure, and one for each live resource. Not thread-safe.
class FailureLog {
 public:
  // Keeps a later failure of command `sequence`, which makes a resource.
  void Watch(uint64_t sequence) { watched_.emplace(sequence, Watched()); }
  // Keeps a later failure of command `sequence` for a caller that waits and
  // calls Of; Take does not return it.
  void WatchAlone(uint64_t sequence) {
    watched_.emplace(sequence, Watched{absl::OkStatus(), /*alone=*/true});
  }
  // Drops the failure: the resource was destroyed, or the caller has it.
  void Unwatch(uint64_t sequence);

  // Notes that command `sequence` has failed.
  void Add(uint64_t sequence, const absl::Status& status);

  // Notes that a call reported `status`: Take leaves out creations that failed
  // with an equal status.
  void NoteTold(const absl::Status& status);

  // Marks the watched commands after `sequence` as failed with `status`: they
  // were dropped, so their resources do not exist. Take does not return these
  // failures.
  void DropAfter(uint64_t sequence, const absl::Status& status);

  // Returns the failure with the lowest sequence number since the last Take,
  // "command 17 failed: ...", with the number of further failures; OK if there
  // was none.
  absl::Status Take();

  // Returns the failure of a watched command; OK if none is known yet.
  absl::Status Of(uint64_t sequence) const;

 private:
  struct Watched {
    absl::Status outcome;
    bool alone = false;
  };

  void AddForTake(uint64_t sequence, const absl::Status& status);

  absl::flat_hash_map<uint64_t, Watched> watched_;
  // Failed commands of watched_ that Take has not returned yet.
  absl::btree_set<uint64_t> untold_;
  // The failures of all other commands.
  uint64_t first_sequence_ = 0;
  absl::Status first_;
  uint64_t count_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_FAILURE_LOG_H_
