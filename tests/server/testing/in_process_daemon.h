// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_IN_PROCESS_DAEMON_H_
#define HOLDFAST_TESTS_SERVER_TESTING_IN_PROCESS_DAEMON_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/collections/collection_table.h"
#include "server/compile/compile_cache.h"
#include "server/compile/compiler_pool.h"
#include "server/compile/disk_cache.h"
#include "server/identity/peer_table.h"
#include "server/kept/descriptor_store.h"
#include "server/memory/device_memory.h"
#include "server/memory/memory_ledger.h"
#include "server/objects/object_store.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/rpc_server.h"
#include "server/services/admin_service.h"
#include "server/services/forwarded_service.h"
#include "server/services/session_service.h"
#include "server/services/tenant_admin.h"
#include "server/sharing/export_registry.h"
#include "server/supervisor/session_registry.h"
#include "server/tenants/audit_log.h"
#include "server/tenants/callers.h"
#include "server/tenants/policy.h"
#include "server/tenants/tenant_table.h"
#include "tests/server/testing/fake_executor.h"

namespace holdfast::testing {

// The daemon's services for sessions, commands and operators in the test's own
// process, on a Unix socket in a directory of their own; every session has a
// FakeExecutor. There are no compilers, and devices are not listed. The
// supervisor and the policy are the real ones. Thread-safe.
class InProcessDaemon {
 public:
  explicit InProcessDaemon(const Policy& policy = {});
  // REQUIRES: no executor crashes meanwhile.
  ~InProcessDaemon();
  InProcessDaemon(const InProcessDaemon&) = delete;
  InProcessDaemon& operator=(const InProcessDaemon&) = delete;

  // For Daemon::Connect: "unix:/tmp/holdfast-test-Xq3Yz1/holdfast.sock".
  std::string address() const { return "unix:" + directory_ + kSocket; }

  supervisor::SessionRegistry& sessions() { return sessions_; }

  // The executor that was taken last. It lives until its session has another
  // one, or ends. REQUIRES: a session was opened.
  FakeExecutor& executor() const;

  // Makes Stop() of executors that are taken from now on call `on_stop` first.
  void SetOnStop(std::function<void()> on_stop);

 private:
  static constexpr char kSocket[] = "/holdfast.sock";

  std::unique_ptr<supervisor::Executor> TakeExecutor();
  std::unique_ptr<RpcServer> StartServer();

  // In the order of construction, as Daemon has them.
  const std::string directory_;
  DescriptorStore kept_;
  PeerTable peers_;
  TenantTable tenants_;
  AuditLog audit_;
  const Callers callers_{peers_, tenants_, audit_};
  ObjectStore store_{/*max_bytes=*/1 << 20};
  MemoryLedger ledger_{/*host_bytes=*/0};
  DeviceMemory memory_;
  collections::CollectionTable collections_;
  ExportRegistry exports_;
  CompilerPool compilers_;
  DiskCache disk_cache_{/*directory=*/"", /*max_bytes=*/0};
  CompileCache cache_{/*max_bytes=*/0};
  mutable absl::Mutex mutex_;
  FakeExecutor* executor_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::function<void()> on_stop_ ABSL_GUARDED_BY(mutex_);
  supervisor::SessionRegistry sessions_;
  TenantAdmin tenant_admin_{tenants_, sessions_, collections_};
  CallThreads threads_{/*max_threads=*/16};
  SessionService session_service_;
  AdminService admin_service_;
  ForwardedService command_service_;
  std::unique_ptr<RpcServer> server_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SERVER_TESTING_IN_PROCESS_DAEMON_H_
