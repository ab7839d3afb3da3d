// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_HOLDINGS_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_HOLDINGS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "server/channel/channel.h"
#include "server/kept/descriptor_store.h"
#include "server/kept/kept_state.h"
#include "server/memory/memory_ledger.h"
#include "server/memory/suspended_memory.h"
#include "server/objects/object_store.h"
#include "server/supervisor/session_memory.h"
#include "server/tenants/tenant.h"
#include "server/tenants/tenant_counts.h"

namespace holdfast::supervisor {

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
  // Arenas, those included that are freed and still in use.
  static constexpr size_t kMaxHostMemory = 256;
  // Objects that are kept for loading them again, and their bytes.
  static constexpr size_t kMaxObjects = 256;
  static constexpr uint64_t kMaxObjectBytes = uint64_t{256} << 20;

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
  // it goes on after all. Kept for the next daemon too.
  void NoteIdle();
  void NoteBusy() {
    idle_ = Kept();
    DropVariables();
  }
  // The values of variables of an executor that is idle, until NoteBusy or
  // until another one has them. They are charged to host memory.
  // INVALID_ARGUMENT: no sealed memfd. RESOURCE_EXHAUSTED: the refusal of
  // --host-memory. Bounded by kMaxSavedVariablesBytes.
  absl::Status HoldVariables(UniqueFd memory);

  // For a suspension, while the executor is idle. FAILED_PRECONDITION: as
  // SessionMemory::CheckAlone.
  absl::Status CheckSuspendable() const { return memory_.CheckAlone(); }
  // Makes room for the bytes of the session's device memory, as
  // SuspendedMemory::Create, and returns where each chunk goes. Fails as
  // CheckSuspendable or SuspendedMemory::Create do. Nothing has changed for the
  // session yet.
  absl::StatusOr<internal::SaveMemory> PrepareSuspension(
      const std::string& path);
  // Where the bytes go; -1: nothing is prepared.
  int suspended_descriptor() const {
    return suspended_memory_ == nullptr ? -1 : suspended_memory_->descriptor();
  }
  // Also after Suspend, once the bytes are on the devices again.
  void CancelSuspension() { suspended_memory_ = nullptr; }
  void DropVariables() {
    kept_variables_ = Kept();
    variables_.Reset();
    variables_charge_ = Charge();
  }
  // The bytes are there: lets go of the device's memory and of all that was
  // granted to the executor. REQUIRES: prepared.
  void Suspend();
  bool suspended() const { return suspended_; }
  // The next successor of a suspended session's executor is to be on this
  // device: grants it the room for the session's memory there, and gives back
  // what was granted on another. RESOURCE_EXHAUSTED: there is no room; then
  // nothing is granted on any device. REQUIRES: suspended(), and the session
  // has one device.
  absl::Status PlaceOn(uint32_t device);
  // 0: it is not suspended.
  uint64_t suspended_bytes() const {
    return suspended_ ? suspended_memory_->bytes() : 0;
  }

  // Sends an executor all that it needs before Assign. The journal first, then
  // the tenant's page; for a successor also the old journal, variables, arenas
  // and chunks. Fails if the channel is closed.
  absl::Status SendTo(Channel& channel) const;

  // The journal of the executor that serves; -1: there is none.
  int journal() const { return journal_.get(); }

  // Messages about device memory and grants go to these directly.
  SessionMemory& memory() { return memory_; }
  MemoryGrants& grants() { return grants_; }
  // While a restoration goes on, these three put the release off; numbers that
  // are not known do nothing.
  void ReleaseChunk(uint64_t chunk);
  void ReleaseImport(uint64_t import);
  // INVALID_ARGUMENT: there is no descriptor. Memory beyond the limit is not
  // kept.
  absl::Status HoldHostMemory(const internal::HostMemoryCreated& created,
                              UniqueFd memory);
  void ReleaseHostMemory(uint64_t handle);
  // Releases that are put off until the session is restored.
  size_t postponed() const {
    return released_chunks_.size() + released_host_memory_.size() +
           released_imports_.size();
  }

  // As ObjectStore::Get; what was found is kept for a successor. NOT_FOUND:
  // neither the store nor this has it. The oldest are dropped beyond
  // kMaxObjects or kMaxObjectBytes.
  absl::StatusOr<std::shared_ptr<const StoredObject>> FindObject(
      const std::string& sha256);

  // Lets go of everything, in the DescriptorStore too. May be called again.
  void Close();

 private:
  using Kept = DescriptorStore::Kept;

  struct HostMemory {
    uint64_t size = 0;
    UniqueFd memory;
    Kept kept;
  };
  struct Object {
    std::shared_ptr<const StoredObject> object;
    Kept header;
    Kept code;
  };

  // The name of a descriptor of this session in the DescriptorStore.
  KeptName Name(const char* kind,
                std::initializer_list<uint64_t> numbers = {}) const;
  // Keeps it and its copy in the DescriptorStore, and drops the oldest beyond
  // the bounds.
  void KeepObject(std::shared_ptr<const StoredObject> object);
  absl::Status AdoptSuspension(KeptSession& kept);
  // Keeps where the bytes are, for the next daemon.
  void KeepSuspension();

  ObjectStore& store_;
  MemoryLedger& ledger_;
  DescriptorStore& kept_;
  uint64_t session_ = 0;                       // its number
  uint64_t epoch_ = 1;                         // of journal_
  std::unique_ptr<TenantCounts::Lease> slot_;  // null: no tenant with a quota
  MemoryGrants grants_;
  SessionMemory memory_;
  UniqueFd journal_;
  UniqueFd old_journal_;  // of the executor before; none: nothing is restored
  Kept kept_journal_;     // the one that counts
  Kept idle_;
  std::map<uint64_t, HostMemory> host_memory_;  // by handle
  std::deque<Object> objects_;                  // oldest first
  uint64_t object_bytes_ = 0;
  Charge variables_charge_;
  // None: the executor has not ended in order, or has none.
  UniqueFd variables_;
  Kept kept_variables_;
  std::unique_ptr<SuspendedMemory> suspended_memory_;
  internal::SaveMemory saved_;  // what is where in it
  Kept kept_image_;
  Kept kept_suspension_;
  bool suspended_ = false;  // until a successor has the bytes
  // Put off until the session is restored; each is held.
  std::set<uint64_t> released_chunks_;
  std::set<uint64_t> released_host_memory_;
  std::set<uint64_t> released_imports_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_HOLDINGS_H_
