// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_CONTEXT_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/stream.h"
#include "cuda.h"

namespace holdfast::software {

class Device;

// The streams and settings of one CUcontext. Resources store the id of their
// context; Driver::EndContext frees them. Thread-safe.
class Context : public std::enable_shared_from_this<Context> {
 public:
  // `flags` are CU_CTX_... flags. The device must outlive the context.
  Context(Device& device, unsigned flags, CUcontext handle);

  Device& device() const { return device_; }
  int ordinal() const;  // of the device
  // A number that no other context of the process ever has.
  uint64_t id() const { return id_; }
  // May change after the context was made, by cuDevicePrimaryCtxSetFlags.
  std::atomic<unsigned>& flags() { return flags_; }
  // The value of cuCtxSetCacheConfig, which has no effect.
  std::atomic<CUfunc_cache>& cache_config() { return cache_config_; }
  CUcontext handle() const { return handle_; }

  // True until End.
  bool alive() const { return alive_; }

  // Returns the legacy default stream. The first call makes it.
  std::shared_ptr<Stream> legacy_stream();
  // Returns the default stream of the calling thread, which is a blocking
  // stream. The first call of a thread makes it.
  std::shared_ptr<Stream> per_thread_stream();
  // Makes a stream. `flags` are CU_STREAM_... flags. Replaces a priority beyond
  // the range by the nearest valid one.
  std::shared_ptr<Stream> CreateStream(unsigned flags, int priority);

  // Blocks until all work is done that was enqueued in the context's streams,
  // destroyed streams included. The calling thread helps to run the work.
  void Synchronize();
  // Does the same as Synchronize, but does not wait for streams that are held
  // up, which means that they wait for a value in memory, perhaps for ever.
  void DrainUnlessHeldUp();

  // Calls Synchronize, ends the context, and releases its streams. Later calls
  // that need a living context fail. REQUIRES: the caller holds a reference to
  // the context, because the streams may hold the only other references.
  void End();

  // Appends to `after` tickets of the work that must be done before work that
  // is about to enter `stream`, by the semantics of the legacy default stream.
  // Work of a blocking stream runs after the legacy stream's work. Work of the
  // legacy stream runs after the work of all blocking streams. Non-blocking
  // streams have no such order.
  void AddImplicitOrder(const Stream& stream, std::vector<Ticket>* after);

  // Implement cuCtxEnablePeerAccess and cuCtxDisablePeerAccess. They only
  // record the access. CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED or
  // CUDA_ERROR_PEER_ACCESS_NOT_ENABLED: there is nothing to change.
  CUresult EnablePeer(const Context& peer);
  CUresult DisablePeer(const Context& peer);

  // Implement cuCtxGetLimit and cuCtxSetLimit. CUDA_ERROR_UNSUPPORTED_LIMIT:
  // devices do not have the limit. CUDA_ERROR_INVALID_VALUE: there is no such
  // limit, the stack of a thread would have more than 512 KiB (as on a GPU), or
  // the size of the heap cannot change because the heap is in use.
  CUresult GetLimit(CUlimit limit, size_t* value) const;
  CUresult SetLimit(CUlimit limit, size_t value);

 private:
  // Makes a stream and adds it to streams_. Drops idle streams to which only
  // streams_ refers.
  std::shared_ptr<Stream> AddStreamLocked(Stream::Kind kind, unsigned flags,
                                          int priority)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns a copy of streams_, for use without the lock.
  std::vector<std::shared_ptr<Stream>> Streams();

  Device& device_;
  const uint64_t id_;
  const CUcontext handle_;
  std::atomic<unsigned> flags_;
  std::atomic<CUfunc_cache> cache_config_{CU_FUNC_CACHE_PREFER_NONE};
  std::atomic<bool> alive_{true};

  mutable Mutex mutex_;
  std::shared_ptr<Stream> legacy_ ABSL_GUARDED_BY(mutex_);
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread_
      ABSL_GUARDED_BY(mutex_);
  // All streams that may have work, default streams included. AddStreamLocked
  // drops idle streams to which nothing else refers.
  std::vector<std::shared_ptr<Stream>> streams_ ABSL_GUARDED_BY(mutex_);
  std::map<CUlimit, size_t> limits_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> peers_ ABSL_GUARDED_BY(mutex_);  // ids of contexts
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_CONTEXT_H_
