// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_RECOVERY_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_RECOVERY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "server/counters/execution_totals.h"
#include "server/holdings/assigned_devices.h"
#include "server/holdings/session_holdings.h"
#include "server/supervisor/executor.h"
#include "server/supervisor/session_place.h"

namespace holdfast::supervisor {

// Gives a session another executor after its executor has died or the session
// was suspended. Stores the settings with which the session's executors start.
//
// Each Session has one SessionRecovery. An attempt gives the holdings to an
// executor, which makes the resources again from the journal. If that executor
// fails, the next executor gets the holdings. Damage to the journal (DATA_LOSS)
// ends the attempts, unless another device is left to try.
//
// The bytes of a suspended session are on no device, so a session with one
// device can be restored on another device of the same kind: on the device of
// Place; or on the best other device, if its own device is in quarantine, is
// full or has failed an attempt. Not thread-safe, except for const methods.
class SessionRecovery {
 public:
  // The most attempts of one recovery.
  static constexpr int kAttempts = 3;
  // The time limit for restoring the session in an executor, and for waiting
  // for an executor.
  static constexpr absl::Duration kRestoreLimit = absl::Minutes(2);

  struct Options {
    // The assignment of the first executor, without its descriptors.
    SessionStart start;
    // The sockets that executors of the session listen on.
    UniqueFd calls;
    UniqueFd descriptors;
    // Returns a ready executor for a session of this tenant on these devices.
    std::function<absl::StatusOr<std::unique_ptr<Executor>>(
        const Tenant&, const std::vector<uint32_t>&, absl::Time)>
        take;
    // Calls FindPlaces for a session of this tenant. Null if sessions never
    // move.
    std::function<absl::StatusOr<std::vector<uint32_t>>(
        const Tenant&, const PlaceRequest&, absl::Time)>
        find_places;
    // Counts recovered sessions, besides the tenant's counters; may be null.
    ExecutionTotals* totals = nullptr;
  };
  explicit SessionRecovery(Options options) : options_(std::move(options)) {}

  // The type of a function that gets each executor before it is used, so that
  // the caller can stop the executor. It returns false if the session needs no
  // executor any more.
  using Show = std::function<bool(std::shared_ptr<Executor>)>;
  // The type of a function that ends the old executor, so that the next
  // executor can use its memory. It is called in the first attempt if no
  // executor is warm, and in every later attempt.
  using EndOld = std::function<void()>;

  // Returns the devices of the session's present or next executor; see
  // DevicesOf.
  std::vector<uint32_t> devices() const {
    return DevicesOf(options_.start.assign);
  }
  // Returns true if executors of the session are clients of an MPS server.
  bool shares_server() const {
    return options_.start.tenant->concurrency().shared();
  }
  // Checks that Place may be called with this device. Returns the errors of
  // FindPlaces and CheckMovable. Blocks until the devices are known, at most
  // until `deadline`.
  absl::Status CheckPlace(uint32_t device, absl::Time deadline) const;
  // Makes the next Run begin with this device. RESOURCE_EXHAUSTED: the device
  // has no room for the session, which keeps its old device. REQUIRES: the
  // holdings belong to a suspended session with one device, and CheckPlace has
  // succeeded.
  absl::Status Place(uint32_t device, SessionHoldings& holdings);

  // Restores the session in another executor: the one that was last passed to
  // `show`. `epoch` begins with this executor. Blocks until the session is
  // restored, and returns the executor's answer, which lists the lost
  // resources. If all attempts fail, returns the last error, and the session's
  // memory is released. DATA_LOSS: the journal is damaged, or a suspended
  // session has lost a resource. CANCELLED: `show` returned false.
  absl::StatusOr<internal::Serving> Run(
      std::unique_ptr<SessionHoldings> holdings, uint64_t epoch,
      uint64_t received_through, const Show& show, const EndOld& end_old);

  // Closes the sockets of a lost session. REQUIRES: no method is called from
  // now on.
  void CloseSockets();

  // Counts a session that was recovered after the death of its executor, in the
  // totals of the daemon and of the tenant.
  void NoteRecovered() const;

 private:
  using Places = std::vector<uint32_t>;

  // Returns the devices to try, best first; empty if the session cannot move.
  Places PlacesFor(const SessionHoldings& holdings) const;
  // Puts the session on the first place with room, and removes the places up to
  // it from the list. If no place has room, the session keeps its device.
  void GoToNext(SessionHoldings& holdings, Places* places);
  // Takes a warm executor in the first attempt, if there is one; otherwise
  // calls `end_old` and waits for an executor. `attempt` counts from 1. While
  // no executor can be started (UNAVAILABLE), tries again for the time
  // `patience`.
  absl::StatusOr<std::shared_ptr<Executor>> Take(int attempt,
                                                 absl::Duration patience,
                                                 const EndOld& end_old);
  absl::StatusOr<internal::Serving> Try(Executor& executor, uint64_t epoch,
                                        uint64_t received_through);

  Options options_;  // constant, except for the device in `start`
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_RECOVERY_H_
