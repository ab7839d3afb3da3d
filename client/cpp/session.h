// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_SESSION_H_
#define HOLDFAST_CLIENT_CPP_SESSION_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/cpp/arena.h"
#include "client/cpp/buffer.h"
#include "client/cpp/daemon.h"
#include "client/cpp/device.h"
#include "client/cpp/fence.h"
#include "client/cpp/module.h"
#include "client/cpp/object_code.h"

namespace holdfast {

class KeepAlive;

struct SessionOptions {
  // See address.h; empty means DefaultAddress().
  std::string address;
  // A label for people, shown by `holdfast sessions`; at most 128 bytes.
  std::string name;
  // How long the session outlives a broken connection; at most an hour.
  absl::Duration reconnect_grace;
  // Ordinals that the session may use; empty: all.
  std::vector<uint32_t> devices;
  // The same in words, instead: an ordinal, a UUID or the beginning of one
  // ("GPU-b1f6"), or "most-free" (memory).
  std::vector<std::string> device_choices;
  // Bytes of device memory in buffers, over all devices, as asked for; 0: the
  // daemon's own limit.
  uint64_t memory_limit = 0;
  // A kernel, or a launch of a graph, that runs longer is a fault that names
  // it; 0: the daemon's own limit, if it has one, which also holds if it is
  // less. Waiting in a stream is not running.
  absl::Duration kernel_time_limit;
  // A fault costs the session no resource: it goes on in another executor, with
  // the same handles and the same bytes in device memory (fault.h). If false,
  // it is lost.
  bool recover = true;
  // Calls at once, each on a connection of its own, that carry the bytes of one
  // large copy; 0: as many as are useful.
  uint32_t transfer_calls = 0;
  // Takes what kernels print (printf), in pieces that need not end with a line.
  // A kernel's output comes before a wait for it returns. Called by one
  // thread at a time, but by any that waits for results, so it must not call
  // the session. Null: it goes to standard output, as CUDA has it.
  std::function<void(absl::string_view text)> kernel_output;
};

// A session owns resources on the daemon: streams, events, buffers, modules. It
// has an executor process of its own there, and ends with this object, or with
// the process. Thread-safe.
//
//   auto session = Session::Open({.address = "embedded:"});
//   Device device = (*session)->device(0);
//
// Commands are asynchronous and need no answer: an operation that returns OK
// was submitted. A failure is reported by the next call that waits
// (Synchronize, Wait, Download), with the sequence number of the command; the
// commands that used what it should have made, fail with the same cause.
//
// When the executor dies, of a kernel's illegal address, say, the session goes
// on in another one. Unfinished commands are dropped; one call,
// the first that would depend on it, returns ABORTED with the report (FaultOf
// in fault.h). Until then nothing runs that is submitted, and after that the
// session is as before, all handles valid. Once the session or the daemon is
// lost, every call returns UNAVAILABLE with the reason.
class Session {
 public:
  // UNAVAILABLE: no daemon there, or it has no executor; RESOURCE_EXHAUSTED:
  // too many sessions.
  static absl::StatusOr<std::unique_ptr<Session>> Open(
      const SessionOptions& options = {});
  // On a daemon that is connected already; `options.address` is not used.
  static absl::StatusOr<std::unique_ptr<Session>> Open(
      std::shared_ptr<Daemon> daemon, const SessionOptions& options);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Closes the session. Work that is not finished is dropped: synchronize
  // first. Resources that are left are of no more use.
  ~Session();

  // Returns when the executor is gone and all memory is free.
  absl::Status Close();

  // For resources that are made by functions of their own.
  const std::shared_ptr<SessionState>& state() const { return state_; }

  // "s-7"
  const std::string& id() const { return id_; }
  Daemon& daemon() const { return *daemon_; }
  const std::shared_ptr<Daemon>& shared_daemon() const { return daemon_; }
  // Authenticates calls of this session: 32 hexadecimal digits. A secret.
  const std::string& token() const;

  // Those that the session may use, in the order that was asked for.
  const std::vector<uint32_t>& devices() const { return devices_; }
  // There is no check here: using a device that does not exist fails.
  Device device(uint32_t ordinal) const { return Device(state_, ordinal); }

  // Pinned memory of the daemon's host.
  absl::StatusOr<Buffer> AllocateHost(uint64_t size) const;

  // Memory of this process that devices copy from and to directly: arena.h.
  absl::StatusOr<std::shared_ptr<Arena>> CreateArena(
      uint64_t size, const ArenaOptions& options = {}) const;

  // Makes compiled code usable: on every device.
  absl::StatusOr<Module> Load(const ObjectCode& object) const;

  // A token that this session's Export made cannot be redeemed any more; what
  // was imported stays. Waits.
  absl::Status RevokeExport(absl::string_view token) const {
    return holdfast::RevokeExport(*state_, token);
  }

  // A place to wait for: until all commands so far were processed, and the work
  // of these streams is done.
  absl::StatusOr<holdfast::Fence> Fence(
      std::initializer_list<const Stream*> streams = {}) const;
  // Waits for all streams. Reports failures as Stream::Synchronize does.
  // FAILED_PRECONDITION while a stream captures.
  absl::Status Synchronize() const;

 private:
  Session(std::shared_ptr<Daemon> daemon, std::string id,
          std::vector<uint32_t> devices, std::shared_ptr<SessionState> state);

  const std::shared_ptr<Daemon> daemon_;
  const std::string id_;
  const std::vector<uint32_t> devices_;
  const std::shared_ptr<SessionState> state_;
  std::unique_ptr<KeepAlive> keep_alive_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SESSION_H_
