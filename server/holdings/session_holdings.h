// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HOLDINGS_SESSION_HOLDINGS_H_
#define HOLDFAST_SERVER_HOLDINGS_SESSION_HOLDINGS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"
#include "server/channel/channel.h"
#include "server/holdings/held_arenas.h"
#include "server/holdings/held_journal.h"
#include "server/holdings/held_objects.h"
#include "server/holdings/held_suspension.h"
#include "server/holdings/held_variables.h"
#include "server/holdings/session_descriptors.h"
#include "server/holdings/session_memory.h"
#include "server/kept/descriptor_store.h"
#include "server/kept/kept_state.h"
#include "server/memory/memory_ledger.h"
#include "server/objects/object_store.h"
#include "server/tenants/tenant.h"
#include "server/tenants/tenant_counts.h"

namespace holdfast {

// The supervisor's holdings for one session, whichever executor serves it: the
// descriptors of its device memory and of the host memory that outlives an
// executor, what it was granted, its journal and the code that it has loaded.
// An executor hands it to its successor. Messages of executors come here, and
// are hostile input. Not thread-safe.
//
// A SessionHoldings passes from an executor to the next by
// Executor::TakeHoldings and Inherit; while no executor has it, it is the
// session's. For each descriptor that the next daemon would need, it keeps a
// copy in the DescriptorStore.
class SessionHoldings {
 public:
  // Parts of the supervisor, which outlive it.
  struct Services {
    ObjectStore& store;
    MemoryLedger& ledger;
    ExportRegistry& exports;
    collections::CollectionTable& collections;
    DeviceMemory& memory;
    DescriptorStore& kept;
  };

  explicit SessionHoldings(const Services& services);
  // Lets go of everything.
  ~SessionHoldings() { Close(); }
  SessionHoldings(const SessionHoldings&) = delete;
  SessionHoldings& operator=(const SessionHoldings&) = delete;

  // For a new session, which `tenant` pays for. RESOURCE_EXHAUSTED: the tenant
  // has no slot for one more session.
  absl::Status Open(const internal::Assign& assign,
                    std::shared_ptr<Tenant> tenant);

  // The same for a session that an earlier daemon has left; all that it had is
  // charged again. Imports come by memory(). RESOURCE_EXHAUSTED: there is not
  // that much any more; chunks of memory are in `kept` still.
  absl::Status Adopt(KeptSession& kept, std::shared_ptr<Tenant> tenant);

  // The same for the memory alone of a session that has ended: with the object,
  // all goes but what others use.
  absl::Status AdoptOrphan(uint64_t session,
                           std::map<uint64_t, KeptChunk> chunks);

  // The executor is gone, and another one is to take over. From here to
  // EndRestore nothing that the session had is let go of, so that a further
  // executor can take over if this one fails. `epoch` begins with it. May come
  // again, when a successor has failed.
  absl::Status BeginRestore(uint64_t epoch);
  // The successor has everything: carries out releases that were put off, drops
  // the old journal and the suspension, and gives back what the successor has
  // not asked for.
  void EndRestore();

  // Nothing of the session runs, and its executor is to end with the daemon; or
  // it goes on after all. The next daemon is told, too.
  void NoteIdle();
  void NoteBusy();

  // REQUIRES: an executor has saved the memory to suspension().Prepare's room.
  // Lets go of the device's memory and of all that was granted to the executor.
  void Suspend();
  // The next successor of a suspended session's executor is to be on this
  // device: grants it the room for the session's memory there, and gives back
  // what was granted on another. RESOURCE_EXHAUSTED: there is no room; then
  // nothing is granted on any device. REQUIRES: the session is suspended, and
  // has one device.
  absl::Status PlaceOn(uint32_t device);

  // Sends an executor all that it needs before Assign. The journal first, then
  // the tenant's page; for a successor also the old journal, variables, arenas
  // and chunks. Fails if the channel is closed.
  absl::Status SendTo(Channel& channel) const;

  // The journal of the executor that serves; -1: there is none.
  int journal() const { return journal_.current(); }

  // An executor's messages about one kind of holding go to that directly.
  SessionMemory& memory() { return memory_; }
  MemoryGrants& grants() { return grants_; }
  HeldArenas& arenas() { return arenas_; }
  HeldObjects& objects() { return objects_; }
  // Held until NoteBusy, or until a successor has the values.
  HeldVariables& variables() { return variables_; }
  HeldSuspension& suspension() { return suspension_; }
  const HeldSuspension& suspension() const { return suspension_; }

  // While a restoration goes on, these three put the release off; numbers that
  // are not known do nothing.
  void ReleaseChunk(uint64_t chunk);
  void ReleaseImport(uint64_t import);
  void ReleaseArena(uint64_t handle);
  // Releases that are put off until the session is restored.
  size_t postponed() const {
    return released_chunks_.size() + released_imports_.size() +
           arenas_.postponed();
  }

  // Lets go of everything, in the DescriptorStore too. May be called again.
  void Close();

 private:
  absl::Status AdoptArenas(std::map<uint64_t, KeptArena>& arenas);

  SessionDescriptors kept_;
  std::unique_ptr<TenantCounts::Lease> slot_;  // null: no tenant with a quota
  MemoryGrants grants_;
  SessionMemory memory_;
  HeldJournal journal_;
  HeldVariables variables_;
  HeldArenas arenas_;
  HeldObjects objects_;
  HeldSuspension suspension_;
  SessionDescriptors::Kept idle_;
  // Put off until the session is restored; each is held.
  std::set<uint64_t> released_chunks_;
  std::set<uint64_t> released_imports_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_SESSION_HOLDINGS_H_
