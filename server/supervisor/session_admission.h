// SPDX-License-Identifier: Apache-2.0
//
// Decides whether the daemon opens new sessions, and counts the sessions that
// are being opened or closed ("in transit"). Three facts decide:
//
//   paused    an operator's setting, which may change at any time
//   draining  the daemon ends with its last session; never undone
//   upgrade   kNone ◀──SetParking──▶ kParking ──NoteRestart──▶ kRestarting
//
// While the sessions are being parked, or are parked, a call that opens a
// session waits: the parking may be undone, or the next daemon opens the
// session. A drain has precedence over an upgrade.
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_ADMISSION_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_ADMISSION_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace holdfast::supervisor {

// Not thread-safe; SessionRegistry guards the object by its lock.
class SessionAdmission {
 public:
  void SetPaused(bool paused) { paused_ = paused; }
  bool paused() const { return paused_; }

  void Drain() { draining_ = true; }
  // Returns true while no session is opened, because of a drain or a pause.
  bool closed() const { return draining_ || paused_; }

  // Notes whether the sessions are being parked, or are parked. Has no effect
  // after NoteRestart.
  void SetParking(bool parking);
  // Notes that another daemon certainly replaces this daemon.
  void NoteRestart() { upgrade_ = Upgrade::kRestarting; }
  bool restarting() const { return upgrade_ == Upgrade::kRestarting; }

  // Returns false while a call that opens a session must wait for the end of
  // parking.
  bool decided() const { return draining_ || upgrade_ != Upgrade::kParking; }
  // Returns OK if a session may be opened. UNAVAILABLE: no session is opened
  // now; the message has the reason.
  absl::Status Check() const;

  // Count a session of this client as in transit: it has an executor, but is
  // not in the registry. The caller calls Leave once after each Enter.
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
  std::map<std::string, size_t> in_transit_of_;  // by client, above 0
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_ADMISSION_H_
