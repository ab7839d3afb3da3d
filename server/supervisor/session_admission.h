// SPDX-License-Identifier: Apache-2.0
//
// Whether a daemon opens new sessions, and how many sessions are on their way
// in or out. Three facts decide:
//
//   paused    an operator's setting, which may change at any time
//   draining  the daemon ends with its last session; never undone
//   upgrade   kNone ◀──SetParking──▶ kParking ──NoteRestart──▶ kRestarting
//
// While the sessions are parked, a caller waits: the parking may be undone, or
// the next daemon opens the session. A drain goes before an upgrade.
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_ADMISSION_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_ADMISSION_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace holdfast::supervisor {

// SessionRegistry guards it by its lock. Not thread-safe.
class SessionAdmission {
 public:
  void SetPaused(bool paused) { paused_ = paused; }
  bool paused() const { return paused_; }

  void Drain() { draining_ = true; }
  // True while no client gets a session, and no other daemon gives it one.
  bool closed() const { return draining_ || paused_; }

  // The sessions are being parked, or are parked. Has no effect after
  // NoteRestart.
  void SetParking(bool parking);
  // Another daemon replaces this one, whatever happens.
  void NoteRestart() { upgrade_ = Upgrade::kRestarting; }
  bool restarting() const { return upgrade_ == Upgrade::kRestarting; }

  // False while a caller must wait for the end of parking.
  bool decided() const { return draining_ || upgrade_ != Upgrade::kParking; }
  // UNAVAILABLE: no session is opened now; the message says why.
  absl::Status Check() const;

  // A session of this client is being opened or closed: it holds an executor,
  // but is not in the registry. Each Enter is followed by one Leave.
  void Enter(const std::string& client);
  void Leave(const std::string& client);
  size_t in_transit() const { return in_transit_; }
  size_t in_transit_of(const std::string& client) const;

 private:
  enum class Upgrade { kNone, kParking, kRestarting };

  bool paused_ = false;
  bool draining_ = false;
  Upgrade upgrade_ = Upgrade::kNone;
  size_t in_transit_ = 0;
  std::map<std::string, size_t> in_transit_of_;  // by client; none is 0
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_ADMISSION_H_
