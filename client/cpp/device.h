// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_DEVICE_H_
#define HOLDFAST_CLIENT_CPP_DEVICE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/buffer.h"
#include "client/cpp/event.h"
#include "client/cpp/semaphore.h"
#include "client/cpp/stream.h"

namespace holdfast {

namespace v1 {
class PeerAccess;
enum DeviceLimit : int;
}  // namespace v1

// A device of a session. A value type; made by Session::device.
// Daemon::DescribeDevice returns its attributes.
//
// Functions that make a resource return at once unless documented to wait. The
// next call that waits, and the resource's status(), report an error of the
// daemon.
//
//   const Device device = session->device(0);
//   HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
//   HOLDFAST_ASSIGN_OR_RETURN(const Buffer x, device.Allocate(n, stream));
class Device {
 public:
  Device(std::shared_ptr<SessionState> session, uint32_t ordinal)
      : session_(std::move(session)), ordinal_(ordinal) {}

  // The device's ordinal in the session.
  uint32_t ordinal() const { return ordinal_; }
  // Kept alive by the device; not to be used by programs.
  const std::shared_ptr<SessionState>& session() const { return session_; }

  // Returns true if kernels of this device can get access to the peer's memory.
  // Waits.
  absl::StatusOr<bool> CanAccessPeer(const Device& peer) const;
  // Returns the driver's information about access between the two devices.
  // Waits.
  absl::StatusOr<v1::PeerAccess> QueryPeerAccess(const Device& peer) const;
  // Enable or disable the use of the peer's memory by kernels of this device.
  // Without access, a launch with that memory fails. The other direction is
  // independent, and copies need no access. Do not wait; the next call that
  // waits reports an error.
  absl::Status EnablePeerAccess(const Device& peer) const;
  absl::Status DisablePeerAccess(const Device& peer) const;

  // Make a stream or an event. The daemon checks the options; the next call
  // that waits reports its error.
  absl::StatusOr<Stream> CreateStream(const StreamOptions& options = {}) const {
    return Stream::Create(session_, ordinal_, options);
  }
  absl::StatusOr<Event> CreateEvent(const EventOptions& options = {}) const {
    return Event::Create(session_, ordinal_, options);
  }
  // Imports an event of another session; see Event::Import.
  absl::StatusOr<Event> ImportEvent(absl::string_view token) const {
    return Event::Import(session_, ordinal_, token);
  }

  // Allocates memory of this device, aligned to 512 bytes, with undefined
  // content. With a stream, the memory can be used there at once, and on other
  // streams after they have waited for this stream; it is freed in the stream's
  // order.
  absl::StatusOr<Buffer> Allocate(uint64_t size) const {
    return Buffer::Allocate(session_, static_cast<int>(ordinal_), size,
                            nullptr);
  }
  absl::StatusOr<Buffer> Allocate(uint64_t size, const Stream& stream) const {
    return Buffer::Allocate(session_, static_cast<int>(ordinal_), size,
                            &stream);
  }

  // Allocates memory with a name, by which a later client of the session finds
  // it (Session::Attach). The name is UTF-8, at most 256 bytes.
  absl::StatusOr<Buffer> AllocateNamed(absl::string_view name, uint64_t size,
                                       const Stream& stream) const {
    return Buffer::Allocate(session_, static_cast<int>(ordinal_), size, &stream,
                            Sharing::kNone, name);
  }

  // Allocates memory that Buffer::Export can share. Its size is rounded up to a
  // multiple of 2 MiB.
  absl::StatusOr<Buffer> AllocateShared(uint64_t size) const {
    return Buffer::Allocate(session_, static_cast<int>(ordinal_), size, nullptr,
                            Sharing::kExport);
  }
  // Allocates memory with an IPC handle; see Buffer::IpcHandle.
  absl::StatusOr<Buffer> AllocateIpc(uint64_t size) const {
    return Buffer::Allocate(session_, static_cast<int>(ordinal_), size, nullptr,
                            Sharing::kIpc);
  }
  // Imports memory that another session has exported. Waits.
  absl::StatusOr<Buffer> Import(absl::string_view token) const {
    return Buffer::Import(session_, ordinal_, token);
  }
  // Opens the memory of a collection's version. Used by Collection::Open.
  absl::StatusOr<std::vector<Buffer>> OpenCollection(
      const std::string& name, uint64_t version,
      absl::Span<const uint64_t> sizes) const {
    return Buffer::OpenCollection(session_, ordinal_, name, version, sizes);
  }

  // Imports memory of a process outside Holdfast; see Buffer::ImportDescriptor.
  // Waits.
  absl::StatusOr<Buffer> ImportDescriptor(int fd, uint64_t offset,
                                          uint64_t size) const {
    return Buffer::ImportDescriptor(session_, ordinal_, fd, offset, size);
  }

  // Imports memory of a memory pool; see Buffer::ImportPool. Waits.
  absl::StatusOr<Buffer> ImportPool(int fd, absl::string_view data,
                                    uint64_t size) const {
    return Buffer::ImportPool(session_, ordinal_, fd, data, size);
  }

  // Reserves addresses without memory: see Buffer::ReserveAddresses.
  absl::StatusOr<Buffer> ReserveAddresses(uint64_t size,
                                          uint64_t address = 0) const {
    return Buffer::ReserveAddresses(session_, ordinal_, size, address);
  }

  // Set or read a limit of cuCtxSetLimit, such as the stack of a thread, the
  // printf buffer and the heap, in the unit that v1::DeviceLimit names.
  // SetLimit does not wait; the next call that waits reports an error. GetLimit
  // waits.
  absl::Status SetLimit(v1::DeviceLimit limit, uint64_t value) const;
  absl::StatusOr<uint64_t> GetLimit(v1::DeviceLimit limit) const;

  // Makes a counter that streams of several sessions signal and wait for. The
  // counter has `initial_value` before any stream uses it.
  absl::StatusOr<Semaphore> CreateSemaphore(uint64_t initial_value = 0) const {
    return Semaphore::Create(session_, ordinal_, initial_value);
  }
  absl::StatusOr<Semaphore> ImportSemaphore(absl::string_view token) const {
    return Semaphore::Import(session_, ordinal_, token);
  }

 private:
  std::shared_ptr<SessionState> session_;
  uint32_t ordinal_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_DEVICE_H_
