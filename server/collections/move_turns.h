// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COLLECTIONS_MOVE_TURNS_H_
#define HOLDFAST_SERVER_COLLECTIONS_MOVE_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace holdfast::collections {

// A queue of moves of collection versions off their devices and back. One move
// runs at a time. A move is for a reader (a session that opens a suspended
// version) or for a call of Suspend or Resume. Readers are served before calls,
// because they cannot continue without the move. Readers, and calls, are served
// in order of arrival. Thread-safe.
class MoveTurns {
 public:
  // The most waiting calls of one client.
  static constexpr size_t kMaxWaitingCalls = 2;

  // A place in the queue; after Await, the right to move. The destructor gives
  // either up, so that the next move can begin. REQUIRES: the queue outlives
  // the place.
  class Place {
   public:
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    friend class MoveTurns;
    // (true for a call and false for a reader, number of the place)
    using Key = std::pair<bool, uint64_t>;
    Place(MoveTurns& turns, Key key) : turns_(turns), key_(key) {}

    MoveTurns& turns_;
    const Key key_;
    bool has_turn_ = false;
  };

  // Blocks until all places have ended.
  ~MoveTurns();

  // Add a place behind the other readers or calls. RESOURCE_EXHAUSTED:
  // kMaxWaitingCalls calls of this client wait already.
  std::unique_ptr<Place> AddReader();
  absl::StatusOr<std::unique_ptr<Place>> AddCall(const std::string& client);

  // Blocks until the place is the first and no move runs. Calls `given_up`
  // several times a second meanwhile. CANCELLED: `given_up` returned true.
  // REQUIRES: called once for each place.
  absl::Status Await(Place& place, const std::function<bool()>& given_up);

 private:
  void End(const Place& place);
  std::unique_ptr<Place> Add(bool is_call, std::string client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  bool moving_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  // Waiting places in the order of service, with the client of a call.
  std::map<Place::Key, std::string> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_MOVE_TURNS_H_
