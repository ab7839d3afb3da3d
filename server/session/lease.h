// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SESSION_LEASE_H_
#define HOLDFAST_SERVER_SESSION_LEASE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace holdfast::session {

// A client's right to its session. The lease decides when a session without a
// client ends, and when another client may take it over ("take it up").
//
// A client is connected while one of its KeepAlive streams is open. The session
// waits kFirstKeepAlive for the first stream. After the last stream has ended,
// the session waits for the grace that the client has asked for. Not
// thread-safe. All times are of one steady clock.
class Lease {
 public:
  // The time that a client has for opening a KeepAlive stream after it opens,
  // attaches to or takes up a session.
  static constexpr absl::Duration kFirstKeepAlive = absl::Seconds(30);
  // The time for which a lost session without a stream is kept, so that its
  // client can read the error.
  static constexpr absl::Duration kLostKept = absl::Minutes(1);

  // The lease of a session that has just been opened.
  Lease(absl::Duration grace, absl::Time now)
      : grace_(grace), deadline_(now + kFirstKeepAlive) {}
  // Returns the lease of a session that an earlier daemon has left. If the
  // session had a client in that daemon, only this client can return to it
  // during the first kFirstKeepAlive.
  static Lease Left(absl::Duration grace, absl::Time now, bool had_client);

  // Note that a KeepAlive stream has begun or ended. Disconnect returns true if
  // the stream was the last one.
  void Connect();
  bool Disconnect(absl::Time now);
  // Notes that the client has returned. It has kFirstKeepAlive to open a
  // stream.
  void Attach(absl::Time now);
  // Notes that the session is lost. If no stream is open, the session ends
  // after kLostKept; otherwise it is kept for at least kLostKept after the last
  // stream, so that its client can read the error.
  void NoteLost(absl::Time now);

  // Returns OK if another client may take the session up. FAILED_PRECONDITION:
  // a client has the session, may yet return to it, or has claimed it.
  absl::Status CheckClaim(absl::Time now) const;
  // Notes that another client takes the session up, which has kFirstKeepAlive
  // to open a stream. Unclaim reverses Claim. REQUIRES: CheckClaim has returned
  // OK.
  void Claim(absl::Time now);
  void Unclaim() { claimed_until_ = absl::InfinitePast(); }

  bool connected() const { return streams_ > 0; }
  // Returns true if the session had a client and has no client now.
  bool detached() const { return detached_; }
  // Returns the time when the session ends; infinite while a client is
  // connected.
  absl::Time deadline() const { return deadline_; }

 private:
  absl::Duration grace_;
  size_t streams_ = 0;
  bool detached_ = false;
  absl::Time deadline_;
  absl::Time returning_until_ = absl::InfinitePast();
  absl::Time claimed_until_ = absl::InfinitePast();
};

}  // namespace holdfast::session

#endif  // HOLDFAST_SERVER_SESSION_LEASE_H_
