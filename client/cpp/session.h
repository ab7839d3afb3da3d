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
#include "client/cpp/buffer.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/device.h"
#include "client/cpp/fence.h"
#include "client/cpp/module.h"
#include "client/cpp/transfer/arena.h"
#include "holdfast/v1/commands.pb.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast {

class KeepAlive;

// The reaction of a session to a fault (fault.h).
enum class RecoveryPolicy {
  // It is lost.
  kNever,
  // It goes on in another executor, with the same handles and the same bytes in
  // device memory.
  kAlways,
  // It keeps its memory, and every call fails with the fault until
  // Session::Recover.
  kAsk,
};

struct SessionOptions {
  // See address.h; empty means DefaultAddress().
  std::string address;
  // A label for people, shown by `holdfast sessions`; at most 128 bytes.
  std::string name;
  // How long the session outlives a broken connection; at most an hour.
  absl::Duration reconnect_grace;
  // How long the session lives on without any client, on purpose: after Detach,
  // or when its client has died. At most the daemon's --detached-session-limit.
  absl::Duration detached_lifetime;
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
  RecoveryPolicy recover = RecoveryPolicy::kAlways;
  // Calls at once, each on a connection of its own, that carry the bytes of one
  // large copy; 0: as many as are useful.
  uint32_t transfer_calls = 0;
  // Takes what kernels print (printf), in pieces that need not end with a line.
  // A kernel's output comes before a wait for it returns. Called by one
  // thread at a time, but by any that waits for results, so it must not call
  // the session. Null: it goes to standard output, as CUDA has it.
  std::function<void(absl::string_view text)> kernel_output;
  // For measuring: takes when the steps of a command's way were taken, in this
  // process and the others on its way, before the result of the command. Called
  // as `kernel_output`. Null: nobody is asked. After a fault, and with a
  // `reconnect_grace` over the network, only this process's own steps come.
  std::function<void(const v1::StepTimes& times)> step_times;
};

// A buffer as Session::Buffers lists it.
struct BufferInfo {
  uint64_t handle = 0;
  std::string name;  // see Device::AllocateNamed
  uint64_t size = 0;
  bool host = false;
  uint32_t device = 0;
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

  // Takes up a session of the same tenant, "s-7", that lives on without a
  // client: its buffers (Buffers, Adopt), and whatever its streams still do,
  // which Synchronize awaits. A fault that nobody has been told of is reported
  // by the first call. Of `options`, those that are about the client hold.
  // NOT_FOUND: there is none; FAILED_PRECONDITION: it has a client, was opened
  // without a detached_lifetime, or is lost.
  static absl::StatusOr<std::unique_ptr<Session>> Attach(
      std::shared_ptr<Daemon> daemon, const std::string& session_id,
      const SessionOptions& options = {});

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Closes the session. Work that is not finished is dropped: synchronize
  // first. Resources that are left are of no more use.
  ~Session();

  // Returns when the executor is gone and all memory is free.
  absl::Status Close();

  // Leaves the session to whoever attaches to it, for its detached_lifetime.
  // Returns when all commands have arrived; their work goes on. A failure that
  // is known by then is returned, and the session is not left. After it this
  // object is as closed, and its resources end nothing.
  // FAILED_PRECONDITION: the session has no detached_lifetime, or its daemon is
  // this object's own (embedded).
  absl::Status Detach();

  // The same without a look at the commands: those that have not arrived are
  // dropped, and no failure is told, as if this process had died. For a client
  // that must not end a session that Detach has failed to leave. A session
  // without a detached_lifetime ends after its reconnect_grace.
  void Leave();

  // All buffers of the session, this client's and those of clients before it.
  // Waits.
  absl::StatusOr<std::vector<BufferInfo>> Buffers() const;
  // Takes over one that Buffers has listed and that another client has made. As
  // any buffer it is freed with the object, unless Detach came before.
  // FAILED_PRECONDITION: it is this client's own, or was taken over before.
  absl::StatusOr<Buffer> Adopt(const BufferInfo& info) const {
    return Buffer::Adopt(state_, info.handle, info.size);
  }

  // With RecoveryPolicy::kAsk: goes on after the fault that a call has
  // reported. Blocks until the session is ready. FAILED_PRECONDITION: there is
  // no fault.
  absl::Status Recover() const;

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
  // The client's end of a session that the daemon has opened, or given away.
  // Commands up to `received_through` were another client's.
  static std::unique_ptr<Session> Start(std::shared_ptr<Daemon> daemon,
                                        const v1::OpenSessionResponse& response,
                                        const SessionOptions& options,
                                        uint64_t received_through);
  // Leaves alone the handles that clients before this one have used.
  absl::Status SkipUsedHandles();

  const std::shared_ptr<Daemon> daemon_;
  const std::string id_;
  const std::vector<uint32_t> devices_;
  const std::shared_ptr<SessionState> state_;
  std::unique_ptr<KeepAlive> keep_alive_;
  bool detachable_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SESSION_H_
