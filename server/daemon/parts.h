// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_DAEMON_PARTS_H_
#define HOLDFAST_SERVER_DAEMON_PARTS_H_

#include <memory>
#include <string>
#include <vector>

#include "server/collections/collection_table.h"
#include "server/config/config.h"
#include "server/config/runtime_directory.h"
#include "server/counters/execution_totals.h"
#include "server/daemon/compilation.h"
#include "server/daemon/executor_fleet.h"
#include "server/health/health.h"
#include "server/identity/peer_table.h"
#include "server/kept/descriptor_store.h"
#include "server/memory/device_memory.h"
#include "server/memory/memory_ledger.h"
#include "server/objects/object_store.h"
#include "server/process/spawner.h"
#include "server/restart/successor.h"
#include "server/restart/upgrade.h"
#include "server/rpc/tls_certificates.h"
#include "server/sharing/export_registry.h"
#include "server/supervisor/code_cache.h"
#include "server/supervisor/idle_suspension.h"
#include "server/supervisor/session_registry.h"
#include "server/supervisor/share_pacer.h"
#include "server/tenants/audit_log.h"
#include "server/tenants/callers.h"
#include "server/tenants/device_shares.h"
#include "server/tenants/tenant_table.h"

namespace holdfast::server {

// The parts of the daemon behind its sockets (servers.h has the sockets).
// Each member uses only members above it. The groups, from top to bottom:
//
//   state for the next      descriptors kept for the next daemon, the directory
//   daemon                  of sockets; all parts below may store state there
//   callers                 tenants and quotas, peers, certificates, audit
//   shared by executors     objects, generated code, memory accounts, exports
//                           and collections: executors' messages act on these
//   processes               the fleet of executors, the compilers
//   sessions                use executors of the fleet, store their state above
//   replacement             parks the sessions, passes descriptors on
//
// Collections and exports outlive sessions, because a session that ends
// releases versions and memory there. Sessions end before the fleet of
// executors.
struct DaemonParts {
  // Makes the parts, and starts the first executor and the first probes without
  // waiting for them. `inherited` has the names of the descriptors that the
  // earlier daemon has stored. REQUIRES: `config` and `spawner` outlive this
  // object.
  DaemonParts(const Config& config, Spawner& spawner, Successor successor,
              const std::vector<std::string>& inherited,
              std::unique_ptr<RuntimeDirectory> runtime_directory,
              std::unique_ptr<AuditLog> audit_log);

  DescriptorStore kept;
  const std::unique_ptr<RuntimeDirectory> directory;
  const DescriptorStore::Kept kept_directory;
  DescriptorStore::Kept kept_counters;  // set by KeepCounters
  Health health;

  PeerTable peers;
  const std::shared_ptr<DeviceShares> shares = std::make_shared<DeviceShares>();
  TenantTable tenants{shares};
  std::shared_ptr<TlsCertificates> tls;  // null: TCP is plain
  const std::unique_ptr<AuditLog> audit;
  const Callers callers{peers, tenants, *audit};

  ObjectStore store;
  supervisor::CodeCache code;
  MemoryLedger ledger;
  DeviceMemory memory;
  ExecutionTotals totals;
  supervisor::SharePacer pacer;
  collections::CollectionTable collections;
  ExportRegistry exports;

  ExecutorFleet fleet;
  Compilation compilation;

  supervisor::SessionRegistry sessions;
  supervisor::IdleSuspension idle_suspension;

  const std::vector<std::string> arguments;  // of this process
  DaemonUpgrade upgrade;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_PARTS_H_
