// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/process.h"

#include <pthread.h>

#include "client/cuda/answer.h"
#include "client/cuda/names.h"
#include "core/base/status_macros.h"
#include "core/cuda/stream_attributes.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast::libcuda {
namespace {

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

absl::Status Process::Open() {
  HOLDFAST_ASSIGN_OR_RETURN(connection_, Connection::Open());
  const auto devices = static_cast<int>(connection_->devices().size());
  contexts_ = std::make_unique<ContextTable>(
      devices, [this](int ordinal, unsigned flags, CUcontext handle) {
        const v1::Device& device =
            connection_->devices()[static_cast<size_t>(ordinal)];
        return std::make_shared<Context>(
            connection_->session().device(device.ordinal()), ordinal, flags,
            handle, LimitsOf(device));
      });
  pools_ = std::make_unique<PoolTable>(devices);
  pinned_ = std::make_unique<PinnedMemory>(connection_->session());
  return absl::OkStatus();
}

void Process::End(std::shared_ptr<Context> context) {
  if (context == nullptr) return;
  const uint64_t id = context->id();
  // Pinned memory goes to others at once. A failure was told, or will be.
  if (LastFault() == CUDA_SUCCESS) Answer(connection_->session().Synchronize());
  streams.RemoveIf([&](const Stream& stream) {
    const std::shared_ptr<Context> owner = stream.context();
    return owner == nullptr || owner->id() == id;
  });
  events.RemoveIf(
      [id](const ProgramEvent& event) { return event.context_id == id; });
  memory.RemoveIf([id](const Allocation& allocation) {
    return allocation.context_id == id;
  });
  code.EndContext(id);
  coredumps.Remove(id);
}

}  // namespace holdfast::libcuda
