// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_BUFFER_H_
#define HOLDFAST_CLIENT_CPP_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cpp/sharing/export.h"
#include "client/cpp/state/resource.h"
#include "client/cpp/stream.h"

namespace holdfast {

namespace v1 {
class ImportResource;
}  // namespace v1

class ArenaSpan;

// How a buffer on a device can be shared with other sessions or processes.
enum class Sharing {
  kNone,    // this session alone
  kExport,  // Buffer::Export; the size is rounded up to 2 MiB
  kIpc,     // Buffer::IpcHandle; a fault of the session loses it
};

// Memory of a device, pinned memory of the daemon's host, or a part of either.
// Made by Device::Allocate, Session::AllocateHost, Buffer::Sub and
// Module::GetGlobal. Offsets and sizes are in bytes. A range beyond the end is
// refused at once, with OUT_OF_RANGE.
//
// Every operation is work of a stream. All operations but Download and large
// Uploads return before the work is done; the next call that waits reports
// their failures.
class Buffer : public Resource {
 public:
  // Allocates `size` bytes of a device; `device` < 0: pinned memory of the
  // host. `stream` may be null; see Device::Allocate. INVALID_ARGUMENT: the
  // name is not UTF-8, or has more than 256 bytes. RESOURCE_EXHAUSTED: no
  // handle is free. If the daemon has no memory, the next call that waits
  // reports it.
  static absl::StatusOr<Buffer> Allocate(std::shared_ptr<SessionState> session,
                                         int device, uint64_t size,
                                         const Stream* stream,
                                         Sharing sharing = Sharing::kNone,
                                         absl::string_view name = "");
  // Takes over a buffer that another client of the session has made. The
  // returned object owns the buffer and frees it. REQUIRES: Session::Buffers
  // has listed the buffer. FAILED_PRECONDITION: this client has made the
  // buffer, or has taken it over before.
  static absl::StatusOr<Buffer> Adopt(std::shared_ptr<SessionState> session,
                                      uint64_t handle, uint64_t size);
  // Imports memory of another session for a device of this session; `token` is
  // from that session's Export. Waits for the size. The memory lives as long as
  // this buffer, even if the exporting session ends.
  static absl::StatusOr<Buffer> Import(std::shared_ptr<SessionState> session,
                                       uint32_t device,
                                       absl::string_view token);
  // Opens the buffers of a collection's version for reading. `sizes` has the
  // size of each buffer. Waits.
  static absl::StatusOr<std::vector<Buffer>> OpenCollection(
      const std::shared_ptr<SessionState>& session, uint32_t device,
      const std::string& name, uint64_t version,
      absl::Span<const uint64_t> sizes);
  // Returns a variable of a module. Waits for the size. `owner` keeps the
  // module loaded as long as the buffer lives. NOT_FOUND: the module has no
  // such variable.
  static absl::StatusOr<Buffer> OfGlobal(const Resource& module,
                                         std::shared_ptr<const void> owner,
                                         const std::string& name,
                                         uint32_t device);

  // Reserves addresses of a device without memory, at `address` if these are
  // free, else anywhere; 0: anywhere. `size` is a multiple of 2 MiB. MapAt maps
  // memory there; until then, work that uses the addresses fails. address()
  // fails if the daemon could not reserve them.
  static absl::StatusOr<Buffer> ReserveAddresses(
      std::shared_ptr<SessionState> session, uint32_t device, uint64_t size,
      uint64_t address = 0);

  // Returns a buffer for memory that a node of a graph will allocate
  // (AllocationNode). The buffer must live until the graph is created.
  static absl::StatusOr<Buffer> OfGraph(std::shared_ptr<SessionState> session,
                                        uint64_t size);

  // Imports `size` bytes at `offset` of memory of a process outside Holdfast,
  // by a descriptor from cuMemExportToShareableHandle. Waits. Session and
  // process can both read and write the memory; the memory lives until both
  // have released it. FAILED_PRECONDITION: the daemon is not on this machine.
  static absl::StatusOr<Buffer> ImportDescriptor(
      std::shared_ptr<SessionState> session, uint32_t device, int fd,
      uint64_t offset, uint64_t size);

  // Imports an allocation in a memory pool of such a process: `fd` is from
  // cuMemPoolExportToShareableHandle, `data` has the 64 bytes of
  // cuMemPoolExportPointer. Waits. A fault of this session loses the memory.
  static absl::StatusOr<Buffer> ImportPool(
      std::shared_ptr<SessionState> session, uint32_t device, int fd,
      absl::string_view data, uint64_t size);

  // The requested size.
  uint64_t size() const { return size_; }
  // Fails with OUT_OF_RANGE if the buffer does not have these bytes.
  absl::Status CheckRange(uint64_t offset, uint64_t size) const;

  // Returns the address of the first byte in kernels of the session, for use in
  // structs, in tables in device memory and in 64-bit arguments. Accesses
  // through it are not checked. The first call waits for the daemon; the
  // address is then cached, and stays the same over faults, upgrades and
  // suspensions. The address of a module's variable may change in a suspension,
  // so it is never cached. NOT_FOUND: the buffer is memory of a graph that is
  // not created yet.
  absl::StatusOr<uint64_t> address() const;

  // Maps the first `size` bytes of `memory`, made by Device::AllocateShared or
  // Device::Import, at `offset` of these reserved addresses. Size and offset
  // are multiples of 2 MiB. The mapping lives as long as the returned buffer,
  // and keeps the memory. REQUIRES: no work uses the mapping when that buffer
  // is destroyed. Does not wait; the next call that waits reports an error of
  // the daemon.
  absl::StatusOr<Buffer> MapAt(uint64_t offset, const Buffer& memory,
                               uint64_t size, bool read_only = false) const;

  // Returns a token for other sessions; see ExportResource.
  // FAILED_PRECONDITION: the buffer was not made by Device::AllocateShared, and
  // `options.with_neighbours` is false.
  // Whether importers see writes that streams have not finished at the time of
  // the import is undefined: synchronize first, or share a semaphore.
  absl::StatusOr<std::string> Export(const ExportOptions& options = {}) const {
    return ExportResource(*this, options);
  }

  // Exports the buffer to a process on the daemon's machine that has a CUDA
  // context of its own and no session: see LocalMapping. Waits.
  absl::StatusOr<LocalExport> ExportLocal(
      const ExportOptions& options = {}) const {
    return ExportLocally(*this, options);
  }

  // Exports the buffer by CUDA's older IPC, for libraries that support no other
  // sharing. The memory can be read and written until the buffer is freed or
  // its executor ends; a fault ends the executor. FAILED_PRECONDITION: the
  // buffer was not made by Device::AllocateIpc. Waits.
  absl::StatusOr<IpcExport> IpcHandle() const;

  // Returns a part of this buffer, which does not own the memory: the part is
  // invalid once this buffer is freed.
  absl::StatusOr<Buffer> Sub(uint64_t offset, uint64_t size) const;

  // Copy between buffers, a range or the whole buffer. INVALID_ARGUMENT: no
  // range is given, and the buffers have different sizes. Ranges in one buffer
  // must not overlap.
  absl::Status CopyFrom(const Buffer& source, const Stream& stream) const;
  absl::Status CopyTo(const Buffer& target, const Stream& stream) const {
    return target.CopyFrom(*this, stream);
  }
  absl::Status CopyFrom(const Buffer& source, uint64_t source_offset,
                        uint64_t offset, uint64_t size,
                        const Stream& stream) const;

  // Copy between a span of an arena and the buffer, by the device, without an
  // intermediate copy: the whole span, from `offset` of the buffer on, or a
  // range. Does not wait: do not write (CopyFrom) or read (CopyTo) the span's
  // bytes until the stream has reached the copy. OUT_OF_RANGE, at once: the
  // span has fewer bytes. INVALID_ARGUMENT: the span belongs to another
  // session.
  absl::Status CopyFrom(const ArenaSpan& source, const Stream& stream,
                        uint64_t offset = 0) const;
  absl::Status CopyFrom(const ArenaSpan& source, uint64_t source_offset,
                        uint64_t offset, uint64_t size,
                        const Stream& stream) const;
  absl::Status CopyTo(const ArenaSpan& target, const Stream& stream,
                      uint64_t offset = 0) const;
  absl::Status CopyTo(const ArenaSpan& target, uint64_t target_offset,
                      uint64_t offset, uint64_t size,
                      const Stream& stream) const;

  // Fill the whole buffer or a range with a pattern of 1, 2 or 4 bytes.
  template <typename T>
  requires(std::is_trivially_copyable_v<T> &&
           (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4)) absl::Status
      Fill(T pattern, const Stream& stream)
  const { return Fill(pattern, 0, size_, stream); }
  template <typename T>
  requires(std::is_trivially_copyable_v<T> &&
           (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4)) absl::Status
      Fill(T pattern, uint64_t offset, uint64_t size, const Stream& stream)
  const { return FillBytes(&pattern, sizeof pattern, offset, size, stream); }

  // Copies ordinary memory to the buffer. The memory may be reused when the
  // call returns. Large uploads wait until the bytes are in the buffer.
  // FAILED_PRECONDITION: the stream captures; copy from an arena instead.
  absl::Status Upload(const void* data, uint64_t size, const Stream& stream,
                      uint64_t offset = 0) const;
  // Copies all elements of a C++ range to the beginning of the buffer.
  template <std::ranges::contiguous_range Range>
  absl::Status Upload(const Range& range, const Stream& stream) const {
    return Upload(std::ranges::data(range), SizeOf(range), stream);
  }

  // Copies the buffer to ordinary memory. Waits, and reports failures as
  // Stream::Synchronize does: OK means that the bytes are valid.
  // FAILED_PRECONDITION: the stream captures.
  absl::Status Download(void* data, uint64_t size, const Stream& stream,
                        uint64_t offset = 0) const;
  template <std::ranges::contiguous_range Range>
  absl::Status Download(Range& range, const Stream& stream) const {
    return Download(std::ranges::data(range), SizeOf(range), stream);
  }

  // Frees the memory after all present work of `stream`. The destructor does
  // the same with the stream of the allocation, or with all streams if there is
  // none. While the stream captures, adds a node that frees memory which a node
  // of the same capture allocated; this object then keeps its handle.
  void Free(const Stream& stream);

 private:
  Buffer(Resource resource, uint64_t size,
         std::shared_ptr<const void> owner = nullptr)
      : Resource(std::move(resource)), size_(size), owner_(std::move(owner)) {}

  // Blocks until the daemon has mapped the memory that `source` names.
  static absl::StatusOr<Buffer> ImportFrom(
      std::shared_ptr<SessionState> session, v1::ImportResource source);
  template <typename Range>
  static uint64_t SizeOf(const Range& range) {
    static_assert(
        std::is_trivially_copyable_v<std::ranges::range_value_t<Range>>,
        "a buffer has bytes: elements must be trivially copyable");
    return std::ranges::size(range) * sizeof(*std::ranges::data(range));
  }
  // REQUIRES: pattern_size is 1, 2 or 4.
  absl::Status FillBytes(const void* pattern, size_t pattern_size,
                         uint64_t offset, uint64_t size,
                         const Stream& stream) const;

  // The cached address; 0: not known yet. Moves with the buffer. Any thread may
  // set it.
  struct KnownAddress {
    KnownAddress() = default;
    KnownAddress(KnownAddress&& other) noexcept : value(other.value.load()) {}
    KnownAddress& operator=(KnownAddress&& other) noexcept {
      value = other.value.load();
      return *this;
    }
    std::atomic<uint64_t> value{0};
  };

  uint64_t size_;
  // Keeps the module loaded, if the buffer is a module's variable.
  std::shared_ptr<const void> owner_;
  // The buffer is a module's variable, or a part of one.
  bool is_variable_ = false;
  mutable KnownAddress address_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_BUFFER_H_
