// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/process.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "client/cpp/connection/address.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/state/session_state.h"
#include "client/cuda/answer.h"
#include "client/cuda/names.h"
#include "core/base/status_macros.h"
#include "core/cuda/stream_attributes.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::libcuda {
namespace {

std::string SessionName() {
  const char* name = std::getenv("HOLDFAST_SESSION_NAME");
  return name != nullptr && *name != '\0' ? name
                                          : program_invocation_short_name;
}

cuda::StreamAttributes::Limits LimitsOf(const v1::Device& device) {
  const auto value = [&](CUdevice_attribute attribute, int64_t absent) {
    const auto found = device.attributes().find(NameOf(attribute));
    return found == device.attributes().end() ? absent : found->second;
  };
  return {.window_bytes = static_cast<size_t>(
              value(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 0)),
          .sync_domains = static_cast<int>(
              value(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 1))};
}

}  // namespace

Process& Process::Get() {
  static Process& process = *new Process;
  return process;
}

// Connections and threads do not survive a fork. As the driver, a child can
// start only what it executes.
Process::Process() {
  pthread_atfork(nullptr, nullptr, [] {
    Process& process = Get();
    if (!process.initialized_.exchange(false)) return;
    process.forked_ = true;
  });
}

absl::Status Process::Init() {
  if (forked_) {
    return absl::FailedPreconditionError(
        "the process has been forked from one that uses CUDA");
  }
  absl::MutexLock lock(&init_mutex_);
  if (initialized_) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(Open());
  initialized_ = true;
  return absl::OkStatus();
}

// After a fault every call about an object fails with the fault's error, as in
// CUDA: the session is never asked to recover.
absl::Status Process::Open() {
  // A private daemon would load this library as its own driver.
  if (absl::StartsWith(DefaultAddress(), "embedded:")) {
    return absl::InvalidArgumentError(
        "HOLDFAST_ADDRESS is embedded: start the program with "
        "`holdfast exec --device=auto`, which starts such a daemon");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      session_,
      Session::Open({.name = SessionName(), .recover = RecoveryPolicy::kAsk}));
  devices_.clear();
  std::vector<ContextTable::Device> devices;
  for (const uint32_t ordinal : session_->devices()) {
    HOLDFAST_ASSIGN_OR_RETURN(const v1::DescribeDeviceResponse response,
                              session_->daemon().DescribeDevice(ordinal));
    driver_version_ = response.driver().version();
    is_software_ = response.driver().kind() == v1::Driver::KIND_SOFTWARE;
    devices_.push_back(response.device());
    devices.push_back({session_->device(ordinal), LimitsOf(devices_.back())});
  }
  using Kind = MemoryPool::Kind;
  for (size_t i = 0; i < devices_.size(); ++i) {
    default_pools_.push_back(pools.Add(
        std::make_shared<MemoryPool>(Kind::kDevice, static_cast<int>(i))));
  }
  for (const Kind kind : {Kind::kHost, Kind::kManaged}) {
    default_pools_.push_back(pools.Add(std::make_shared<MemoryPool>(kind, 0)));
  }
  {
    absl::MutexLock lock(&pools_mutex_);
    current_pools_ = default_pools_;
  }
  contexts_ = std::make_unique<ContextTable>(std::move(devices));
  pinned_ = std::make_unique<PinnedMemory>(*session_);
  return absl::OkStatus();
}

size_t Process::PoolIndex(MemoryPool::Kind kind, int ordinal) const {
  switch (kind) {
    case MemoryPool::Kind::kDevice:
      return static_cast<size_t>(ordinal);
    case MemoryPool::Kind::kHost:
      return devices_.size();
    case MemoryPool::Kind::kManaged:
      break;
  }
  return devices_.size() + 1;
}

bool Process::shares_memory() const {
  return !session_->state()->descriptor_path.empty();
}

bool Process::IsDefaultPool(CUmemoryPool pool) const {
  return std::count(default_pools_.begin(), default_pools_.end(), pool) > 0;
}

absl::StatusOr<std::string> Process::Tenant() {
  absl::MutexLock lock(&tenant_mutex_);
  if (!tenant_.empty()) return tenant_;
  HOLDFAST_ASSIGN_OR_RETURN(const std::vector<v1::SessionInfo> sessions,
                            session_->daemon().Sessions());
  for (const v1::SessionInfo& info : sessions) {
    if (info.session_id() == session_->id()) tenant_ = info.tenant();
  }
  if (!tenant_.empty()) return tenant_;
  return absl::NotFoundError("the daemon does not tell the session's tenant");
}

absl::Status Process::AwaitCommands() {
  HOLDFAST_ASSIGN_OR_RETURN(const Fence fence, session_->Fence());
  return fence.Wait();
}

void Process::End(std::shared_ptr<Context> context) {
  if (context == nullptr) return;
  const uint64_t id = context->id();
  // Pinned memory goes to others at once. A failure was told, or will be.
  if (LastFault() == CUDA_SUCCESS) Answer(session_->Synchronize());
  streams.RemoveIf([&](const Stream& stream) {
    const std::shared_ptr<Context> owner = stream.context();
    return owner == nullptr || owner->id() == id;
  });
  events.RemoveIf(
      [id](const ProgramEvent& event) { return event.context_id == id; });
  modules.RemoveIf(
      [id](const Module& module) { return module.context_id() == id; });
  functions.RemoveIf(
      [](const Function& function) { return function.module() == nullptr; });
  memory.RemoveIf([id](const Allocation& allocation) {
    return allocation.context_id == id;
  });
  // Those that are left belong to libraries.
  for (const auto& function : functions.All()) function->EndContext(id);
  for (const auto& library : modules.All()) library->EndContext(id);
}

}  // namespace holdfast::libcuda
