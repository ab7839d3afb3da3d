// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_CONNECTION_H_
#define HOLDFAST_CLIENT_CUDA_CONNECTION_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/session.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast::libcuda {

// The program's session, and the daemon's descriptions of its devices and
// driver, which do not change while the session is open. Thread-safe.
class Connection {
 public:
  // Opens a session at $HOLDFAST_ADDRESS or the default address. The session's
  // name is $HOLDFAST_SESSION_NAME or the program's name. Waits for the daemon.
  static absl::StatusOr<std::unique_ptr<Connection>> Open();

  Session& session() { return *session_; }
  // The program's devices, in the order of their CUdevice numbers.
  const std::vector<v1::Device>& devices() const { return devices_; }
  int driver_version() const { return driver_.version(); }
  // Returns true if the daemon's driver is the software driver.
  bool is_software() const;
  // Returns true if the daemon is on this machine, so that kernels reach pinned
  // memory of the process.
  bool shares_memory() const;

  // Returns the session's tenant. The program shares memory only with processes
  // of this tenant. The first call waits for the daemon.
  absl::StatusOr<std::string> Tenant();

  // Waits until the daemon has processed all commands so far, but not for their
  // work. Returns the first failure that no call has returned yet.
  absl::Status AwaitCommands();

 private:
  explicit Connection(std::unique_ptr<Session> session)
      : session_(std::move(session)) {}
  // Requests devices_ and driver_ from the daemon.
  absl::Status Describe();

  const std::unique_ptr<Session> session_;
  std::vector<v1::Device> devices_;
  v1::Driver driver_;
  absl::Mutex mutex_;
  std::string tenant_ ABSL_GUARDED_BY(mutex_);  // empty: not known yet
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_CONNECTION_H_
