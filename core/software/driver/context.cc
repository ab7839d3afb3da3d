// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/context.h"

#include <algorithm>
#include <utility>

#include "core/cuda/stream_attributes.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/device.h"
#include "core/software/runtime/executable.h"

namespace holdfast::software {
namespace {

// As on a GPU, whose threads have no more local memory than that.
constexpr size_t kLargestStack = size_t{512} << 10;

std::atomic<uint64_t> last_context_id{0};

size_t Attribute(const Device& device, CUdevice_attribute attribute) {
  int value = 0;
  device.Attribute(attribute, &value);
  return static_cast<size_t>(value);
}

}  // namespace

Context::Context(Device& device, unsigned flags, CUcontext handle)
    : device_(device), id_(++last_context_id), handle_(handle), flags_(flags) {
  limits_ = {{CU_LIMIT_STACK_SIZE, 1024},
             {CU_LIMIT_PRINTF_FIFO_SIZE, 8 << 20},
             {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20},
             {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
             {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
             {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
}

int Context::ordinal() const { return device_.ordinal(); }

std::shared_ptr<Stream> Context::AddStreamLocked(Stream::Kind kind,
                                                 unsigned flags, int priority) {
  const auto finished = [](const std::shared_ptr<Stream>& stream) {
    return stream.use_count() == 1 && stream->Idle();
  };
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(), finished),
                 streams_.end());
  streams_.push_back(std::make_shared<Stream>(
      shared_from_this(), kind, flags,
      cuda::StreamAttributes(
          priority,
          {.window_bytes = Attribute(
               device_, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE),
           .sync_domains = static_cast<int>(Attribute(
               device_, CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT))})));
  return streams_.back();
}

std::shared_ptr<Stream> Context::legacy_stream() {
  MutexLock lock(&mutex_);
  if (legacy_ == nullptr) {
    legacy_ = AddStreamLocked(Stream::Kind::kLegacy, CU_STREAM_DEFAULT, 0);
  }
  return legacy_;
}

std::shared_ptr<Stream> Context::per_thread_stream() {
  MutexLock lock(&mutex_);
  std::shared_ptr<Stream>& stream = per_thread_[std::this_thread::get_id()];
  if (stream == nullptr) {
    stream = AddStreamLocked(Stream::Kind::kBlocking, CU_STREAM_DEFAULT, 0);
  }
  return stream;
}

std::shared_ptr<Stream> Context::CreateStream(unsigned flags, int priority) {
  const bool non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
  MutexLock lock(&mutex_);
  return AddStreamLocked(
      non_blocking ? Stream::Kind::kNonBlocking : Stream::Kind::kBlocking,
      flags, priority);
}

std::vector<std::shared_ptr<Stream>> Context::Streams() {
  MutexLock lock(&mutex_);
  return streams_;
}

void Context::Synchronize() {
  for (const std::shared_ptr<Stream>& stream : Streams()) stream->Drain();
}

void Context::DrainUnlessHeldUp() {
  for (const std::shared_ptr<Stream>& stream : Streams()) {
    stream->DrainUnlessHeldUp();
  }
}

void Context::End() {
  Synchronize();
  alive_ = false;
  // Streams own their context: let go of them without the lock.
  std::vector<std::shared_ptr<Stream>> streams;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread;
  MutexLock lock(&mutex_);
  streams.swap(streams_);
  per_thread.swap(per_thread_);
  legacy_ = nullptr;
}

void Context::AddImplicitOrder(const Stream& stream,
                               std::vector<Ticket>* after) {
  if (stream.kind() == Stream::Kind::kNonBlocking) return;
  std::vector<std::shared_ptr<Stream>> others;
  {
    MutexLock lock(&mutex_);
    if (stream.kind() == Stream::Kind::kBlocking) {
      if (legacy_ != nullptr && !legacy_->Idle()) others.push_back(legacy_);
    } else {
      for (const std::shared_ptr<Stream>& other : streams_) {
        if (other->kind() == Stream::Kind::kBlocking && !other->Idle()) {
          others.push_back(other);
        }
      }
    }
  }
  for (const std::shared_ptr<Stream>& other : others) {
    after->push_back(other->Tail());
  }
}

CUresult Context::EnablePeer(const Context& peer) {
  MutexLock lock(&mutex_);
  return peers_.insert(peer.id()).second
             ? CUDA_SUCCESS
             : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult Context::DisablePeer(const Context& peer) {
  MutexLock lock(&mutex_);
  return peers_.erase(peer.id()) > 0 ? CUDA_SUCCESS
                                     : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult Context::GetLimit(CUlimit limit, size_t* value) const {
  if (limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(&mutex_);
  const auto it = limits_.find(limit);
  if (it == limits_.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *value = it->second;
  return CUDA_SUCCESS;
}

CUresult Context::SetLimit(CUlimit limit, size_t value) {
  if (limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(&mutex_);
  const auto it = limits_.find(limit);
  if (it == limits_.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  if (limit == CU_LIMIT_STACK_SIZE && value > kLargestStack) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (limit == CU_LIMIT_MALLOC_HEAP_SIZE && !SetDeviceHeapBytes(value)) {
    return CUDA_ERROR_INVALID_VALUE;  // it is in use
  }
  it->second = value;
  return CUDA_SUCCESS;
}

}  // namespace holdfast::software
