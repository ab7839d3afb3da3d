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

// The holdings of a session: what the supervisor holds for it from its first
// executor to its last. These are the descriptors of the session's device
// memory and of the host memory that outlives an executor, its memory grants,
// its journal, and the code that it has loaded. The class handles executors'
// messages about them, which are hostile input. Not thread-safe.
//
// A SessionHoldings passes from an executor to the next with
// Executor::TakeHoldings and Inherit; the session owns it in between. The class
// stores each descriptor that the next daemon needs in the DescriptorStore.
class SessionHoldings {
 public:
  // Parts of the supervisor, which must outlive this object.
  struct Services {
    ObjectStore& store;
    MemoryLedger& ledger;
    ExportRegistry& exports;
    collections::CollectionTable& collections;
    DeviceMemory& memory;
    DescriptorStore& kept;
  };

  explicit SessionHoldings(const Services& services);
  // Releases everything.
  ~SessionHoldings() { Close(); }
  SessionHoldings(const SessionHoldings&) = delete;
  SessionHoldings& operator=(const SessionHoldings&) = delete;

  // Opens a new session, which is charged to `tenant`. RESOURCE_EXHAUSTED: the
  // tenant has no slot for one more session. Fails also as HeldJournal::Open.
  absl::Status Open(const internal::Assign& assign,
                    std::shared_ptr<Tenant> tenant);

  // Opens a session that an earlier daemon has left, and charges all of its
  // holdings again. The caller adds the imports through memory().
  // RESOURCE_EXHAUSTED: a limit is too low now; the chunks are still in `kept`.
  absl::Status Adopt(KeptSession& kept, std::shared_ptr<Tenant> tenant);

  // Takes over the chunks of a session that has ended. The destructor releases
  // the chunks that other sessions do not use.
  absl::Status AdoptOrphan(uint64_t session,
                           std::map<uint64_t, KeptChunk> chunks);

  // Prepares for a successor of an executor that has ended. The successor
  // serves from `epoch` on. Until EndRestore nothing of the session is
  // released, so that a further executor can take over if the successor fails.
  // Must be called for each successor. Fails as HeldJournal::BeginRestore.
  absl::Status BeginRestore(uint64_t epoch);
  // Called when the successor has restored the session. Carries out the
  // postponed releases, drops the old journal and the suspension, and gives
  // back grants and imports that the successor has not requested again.
  void EndRestore();

  // NoteIdle records, for the next daemon, that the session's work has ended
  // and that its executor will end with the daemon. NoteBusy removes the
  // record, and drops the saved variables.
  void NoteIdle();
  void NoteBusy();

  // Releases the device memory and all of the executor's grants. REQUIRES:
  // suspension().Prepare has succeeded, and an executor has saved the bytes.
  void Suspend();
  // Places a suspended session on this device for its next executor: grants the
  // session's memory there, and gives back the grant on another device.
  // RESOURCE_EXHAUSTED: the device has no room; the session then has no grant
  // on any device. REQUIRES: the session is suspended, and has one device.
  absl::Status PlaceOn(uint32_t device);

  // Sends an executor the descriptors that it needs before Assign: the journal
  // and the tenant's page, and for a successor also the old journal, the
  // variables, the arenas and the chunks. Fails as Channel::Send.
  absl::Status SendTo(Channel& channel) const;

  // The descriptor of the present executor's journal, borrowed; -1 if there is
  // none.
  int journal() const { return journal_.current(); }

  // The parts that handle an executor's messages about one kind of holding.
  SessionMemory& memory() { return memory_; }
  MemoryGrants& grants() { return grants_; }
  HeldArenas& arenas() { return arenas_; }
  HeldObjects& objects() { return objects_; }
  // The saved variables are dropped by NoteBusy and EndRestore.
  HeldVariables& variables() { return variables_; }
  HeldSuspension& suspension() { return suspension_; }
  const HeldSuspension& suspension() const { return suspension_; }

  // Release one holding. Unknown numbers are ignored. Between BeginRestore and
  // EndRestore the release is postponed to EndRestore.
  void ReleaseChunk(uint64_t chunk);
  void ReleaseImport(uint64_t import);
  void ReleaseArena(uint64_t handle);
  // The number of postponed releases.
  size_t postponed() const {
    return released_chunks_.size() + released_imports_.size() +
           arenas_.postponed();
  }

  // Releases everything, also in the DescriptorStore. May be called again.
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
  // The releases that are postponed to EndRestore. All these numbers are held.
  std::set<uint64_t> released_chunks_;
  std::set<uint64_t> released_imports_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_SESSION_HOLDINGS_H_
