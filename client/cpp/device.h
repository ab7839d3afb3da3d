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
#include "client/cpp/sharing/semaphore.h"
#include "client/cpp/stream.h"

namespace holdfast {

namespace v1 {
class PeerAccess;
enum DeviceLimit : int;
}  // namespace v1

// A device, as one session sees it. A value; made by Session::device.
// Daemon::DescribeDevice tells its attributes.
//
// The functions that make something return at once, but for those that are said
// to wait: what the daemon refuses is told by the next call that waits, and by
// the resource's status().
//
//   const Device device = session->device(0);
//   HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
//   HOLDFAST_ASSIGN_OR_RETURN(const Buffer x, device.Allocate(n, stream));
class Device {
 public:
  Device(std::shared_ptr<SessionState> session, uint32_t ordinal)
      : session_(std::move(session)), ordinal_(ordinal) {}

  // As the session counts its devices.
  uint32_t ordinal() const { return ordinal_; }
  // Kept alive by the device; not to be used by programs.
  const std::shared_ptr<SessionState>& session() const { return session_; }

  // Can kernels of this device be given access to the peer's memory? Waits.
  absl::StatusOr<bool> CanAccessPeer(const Device& peer) const;
  // All that is known of the two. Waits.
  absl::StatusOr<v1::PeerAccess> QueryPeerAccess(const Device& peer) const;
  // Kernels of this device may use the peer's memory from now on, or launches
  // with it fail. The other direction is another matter; copies need neither.
  // Neither waits. An error comes from the next call that waits.
  absl::Status EnablePeerAccess(const Device& peer) const;
  absl::Status DisablePeerAccess(const Device& peer) const;

  // Wrong options are refused by the daemon, whose error comes later.
  absl::StatusOr<Stream> CreateStream(const StreamOptions& options = {}) const {
    return Stream::Create(session_, ordinal_, options);
  }
  absl::StatusOr<Event> CreateEvent(const EventOptions& options = {}) const {
    return Event::Create(session_, ordinal_, options);
  }
  // Events of another session and of another process; see Event::Import and
  // Event::ImportIpcHandle.
  absl::StatusOr<Event> ImportEvent(absl::string_view token) const {
    return Event::Import(session_, ordinal_, token);
  }
  absl::StatusOr<Event> ImportIpcEvent(absl::string_view handle) const {
    return Event::ImportIpcHandle(session_, ordinal_, handle);
  }

  // Memory of this device, aligned to 512 bytes, with undefined content. With a
  // stream it can be used there at once, on others after they have waited for
  // it, and is freed in the stream's order.
  absl::StatusOr<Buffer> Allocate(uint64_t size) const {
    return Buffer::Allocate(session_, static_cast<int>(ordinal_), size,
                            nullptr);
  }
  absl::StatusOr<Buffer> Allocate(uint64_t size, const Stream& stream) const {
    return Buffer::Allocate(session_, static_cast<int>(ordinal_), size,
                            &stream);
  }

  // The same with a name, for whoever takes the session up later
  // (Session::Attach): UTF-8, at most 256 bytes.
  absl::StatusOr<Buffer> AllocateNamed(absl::string_view name, uint64_t size,
                                       const Stream& stream) const {
    return Buffer::Allocate(session_, static_cast<int>(ordinal_), size, &stream,
                            Sharing::kNone, name);
  }

  // Memory that Buffer::Export can share. It has chunks of its own, a whole
  // number of 2 MiB.
  absl::StatusOr<Buffer> AllocateShared(uint64_t size) const {
    return Buffer::Allocate(session_, static_cast<int>(ordinal_), size, nullptr,
                            Sharing::kExport);
  }
  // Memory that has an IPC handle; see Buffer::IpcHandle.
  absl::StatusOr<Buffer> AllocateIpc(uint64_t size) const {
    return Buffer::Allocate(session_, static_cast<int>(ordinal_), size, nullptr,
                            Sharing::kIpc);
  }
  // Memory that another session has exported. Waits.
  absl::StatusOr<Buffer> Import(absl::string_view token) const {
    return Buffer::Import(session_, ordinal_, token);
  }
  // The memory of a collection's version: Collection::Open is how to get it.
  absl::StatusOr<std::vector<Buffer>> OpenCollection(
      const std::string& name, uint64_t version,
      absl::Span<const uint64_t> sizes) const {
    return Buffer::OpenCollection(session_, ordinal_, name, version, sizes);
  }

  // Memory of a process outside Holdfast; see Buffer::ImportDescriptor. Waits.
  absl::StatusOr<Buffer> ImportDescriptor(int fd, uint64_t offset,
                                          uint64_t size) const {
    return Buffer::ImportDescriptor(session_, ordinal_, fd, offset, size);
  }

  // The same of a memory pool; see Buffer::ImportPool. Waits.
  absl::StatusOr<Buffer> ImportPool(int fd, absl::string_view data,
                                    uint64_t size) const {
    return Buffer::ImportPool(session_, ordinal_, fd, data, size);
  }

  // Addresses without memory; see Buffer::ReserveAddresses.
  absl::StatusOr<Buffer> ReserveAddresses(uint64_t size,
                                          uint64_t address = 0) const {
    return Buffer::ReserveAddresses(session_, ordinal_, size, address);
  }

  // Limits of what kernels use besides buffers: cuCtxSetLimit. Setting does not
  // wait; an error comes from the next call that waits. Reading waits.
  absl::Status SetLimit(v1::DeviceLimit limit, uint64_t value) const;
  absl::StatusOr<uint64_t> GetLimit(v1::DeviceLimit limit) const;

  // A counter that streams of several sessions signal and wait for.
  // `initial_value` is there before any stream has come to it.
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
