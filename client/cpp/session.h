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

namespace holdfast {

namespace v1 {
class OpenSessionResponse;
class StepTimes;
}  // namespace v1

class KeepAlive;

// The reaction of a session to a fault (fault.h).
enum class RecoveryPolicy {
  // The session is lost.
  kNever,
  // The session continues in another executor, with the same handles and the
  // same bytes in device memory.
  kAlways,
  // The session keeps its memory, and every call fails with the fault until
  // Session::Recover.
  kAsk,
};

struct SessionOptions {
  // See address.h; empty means DefaultAddress().
  std::string address = {};
  // A label that `holdfast sessions` shows; at most 128 bytes.
  std::string name = {};
  // How long the session outlives a broken connection; at most an hour.
  absl::Duration reconnect_grace = {};
  // How long the session lives without a client, after Detach or the death of
  // its client. At most the daemon's --detached-session-limit.
  absl::Duration detached_lifetime = {};
  // Ordinals that the session may use; empty: all.
  std::vector<uint32_t> devices = {};
  // Used instead of `devices`. Each choice is an ordinal, a UUID, the beginning
  // of a UUID ("GPU-b1f6"), or "most-free", the device with the most free
  // memory.
  std::vector<std::string> device_choices = {};
  // The most bytes of device buffers, over all devices; 0: the daemon's limit.
  uint64_t memory_limit = 0;
  // A kernel or a launch of a graph that runs longer is a fault, and the report
  // names it. The time of waiting in a stream does not count. The daemon's
  // limit applies if it is less; 0: only the daemon's limit applies.
  absl::Duration kernel_time_limit = {};
  RecoveryPolicy recover = RecoveryPolicy::kAlways;
  // Helps to find the call that fails: each call waits until the work that it
  // has submitted is done, and returns its failure. As with
  // CUDA_LAUNCH_BLOCKING, work that waits for later work never ends.
  // HOLDFAST_BLOCKING=1 does the same.
  bool blocking = false;
  // The number of parallel calls, each on a connection of its own, that carry
  // the bytes of one large copy; 0: chosen by the library.
  uint32_t transfer_calls = 0;
  // Takes the output of kernels (printf and failed assertions), in pieces that
  // need not end with a line, before a wait for the kernel returns. Called by
  // one thread at a time, perhaps another one each time; it must not call the
  // session. Null: printf goes to standard output and failed assertions to
  // standard error, as in CUDA.
  std::function<void(absl::string_view text)> kernel_output = {};
  // For measurements: takes the times of the steps of each command, in this and
  // the daemon's processes, before the command's result. Called like
  // `kernel_output`, by one thread at a time. Null: no times are taken. After a
  // fault, and with a `reconnect_grace` over the network, it gets the steps of
  // this process only.
  std::function<void(const v1::StepTimes& times)> step_times = {};
};

// A buffer as Session::Buffers lists it.
struct BufferInfo {
  uint64_t handle = 0;
  std::string name;  // see Device::AllocateNamed
  uint64_t size = 0;
  bool host = false;
  uint32_t device = 0;
};

// A session owns resources in the daemon: streams, events, buffers, modules. It
// has an executor process of its own there, and ends with this object or with
// the client's process. Thread-safe.
//
//   auto session = Session::Open({.address = "embedded:"});
//   Device device = (*session)->device(0);
//
// Commands are asynchronous and need no answer: an operation that returns OK
// was submitted. A function that is documented to wait blocks the calling
// thread until the daemon has answered. The next call that waits (Synchronize,
// Wait, Download) reports a failure, with the sequence number of the command.
// Commands that use the result of a failed command fail with the same cause.
//
// If the executor dies, for instance of a kernel's illegal address, the session
// continues in another executor. Unfinished commands are dropped. The first
// call that depends on them returns ABORTED with the report (FaultOf in
// fault.h). Commands that were submitted before that call returned do not run;
// after it all handles are valid. Once the session or the daemon is lost, every
// call returns UNAVAILABLE with the reason.
//
// A process that is forked after the first connection to a daemon cannot use
// inherited sessions or open new ones: every call fails with
// FAILED_PRECONDITION, and destroying an object ends nothing in the daemon.
// Fork before the first connection, or call exec() in the child.
class Session {
 public:
  // Opens a session. Blocks until the session is ready. UNAVAILABLE: there is
  // no daemon, or it has no executor. RESOURCE_EXHAUSTED: the daemon has too
  // many sessions, or the system allows no more threads.
  static absl::StatusOr<std::unique_ptr<Session>> Open(
      const SessionOptions& options = {});
  // Opens a session of a daemon that is connected already; `options.address` is
  // not used.
  static absl::StatusOr<std::unique_ptr<Session>> Open(
      std::shared_ptr<Daemon> daemon, const SessionOptions& options);

  // Takes up a session ("s-7") of the same tenant that has no client. The new
  // client can adopt the session's buffers (Buffers, Adopt), and Synchronize
  // waits for the work that still runs on the session's streams. The first call
  // reports a fault that no client has acknowledged. Those of `options` that do
  // not concern the client are ignored. NOT_FOUND: there is no such session.
  // FAILED_PRECONDITION: the session has a client, was opened without a
  // detached_lifetime, or is lost.
  static absl::StatusOr<std::unique_ptr<Session>> Attach(
      std::shared_ptr<Daemon> daemon, const std::string& session_id,
      const SessionOptions& options = {});

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Closes the session as Close does, and ignores an error of the daemon.
  // Unfinished work is dropped: synchronize first. Later calls of the session's
  // resources fail.
  ~Session();

  // Closes the session and drops unfinished work. Blocks until the executor is
  // gone and all memory is free. A kernel that is still running gets 5 s to
  // end; then its process is killed. Does nothing if the session is closed
  // already.
  absl::Status Close();

  // Leaves the session without a client for its detached_lifetime; another
  // client can attach to it. Returns when all commands have arrived; their work
  // continues. If a command has failed by then, returns the failure and does
  // not leave the session. After Detach this object is closed, and the
  // destructors of its resources free nothing in the daemon.
  // FAILED_PRECONDITION: this object is closed, the session has no
  // detached_lifetime, or its daemon is embedded and ends with this process.
  // UNAVAILABLE: the daemon does not answer; the session is not left.
  absl::Status Detach();

  // Leaves the session as Detach does, but drops commands that have not arrived
  // and reports no failure, as if this process had died. Use it if Detach has
  // failed and the session must not end. A session without a detached_lifetime
  // ends after its reconnect_grace.
  void Leave();

  // Returns all buffers of the session, also those of earlier clients. Waits.
  absl::StatusOr<std::vector<BufferInfo>> Buffers() const;
  // Takes over a buffer of an earlier client, as listed by Buffers. The
  // returned object frees the buffer when it is destroyed, unless Detach was
  // called before. FAILED_PRECONDITION: this client has made the buffer, or has
  // taken it over before.
  absl::StatusOr<Buffer> Adopt(const BufferInfo& info) const {
    return Buffer::Adopt(state_, info.handle, info.size);
  }

  // With RecoveryPolicy::kAsk: recovers from the fault that a call has
  // reported. Blocks until the session is ready. FAILED_PRECONDITION: there is
  // no fault.
  absl::Status Recover() const;

  // Used by functions outside this class that make resources.
  const std::shared_ptr<SessionState>& state() const { return state_; }

  // "s-7"
  const std::string& id() const { return id_; }
  Daemon& daemon() const { return *daemon_; }
  const std::shared_ptr<Daemon>& shared_daemon() const { return daemon_; }
  // Authenticates calls of this session: 32 hexadecimal digits. A secret.
  const std::string& token() const;

  // The ordinals of the session's devices, in the order of the request.
  const std::vector<uint32_t>& devices() const { return devices_; }
  // Does not check the ordinal: calls of a device that does not exist fail.
  Device device(uint32_t ordinal) const { return Device(state_, ordinal); }

  // Allocates pinned memory of the daemon's host. Does not wait.
  absl::StatusOr<Buffer> AllocateHost(uint64_t size) const;

  // Makes memory of this process that devices copy from and to directly; see
  // Arena::Create (arena.h).
  absl::StatusOr<std::shared_ptr<Arena>> CreateArena(
      uint64_t size, const ArenaOptions& options = {}) const;

  // Loads compiled code on every device of the session. Does not wait.
  absl::StatusOr<Module> Load(const ObjectCode& object) const;

  // Revokes a token that a resource of this session was exported with: the
  // token cannot be imported any more. Present imports stay. Waits.
  absl::Status RevokeExport(absl::string_view token) const {
    return holdfast::RevokeExport(*state_, token);
  }

  // Returns a fence that is reached when all commands so far are processed, and
  // the present work of these streams is done. Does not wait.
  // FAILED_PRECONDITION: one of the streams captures.
  absl::StatusOr<holdfast::Fence> Fence(
      std::initializer_list<const Stream*> streams = {}) const;
  // Blocks until the work of all streams is done. Reports failures as
  // Stream::Synchronize does. FAILED_PRECONDITION: a stream captures.
  absl::Status Synchronize() const;

 private:
  Session(std::shared_ptr<Daemon> daemon, std::string id,
          std::vector<uint32_t> devices, std::shared_ptr<SessionState> state);
  // Makes the client's end of a session that the daemon has opened or handed
  // over. Earlier clients have submitted the commands up to `received_through`.
  static absl::StatusOr<std::unique_ptr<Session>> Start(
      std::shared_ptr<Daemon> daemon, const v1::OpenSessionResponse& response,
      const SessionOptions& options, uint64_t received_through);
  // Skips the handles that earlier clients have used.
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
