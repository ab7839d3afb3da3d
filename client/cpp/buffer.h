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
#include "client/cpp/resource.h"
#include "client/cpp/sharing/export.h"
#include "client/cpp/stream.h"
#include "holdfast/v1/sharing_commands.pb.h"

namespace holdfast {

class ArenaSpan;

// The users, beside this session, that a buffer on a device is made for.
enum class Sharing {
  kNone,    // this session alone
  kExport,  // Buffer::Export: it takes a whole number of 2 MiB of the device
  kIpc,     // Buffer::IpcHandle: it is lost with a fault of the session
};

// Memory of a device, pinned memory of the daemon's host, or a part of either.
// Made by Device::Allocate, Session::AllocateHost, Buffer::Sub and
// Module::GetGlobal. Offsets and sizes are in bytes; a range that reaches
// beyond the end is refused at once, with OUT_OF_RANGE.
//
// Every operation is work of a stream. Those that return before it is done
// (all but Download and large Uploads) report failures as every command does:
// by the next call that waits.
class Buffer : public Resource {
 public:
  // `device` < 0: pinned memory of the host. `stream` may be null.
  // INVALID_ARGUMENT: the name is not UTF-8, or has more than 256 bytes.
  // RESOURCE_EXHAUSTED: no handle is free. A daemon without memory tells so
  // later.
  static absl::StatusOr<Buffer> Allocate(std::shared_ptr<SessionState> session,
                                         int device, uint64_t size,
                                         const Stream* stream,
                                         Sharing sharing = Sharing::kNone,
                                         absl::string_view name = "");
  // A buffer that another client of the session has made. Owns it: it is freed
  // with this object. REQUIRES: Session::Buffers has listed it.
  // FAILED_PRECONDITION: it is this client's own, or was taken over before.
  static absl::StatusOr<Buffer> Adopt(std::shared_ptr<SessionState> session,
                                      uint64_t handle, uint64_t size);
  // Memory of another session, whose Export made the token, for a device of
  // this session. Waits, since only the daemon knows the size. The memory lives
  // as long as this buffer, whatever becomes of its maker.
  static absl::StatusOr<Buffer> Import(std::shared_ptr<SessionState> session,
                                       uint32_t device,
                                       absl::string_view token);
  // The buffers of a collection's version, of these sizes, for reading. Waits.
  static absl::StatusOr<std::vector<Buffer>> OpenCollection(
      const std::shared_ptr<SessionState>& session, uint32_t device,
      const std::string& name, uint64_t version,
      absl::Span<const uint64_t> sizes);
  // A variable of a module, which lives as long as the buffer. Waits, since
  // only the daemon knows the size. `owner` keeps the module. NOT_FOUND: the
  // module has no such variable.
  static absl::StatusOr<Buffer> OfGlobal(const Resource& module,
                                         std::shared_ptr<const void> owner,
                                         const std::string& name,
                                         uint32_t device);

  // Memory that a node of a graph will allocate: until then a name only. Must
  // live until the graph was created.
  static absl::StatusOr<Buffer> OfGraph(std::shared_ptr<SessionState> session,
                                        uint64_t size);

  // Memory of a process outside Holdfast, by a descriptor that
  // cuMemExportToShareableHandle made of it: `size` bytes at `offset`. Waits.
  // The session and the descriptor's maker both read and write it; it lives
  // until both have let go. FAILED_PRECONDITION: the daemon is not on this
  // machine.
  static absl::StatusOr<Buffer> ImportDescriptor(
      std::shared_ptr<SessionState> session, uint32_t device, int fd,
      uint64_t offset, uint64_t size);

  // The same of an allocation in a memory pool of that process: `fd` is of
  // cuMemPoolExportToShareableHandle, `data` the 64 bytes of
  // cuMemPoolExportPointer. The memory is lost with a fault of this session.
  static absl::StatusOr<Buffer> ImportPool(
      std::shared_ptr<SessionState> session, uint32_t device, int fd,
      absl::string_view data, uint64_t size);

  // Bytes, as they were asked for.
  uint64_t size() const { return size_; }
  // OUT_OF_RANGE: the buffer does not have these bytes.
  absl::Status CheckRange(uint64_t offset, uint64_t size) const;

  // The first byte's address as kernels of the session have it: a number to put
  // where CUDA programs put pointers, into structs, tables in device memory or
  // 64-bit arguments. Whether it lies in a buffer is then the kernel's own
  // affair. The first call waits for the daemon's answer; the number is kept,
  // and is the same over faults, upgrades and suspensions. A module's variable
  // may lie elsewhere after a suspension: it is asked for each time. NOT_FOUND:
  // a graph will allocate the buffer, and was not created yet.
  absl::StatusOr<uint64_t> address() const;

  // A token for other sessions; see ExportResource. FAILED_PRECONDITION: the
  // buffer is not of Device::AllocateShared. Importers may or may not see what
  // streams still write at the time of the import: synchronize first, or share
  // a semaphore.
  absl::StatusOr<std::string> Export(const ExportOptions& options = {}) const {
    return ExportResource(*this, options);
  }

  // The same for a process of the daemon's machine that has a CUDA context of
  // its own, and no need of a session: see LocalMapping.
  absl::StatusOr<LocalExport> ExportLocal(
      const ExportOptions& options = {}) const {
    return ExportLocally(*this, options);
  }

  // The same by CUDA's older IPC, for libraries that know nothing else. For
  // reading and writing, until the buffer or its executor ends; a fault ends
  // the executor. FAILED_PRECONDITION: the buffer is not of
  // Device::AllocateIpc. Blocks until the handle is there.
  absl::StatusOr<IpcExport> IpcHandle() const;

  // A part of this buffer. Does not own: it ends with this buffer.
  absl::StatusOr<Buffer> Sub(uint64_t offset, uint64_t size) const;

  // Between buffers; of the same size unless a range is given. Within one
  // buffer the ranges must not overlap. INVALID_ARGUMENT: sizes differ, where
  // no range is given.
  absl::Status CopyFrom(const Buffer& source, const Stream& stream) const;
  absl::Status CopyTo(const Buffer& target, const Stream& stream) const {
    return target.CopyFrom(*this, stream);
  }
  absl::Status CopyFrom(const Buffer& source, uint64_t source_offset,
                        uint64_t offset, uint64_t size,
                        const Stream& stream) const;

  // The whole of a span of an arena to the buffer, and the reverse: as much as
  // the span has, from `offset` of the buffer on; or a range of it. By the
  // device, without another copy. Neither waits: the span's bytes are left as
  // they are, or may be looked at, only when the stream has come to the copy.
  // OUT_OF_RANGE, at once: the span has fewer bytes. INVALID_ARGUMENT: it is of
  // another session.
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

  // Repeats a pattern of 1, 2 or 4 bytes, over the whole buffer or a range.
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

  // Ordinary memory to the buffer. The memory may be used again at once.
  // FAILED_PRECONDITION: the stream captures; copy from an arena instead. Large
  // ones wait until the bytes are in the buffer.
  absl::Status Upload(const void* data, uint64_t size, const Stream& stream,
                      uint64_t offset = 0) const;
  // As many bytes as the range has; the same for Download.
  template <std::ranges::contiguous_range Range>
  absl::Status Upload(const Range& range, const Stream& stream) const {
    return Upload(std::ranges::data(range), SizeOf(range), stream);
  }

  // The buffer to ordinary memory. Waits, and reports as Stream::Synchronize
  // does: OK means that these are the bytes that were meant.
  // FAILED_PRECONDITION: the stream captures.
  absl::Status Download(void* data, uint64_t size, const Stream& stream,
                        uint64_t offset = 0) const;
  template <std::ranges::contiguous_range Range>
  absl::Status Download(Range& range, const Stream& stream) const {
    return Download(std::ranges::data(range), SizeOf(range), stream);
  }

  // Frees when what `stream` was given so far is done. Destroying does so with
  // the stream of the allocation, or without one, with all streams. While the
  // stream captures, adds a node that frees what a node of the same capture
  // allocated; the object keeps its handle.
  void Free(const Stream& stream);

 private:
  Buffer(Resource resource, uint64_t size,
         std::shared_ptr<const void> owner = nullptr)
      : Resource(std::move(resource)), size_(size), owner_(std::move(owner)) {}

  // Blocks until the daemon has mapped what the source names.
  static absl::StatusOr<Buffer> ImportFrom(
      std::shared_ptr<SessionState> session, v1::ImportResource source);
  template <typename Range>
  static uint64_t SizeOf(const Range& range) {
    return std::ranges::size(range) * sizeof(*std::ranges::data(range));
  }
  // REQUIRES: pattern_size is 1, 2 or 4.
  absl::Status FillBytes(const void* pattern, size_t pattern_size,
                         uint64_t offset, uint64_t size,
                         const Stream& stream) const;

  // An address that is known, or 0. Moves with the buffer; any thread sets it.
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
  // Keeps the module of a variable.
  std::shared_ptr<const void> owner_;
  // It is a module's variable, or a part of one.
  bool is_variable_ = false;
  mutable KnownAddress address_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_BUFFER_H_
