// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/connection.h"

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "client/cpp/connection/address.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/fence.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::libcuda {
namespace {

std::string SessionName() {
  const char* name = std::getenv("HOLDFAST_SESSION_NAME");
  return name != nullptr && *name != '\0' ? name
                                          : program_invocation_short_name;
}

}  // namespace

// After a fault every call about an object fails with the fault's error, as in
// CUDA: the session is never asked to recover.
absl::StatusOr<std::unique_ptr<Connection>> Connection::Open() {
  // A private daemon would load this library as its own driver.
  if (absl::StartsWith(DefaultAddress(), "embedded:")) {
    return absl::InvalidArgumentError(
        "HOLDFAST_ADDRESS is embedded: start the program with "
        "`holdfast exec --device=auto`, which starts such a daemon");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      std::unique_ptr<Session> session,
      Session::Open({.name = SessionName(), .recover = RecoveryPolicy::kAsk}));
  std::unique_ptr<Connection> connection(new Connection(std::move(session)));
  HOLDFAST_RETURN_IF_ERROR(connection->Describe());
  return connection;
}

absl::Status Connection::Describe() {
  for (const uint32_t ordinal : session_->devices()) {
    HOLDFAST_ASSIGN_OR_RETURN(v1::DescribeDeviceResponse response,
                              session_->daemon().DescribeDevice(ordinal));
    driver_ = std::move(*response.mutable_driver());
    devices_.push_back(std::move(*response.mutable_device()));
  }
  return absl::OkStatus();
}

bool Connection::is_software() const {
  return driver_.kind() == v1::Driver::KIND_SOFTWARE;
}

bool Connection::shares_memory() const { return session_->state()->is_local(); }

absl::StatusOr<std::string> Connection::Tenant() {
  absl::MutexLock lock(&mutex_);
  if (!tenant_.empty()) return tenant_;
  HOLDFAST_ASSIGN_OR_RETURN(const std::vector<v1::SessionInfo> sessions,
                            session_->daemon().Sessions());
  for (const v1::SessionInfo& info : sessions) {
    if (info.session_id() == session_->id()) tenant_ = info.tenant();
  }
  if (!tenant_.empty()) return tenant_;
  return absl::NotFoundError("the daemon does not tell the session's tenant");
}

absl::Status Connection::AwaitCommands() {
  HOLDFAST_ASSIGN_OR_RETURN(const Fence fence, session_->Fence());
  return fence.Wait();
}

}  // namespace holdfast::libcuda
