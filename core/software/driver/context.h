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

// The streams and settings of one CUcontext. Resources name their context by
// id; destroying the context frees them (see Driver::EndContext).
// Thread-safe.
class Context : public std::enable_shared_from_this<Context> {
 public:
  // `flags` are CU_CTX_...; the device must outlive the context.
  Context(Device& device, unsigned flags, CUcontext handle);

  Device& device() const { return device_; }
  int ordinal() const;  // of the device
  // Never used twice in a process, unlike addresses.
  uint64_t id() const { return id_; }
  // May change after the context was made, by cuDevicePrimaryCtxSetFlags.
  std::atomic<unsigned>& flags() { return flags_; }
  // A hint, which changes no result.
  std::atomic<CUfunc_cache>& cache_config() { return cache_config_; }
  CUcontext handle() const { return handle_; }

  // False from End on.
  bool alive() const { return alive_; }

  // The legacy default stream; made on first use.
  std::shared_ptr<Stream> legacy_stream();
  // The calling thread's own default stream. Ordered against the legacy stream;
  // made on first use.
  std::shared_ptr<Stream> per_thread_stream();
  // Makes a stream. A priority out of range becomes the nearest valid one.
  std::shared_ptr<Stream> CreateStream(unsigned flags, int priority);

  // Blocks until all work that is enqueued in any stream, also in destroyed
  // streams, is done. The calling thread helps to run the work.
  void Synchronize();
  // The same, except for streams that are held up: they wait for a value in
  // memory, perhaps for ever.
  void DrainUnlessHeldUp();

  // Synchronizes, and releases the streams. Calls that need a living context
  // fail from now on. REQUIRES: the caller holds a reference to the context,
  // because the streams may hold the only other references.
  void End();

  // Adds to `after` the work that, by the default stream's semantics, comes
  // before work that is about to enter `stream`. Work of a blocking stream
  // comes after the legacy stream's work. Work of the legacy stream comes after
  // the work of all blocking streams. Non-blocking streams have no such order.
  void AddImplicitOrder(const Stream& stream, std::vector<Ticket>* after);

  // cuCtxEnablePeerAccess, cuCtxDisablePeerAccess. Return
  // CUDA_ERROR_PEER_ACCESS_... if access was enabled already, or is not
  // enabled.
  CUresult EnablePeer(const Context& peer);
  CUresult DisablePeer(const Context& peer);

  // Get or set CU_LIMIT_.... Return CUDA_ERROR_UNSUPPORTED_LIMIT or
  // CUDA_ERROR_INVALID_VALUE. The stack of a thread has 512 KiB at most, as on
  // a GPU.
  CUresult GetLimit(CUlimit limit, size_t* value) const;
  CUresult SetLimit(CUlimit limit, size_t value);

 private:
  // Makes a stream. Drops idle streams that only streams_ refers to.
  std::shared_ptr<Stream> AddStreamLocked(Stream::Kind kind, unsigned flags,
                                          int priority)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A copy, to be used without the lock.
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
  // All that may have work, the default ones included. A stream that only
  // this list still knows, and that is idle, is dropped.
  std::vector<std::shared_ptr<Stream>> streams_ ABSL_GUARDED_BY(mutex_);
  std::map<CUlimit, size_t> limits_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> peers_ ABSL_GUARDED_BY(mutex_);  // ids of contexts
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_CONTEXT_H_
