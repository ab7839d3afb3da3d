// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_FAIR_SHARE_H_
#define HOLDFAST_SERVER_RPC_FAIR_SHARE_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Divides a capacity among clients that do not trust each other. A client may
// take an amount if its new total is at most the capacity that was free before.
// One client alone therefore gets half of the capacity; the second gets half of
// the rest until the shares are even, and so on. A new client always finds
// room, even if another client has many connections. Thread-safe.
//
// The daemon has a FairShare for each resource that clients could use up:
// threads of calls, open streams, bytes of unfinished uploads. Connections
// follow the same rule (connection_monitor.h).
class FairShare {
 public:
  // `what` names a unit in errors: "bytes of unfinished uploads".
  FairShare(absl::string_view what, uint64_t capacity)
      : what_(what), capacity_(capacity) {}

  // Takes the whole amount or nothing for `client`. On success, the caller must
  // call Return later. RESOURCE_EXHAUSTED: the amount is over the client's
  // share; the message names the held and the free amount.
  absl::Status Take(const std::string& client, uint64_t amount);
  // Returns an amount of `client`. REQUIRES: the client holds at least this
  // amount.
  void Return(const std::string& client, uint64_t amount);

  uint64_t capacity() const { return capacity_; }
  // Return the amount that all clients hold, and that one client holds.
  uint64_t used() const;
  uint64_t HeldBy(const std::string& client) const;

 private:
  const std::string what_;
  const uint64_t capacity_;
  mutable absl::Mutex mutex_;
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  // Clients that hold nothing have no entry.
  absl::flat_hash_map<std::string, uint64_t> held_ ABSL_GUARDED_BY(mutex_);
};

// The part of a FairShare that one call holds, which may grow during the call.
// The destructor returns the part. Not thread-safe.
class ShareHold {
 public:
  // Holds nothing. `share` must outlive the object. `client` is as for
  // FairShare::Take.
  ShareHold(FairShare& share, std::string client);
  ~ShareHold();
  ShareHold(const ShareHold&) = delete;
  ShareHold& operator=(const ShareHold&) = delete;

  // Takes a further amount. RESOURCE_EXHAUSTED: as FairShare::Take.
  absl::Status Take(uint64_t amount);

 private:
  FairShare& share_;
  const std::string client_;
  uint64_t amount_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_FAIR_SHARE_H_
