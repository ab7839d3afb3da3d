// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HOLDINGS_HELD_SUSPENSION_H_
#define HOLDFAST_SERVER_HOLDINGS_HELD_SUSPENSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/internal/executor.pb.h"
#include "server/account/quota.h"
#include "server/holdings/session_descriptors.h"
#include "server/holdings/session_memory.h"
#include "server/kept/kept_state.h"
#include "server/memory/memory_ledger.h"
#include "server/memory/suspended_memory.h"

namespace holdfast {

// The bytes of a suspended session's device memory, in host memory or a file.
// To suspend a session, Prepare makes room, an executor writes the bytes there,
// and Suspend releases the device memory. Drop releases the room. Not
// thread-safe.
class HeldSuspension {
 public:
  // The room to which an executor saves memory.
  struct Room {
    internal::SaveMemory chunks;  // the offset of each chunk
    int descriptor = -1;          // borrowed
    uint64_t bytes = 0;
  };

  // REQUIRES: all arguments outlive this object.
  HeldSuspension(const SessionDescriptors& kept, SessionMemory& memory,
                 const MemoryLedger& ledger)
      : kept_(kept), memory_(memory), ledger_(ledger) {}

  // Makes room for the bytes of the session's device memory, in a file at
  // `path` or, if that is empty, in host memory. Nothing changes for the
  // session yet. Bytes in host memory count for the session's tenant. Otherwise
  // a tenant could fill the host memory of all sessions: its quota of device
  // memory does not count them. RESOURCE_EXHAUSTED: the tenant has too many of
  // them, or they exceed its share of host memory (HostShares).
  // FAILED_PRECONDITION: as SessionMemory::CheckAlone. Also fails as
  // SuspendedMemory::CreateFile or CreateInMemory.
  absl::StatusOr<Room> Prepare(const std::string& path);
  // Releases the device memory. REQUIRES: Prepare has succeeded, and the bytes
  // are saved.
  void Suspend();
  // Takes over the bytes of a session that an earlier daemon has left
  // suspended. Fails as SuspendedMemory::Adopt. RESOURCE_EXHAUSTED: the bytes
  // exceed the tenant's share of host memory.
  absl::Status Adopt(KeptSession& kept);

  // Returns true from Suspend or Adopt until Drop.
  bool suspended() const { return suspended_; }
  // The descriptor of the room, borrowed; -1: there is no room.
  int descriptor() const {
    return saved_ == nullptr ? -1 : saved_->descriptor();
  }
  // The number of saved bytes; 0: the session is not suspended.
  uint64_t bytes() const { return suspended_ ? saved_->bytes() : 0; }

  // Releases the room and its bytes. Called when a successor has the bytes on
  // the device, when the suspension was given up, or when the session has
  // ended.
  void Drop();

 private:
  // Charges bytes in host memory, also to the tenant's share of it.
  absl::StatusOr<MemoryLedger::HostCharge> TakeHost(uint64_t bytes) const;
  // Keeps the place of the bytes for the next daemon.
  void Keep();

  const SessionDescriptors& kept_;
  SessionMemory& memory_;
  const MemoryLedger& ledger_;
  std::unique_ptr<SuspendedMemory> saved_;
  Charge of_tenant_;             // for saved_ in host memory
  internal::SaveMemory chunks_;  // the offset of each in saved_
  SessionDescriptors::Kept kept_image_;
  SessionDescriptors::Kept kept_record_;
  bool suspended_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_HELD_SUSPENSION_H_
