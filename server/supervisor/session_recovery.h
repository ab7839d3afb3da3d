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

// Gives a session whose executor has died another one. Knows what executors of
// the session are started with.
//
// Belongs to one Session. An attempt gives the holdings to an executor, which
// makes the resources again from the journal. If that executor fails, the next
// gets the holdings; damage to the journal (DATA_LOSS) ends the attempts at
// once.
//
// The bytes of a suspended session are on no device, so that one with a single
// device may come back on another of the same kind: on the one that Place
// names, or by itself where its own is in quarantine, has no memory left for
// it, or has failed an attempt. Not thread-safe, but for what is const.
class SessionRecovery {
 public:
  // Executors that are tried for one recovery.
  static constexpr int kAttempts = 3;
  // How long an executor may take to make the session again, and how long one
  // is waited for.
  static constexpr absl::Duration kRestoreLimit = absl::Minutes(2);

  struct Options {
    // As the first executor got it, but for its descriptors.
    SessionStart start;
    // The sockets that executors of the session listen on.
    UniqueFd calls;
    UniqueFd descriptors;
    // A ready executor for a session of this tenant on these devices.
    std::function<absl::StatusOr<std::unique_ptr<Executor>>(
        const Tenant&, const std::vector<uint32_t>&, absl::Time)>
        take;
    // As FindPlaces, for a session of this tenant. Null: sessions stay where
    // they are.
    std::function<absl::StatusOr<std::vector<uint32_t>>(
        const Tenant&, const PlaceRequest&, absl::Time)>
        find_places;
    // Counts, beside the tenant's, the sessions that were brought back; may be
    // null.
    ExecutionTotals* totals = nullptr;
  };
  explicit SessionRecovery(Options options) : options_(std::move(options)) {}

  // Shows an executor before it is used, so that it can be stopped from
  // outside; false: there is no use in one any more. It is called once for each
  // attempt.
  using Show = std::function<bool(std::shared_ptr<Executor>)>;
  // Ends the executor that was lost, whose memory another one may lack. Called
  // at once if no executor waits, else before the second attempt; perhaps
  // twice.
  using LetGo = std::function<void()>;

  // The devices that it is on, or will be once it runs: see DevicesOf.
  std::vector<uint32_t> devices() const {
    return DevicesOf(options_.start.assign);
  }
  // True if executors of the session are clients of an MPS server.
  bool shares_server() const {
    return options_.start.tenant->concurrency().shared();
  }
  // Fails as FindPlaces with `device` wanted, or as CheckMovable. Blocks until
  // devices are known.
  absl::Status CheckPlace(uint32_t device, absl::Time deadline) const;
  // The next Run begins with this device. RESOURCE_EXHAUSTED: it has no room
  // for the session, which stays where it was. REQUIRES: the holdings are those
  // of a suspended session with one device, and CheckPlace has passed.
  absl::Status Place(uint32_t device, SessionHoldings& holdings);

  // Makes the session again in another executor, the last one that was shown;
  // `epoch` begins with it. Returns what was lost. Blocks. Fails when several
  // executors in a row have failed, or there are none; the session's memory is
  // given up then. DATA_LOSS: the journal is damaged, or a suspended session
  // did not come back as a whole. CANCELLED: `show` returned false.
  absl::StatusOr<internal::Serving> Run(
      std::unique_ptr<SessionHoldings> holdings, uint64_t epoch,
      uint64_t received_through, const Show& show, const LetGo& let_go);

  // The session is lost: nobody connects to it any more. REQUIRES: no method is
  // called from now on.
  void CloseSockets();

  // The session is there again after the death of its executor. Counts it in
  // the totals of the daemon and of the tenant.
  void NoteRecovered() const;

 private:
  using Places = std::vector<uint32_t>;

  // The devices to try, the best first; none: it stays where it is.
  Places PlacesFor(const SessionHoldings& holdings) const;
  // Goes to the first of the places that has room, and takes it and those
  // before it out. Without any it stays where it is.
  void GoToNext(SessionHoldings& holdings, Places* places);
  // One that waits, or one that is made when the lost one is gone. `attempt`
  // counts from 1; only the first prefers an executor that is ready. A refusal
  // is final after `patience`.
  absl::StatusOr<std::shared_ptr<Executor>> Take(int attempt,
                                                 absl::Duration patience,
                                                 const LetGo& let_go);
  absl::StatusOr<internal::Serving> Try(Executor& executor, uint64_t epoch,
                                        uint64_t received_through);

  Options options_;  // does not change but for the device in `start`
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_RECOVERY_H_
