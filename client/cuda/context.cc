// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/context.h"

#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"

namespace holdfast::libcuda {
namespace {

std::atomic<uint64_t> next_id{1};

std::vector<CUcontext>& Stack() {
  thread_local std::vector<CUcontext> stack;
  return stack;
}

thread_local int per_thread_scopes = 0;

}  // namespace

Stream::Stream(std::weak_ptr<Context> context, holdfast::Stream queue,
               Kind kind, unsigned flags,
               const cuda::StreamAttributes& attributes)
    : context_(std::move(context)),
      queue_(std::move(queue)),
      kind_(kind),
      flags_(flags),
      id_(next_id++),
      attributes_(attributes) {}

Stream::~Stream() {
  absl::MutexLock lock(&functions_mutex_);
  if (functions_ != nullptr) functions_->End();
}

cuda::StreamAttributes Stream::attributes() const {
  absl::MutexLock lock(&attributes_mutex_);
  return attributes_;
}

CUresult Stream::SetAttribute(CUstreamAttrID id,
                              const CUstreamAttrValue& value) {
  absl::MutexLock lock(&attributes_mutex_);
  return attributes_.Set(id, value);
}

void Stream::CopyAttributes(const cuda::StreamAttributes& attributes) {
  absl::MutexLock lock(&attributes_mutex_);
  attributes_.CopyFrom(attributes);
}

absl::Status Stream::Enter() {
  const std::shared_ptr<Context> owner = context();
  return owner == nullptr || !is_blocking() ? absl::OkStatus()
                                            : owner->Order(*this);
}

absl::Status Stream::Synchronize() {
  if (kind_ == Kind::kLegacy) HOLDFAST_RETURN_IF_ERROR(Enter());
  return queue_.Synchronize();
}

absl::Status Stream::Call(HostFunction function) {
  absl::MutexLock lock(&functions_mutex_);
  if (functions_ == nullptr) {
    const std::shared_ptr<Context> owner = context();
    if (owner == nullptr) {
      return absl::FailedPreconditionError("the stream's context has ended");
    }
    HOLDFAST_ASSIGN_OR_RETURN(functions_,
                              HostFunctions::Create(owner->device()));
  }
  return functions_->Add(std::move(function), queue_);
}

Context::Context(holdfast::Device device, int ordinal, unsigned flags,
                 CUcontext handle, const cuda::StreamAttributes::Limits& limits)
    : device_(std::move(device)),
      ordinal_(ordinal),
      handle_(handle),
      id_(next_id++),
      limits_of_streams_(limits),
      flags_(flags) {}

absl::StatusOr<std::shared_ptr<Stream>> Context::Make(Stream::Kind kind,
                                                      unsigned flags,
                                                      int priority) {
  const cuda::StreamAttributes attributes(priority, limits_of_streams_);
  HOLDFAST_ASSIGN_OR_RETURN(
      holdfast::Stream queue,
      device_.CreateStream({.priority = attributes.priority()}));
  auto stream = std::make_shared<Stream>(weak_from_this(), std::move(queue),
                                         kind, flags, attributes);
  if (stream->is_blocking() && kind != Stream::Kind::kLegacy) {
    std::erase_if(blocking_, [](const auto& other) { return other.expired(); });
    blocking_.push_back(stream);
  }
  return stream;
}

absl::StatusOr<std::shared_ptr<Stream>> Context::LegacyStream() {
  absl::MutexLock lock(&mutex_);
  if (legacy_ == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(legacy_, Make(Stream::Kind::kLegacy, 0, 0));
  }
  return legacy_;
}

absl::StatusOr<std::shared_ptr<Stream>> Context::PerThreadStream() {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<Stream>& stream = per_thread_[std::this_thread::get_id()];
  if (stream == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(stream, Make(Stream::Kind::kPerThread, 0, 0));
  }
  return stream;
}

absl::StatusOr<std::shared_ptr<Stream>> Context::CreateStream(unsigned flags,
                                                              int priority) {
  absl::MutexLock lock(&mutex_);
  return Make(Stream::Kind::kCreated, flags, priority);
}

absl::Status Context::Order(Stream& stream) {
  absl::MutexLock lock(&mutex_);
  if (stream.kind() == Stream::Kind::kLegacy) {
    ++legacy_works_;
    for (const std::weak_ptr<Stream>& weak : blocking_) {
      const std::shared_ptr<Stream> other = weak.lock();
      if (other == nullptr || !std::exchange(other->has_work_, false)) continue;
      HOLDFAST_RETURN_IF_ERROR(stream.queue().Wait(other->queue()));
    }
    return absl::OkStatus();
  }
  stream.has_work_ = true;
  if (std::exchange(stream.legacy_works_, legacy_works_) == legacy_works_) {
    return absl::OkStatus();
  }
  return stream.queue().Wait(legacy_->queue());
}

absl::Status Context::Retire(const Stream& stream) {
  absl::MutexLock lock(&mutex_);
  if (retired_ == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(retired_, Make(Stream::Kind::kCreated, 0, 0));
  }
  retired_->has_work_ |= stream.is_blocking();
  return retired_->queue().Wait(stream.queue());
}

CUresult Context::EnablePeer(const Context& peer) {
  absl::MutexLock lock(&mutex_);
  return peers_.insert(peer.id()).second
             ? CUDA_SUCCESS
             : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult Context::DisablePeer(const Context& peer) {
  absl::MutexLock lock(&mutex_);
  return peers_.erase(peer.id()) == 1 ? CUDA_SUCCESS
                                      : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUcontext CurrentContext() {
  return Stack().empty() ? nullptr : Stack().back();
}

void SetCurrentContext(CUcontext context) {
  if (!Stack().empty()) Stack().pop_back();
  if (context != nullptr) Stack().push_back(context);
}

void PushContext(CUcontext context) { Stack().push_back(context); }

bool PopContext(CUcontext* context) {
  if (Stack().empty()) return false;
  *context = Stack().back();
  Stack().pop_back();
  return true;
}

bool PerThreadDefaultStream::Active() { return per_thread_scopes > 0; }
PerThreadDefaultStream::PerThreadDefaultStream() { ++per_thread_scopes; }
PerThreadDefaultStream::~PerThreadDefaultStream() { --per_thread_scopes; }

}  // namespace holdfast::libcuda
