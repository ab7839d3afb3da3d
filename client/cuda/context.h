// SPDX-License-Identifier: Apache-2.0
//
// The CUcontexts and CUstreams of a program. A context stands for one device of
// the session.
#ifndef HOLDFAST_CLIENT_CUDA_CONTEXT_H_
#define HOLDFAST_CLIENT_CUDA_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/device.h"
#include "client/cpp/stream.h"
#include "client/cuda/host_function.h"
#include "core/cuda/stream_attributes.h"
#include "cuda.h"

namespace holdfast::libcuda {

class Context;
struct StreamCapture;

// A CUstream. A session has no default stream, so this class orders streams by
// CUDA's rules for the default stream. It uses asynchronous commands:
// - Before work enters a blocking stream, the stream waits for the legacy
//   stream if the legacy stream got work after the previous such wait.
// - Before work enters the legacy stream, the legacy stream waits for each
//   blocking stream that got work after the previous such wait.
// Thread-safe.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  enum class Kind { kLegacy, kPerThread, kCreated };

  Stream(std::weak_ptr<Context> context, holdfast::Stream queue, Kind kind,
         unsigned flags, const cuda::StreamAttributes& attributes);
  // Does not wait. Work that was enqueued still runs.
  ~Stream();

  // Null if the context was destroyed.
  std::shared_ptr<Context> context() const { return context_.lock(); }
  const holdfast::Stream& queue() const { return queue_; }
  Kind kind() const { return kind_; }
  bool is_blocking() const { return (flags_ & CU_STREAM_NON_BLOCKING) == 0; }
  unsigned flags() const { return flags_; }
  uint64_t id() const { return id_; }
  // Returns a copy of the attributes. The daemon has only the priority that the
  // stream was created with, and no other attribute.
  cuda::StreamAttributes attributes() const;
  // Change attributes, and fail, as cuda::StreamAttributes::Set and CopyFrom
  // do.
  CUresult SetAttribute(CUstreamAttrID id, const CUstreamAttrValue& value);
  void CopyAttributes(const cuda::StreamAttributes& attributes);

  // Call before each command is enqueued. Makes the command wait for the
  // context's other streams as the rules above say.
  absl::Status Enter();
  // Blocks until the stream's work is done, and for the legacy stream also the
  // present work of the blocking streams.
  absl::Status Synchronize();
  // Enqueues a call of `function` in this process. Later work of the stream
  // waits until the function has returned. FAILED_PRECONDITION: the context was
  // destroyed.
  absl::Status Call(HostFunction function);

  // Null: the stream does not capture. Guarded by GraphTable::mutex.
  std::shared_ptr<StreamCapture> capture;

 private:
  friend class Context;

  const std::weak_ptr<Context> context_;
  const holdfast::Stream queue_;
  const Kind kind_;
  const unsigned flags_;
  const uint64_t id_;
  // Context guards has_work_ and legacy_works_ by its mutex.
  // True if work has entered since the legacy stream last waited for this
  // stream.
  bool has_work_ = false;
  // Context::legacy_works_ when this stream last waited for the legacy stream.
  uint64_t legacy_works_ = 0;

  mutable absl::Mutex attributes_mutex_;
  cuda::StreamAttributes attributes_ ABSL_GUARDED_BY(attributes_mutex_);
  absl::Mutex functions_mutex_;
  std::shared_ptr<HostFunctions> functions_ ABSL_GUARDED_BY(functions_mutex_);
};

// A CUcontext: a device of the session, settings, and streams. Process::End
// ends its streams, events, modules, functions and memory. Libraries, link
// states and memory pools belong to no context. Thread-safe.
class Context : public std::enable_shared_from_this<Context> {
 public:
  // `ordinal` is the program's number of the device. `limits` are the limits of
  // the device's streams.
  Context(holdfast::Device device, int ordinal, unsigned flags,
          CUcontext handle, const cuda::StreamAttributes::Limits& limits);

  const holdfast::Device& device() const { return device_; }
  int ordinal() const { return ordinal_; }
  CUcontext handle() const { return handle_; }
  // Unique in this process. A primary context that is created again has a new
  // id.
  uint64_t id() const { return id_; }
  std::atomic<unsigned>& flags() { return flags_; }
  // A hint, which changes no result.
  std::atomic<CUfunc_cache>& cache_config() { return cache_config_; }

  // Returns the legacy default stream. The first call makes the stream.
  absl::StatusOr<std::shared_ptr<Stream>> LegacyStream();
  // Returns the calling thread's own default stream. The first call makes the
  // stream.
  absl::StatusOr<std::shared_ptr<Stream>> PerThreadStream();
  absl::StatusOr<std::shared_ptr<Stream>> CreateStream(unsigned flags,
                                                       int priority);
  // Implements Stream::Enter. REQUIRES: the stream is blocking.
  absl::Status Order(Stream& stream);
  // Call before a stream is destroyed. Its unfinished work then stays ordered
  // with the legacy stream, and counts in waits for all streams.
  absl::Status Retire(const Stream& stream);

  // Implement cuCtxEnablePeerAccess and cuCtxDisablePeerAccess.
  CUresult EnablePeer(const Context& peer);
  CUresult DisablePeer(const Context& peer);

 private:
  absl::StatusOr<std::shared_ptr<Stream>> Make(Stream::Kind kind,
                                               unsigned flags, int priority)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const holdfast::Device device_;
  const int ordinal_;
  const CUcontext handle_;
  const uint64_t id_;
  const cuda::StreamAttributes::Limits limits_of_streams_;
  std::atomic<unsigned> flags_;
  std::atomic<CUfunc_cache> cache_config_{CU_FUNC_CACHE_PREFER_NONE};

  absl::Mutex mutex_;
  std::shared_ptr<Stream> legacy_ ABSL_GUARDED_BY(mutex_);
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread_
      ABSL_GUARDED_BY(mutex_);
  // Streams that are in order with the legacy stream.
  std::vector<std::weak_ptr<Stream>> blocking_ ABSL_GUARDED_BY(mutex_);
  uint64_t legacy_works_ ABSL_GUARDED_BY(mutex_) = 0;
  // A stream that waits for the work of every destroyed stream; null: no stream
  // was destroyed.
  std::shared_ptr<Stream> retired_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> peers_ ABSL_GUARDED_BY(mutex_);
};

// The calling thread's stack of contexts. A destroyed context stays on the
// stack. CurrentContext returns null if the stack is empty. SetCurrentContext
// replaces the top; null pops it.
CUcontext CurrentContext();
void SetCurrentContext(CUcontext context);
void PushContext(CUcontext context);
// Returns false if the stack is empty.
bool PopContext(CUcontext* context);

// A scope in which a null stream means the calling thread's per-thread default
// stream. The _ptds and _ptsz variants of functions use it. Scopes nest.
class PerThreadDefaultStream {
 public:
  // Returns true if the calling thread is in such a scope.
  static bool Active();
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
  PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
  PerThreadDefaultStream& operator=(const PerThreadDefaultStream&) = delete;
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_CONTEXT_H_
