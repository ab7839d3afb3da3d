// SPDX-License-Identifier: Apache-2.0
//
// The common part of streams, events, buffers and modules: a handle that the
// client chooses. A command without an answer makes the resource, and another
// command destroys it.
#ifndef HOLDFAST_CLIENT_CPP_STATE_RESOURCE_H_
#define HOLDFAST_CLIENT_CPP_STATE_RESOURCE_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/handle.h"

namespace holdfast {

struct SessionState;
class WireWriter;

// Owns one handle. Move-only; a moved-from resource is empty (handle 0) and may
// only be assigned to or destroyed. Thread-safe but for moving. If a
// command of another session names this resource, the command fails with
// NOT_FOUND or FAILED_PRECONDITION.
//
// If the creation fails in the daemon, the handle is in error: commands that
// use it fail with the cause, and status() returns the cause once it is known.
class Resource {
 public:
  // Writes the command that makes, or destroys, `handle`, as
  // CommandQueue::Encode does.
  using Create = absl::FunctionRef<void(uint64_t handle, WireWriter&)>;
  using Destroy = void (*)(uint64_t handle, WireWriter&);

  Resource(Resource&& other) noexcept;
  Resource& operator=(Resource&& other) noexcept;
  // Submits the destroying command; does not wait.
  ~Resource();

  // The name of the resource in commands.
  uint64_t handle() const { return handle_; }

  // Returns the error of the creation, if it is known already. The daemon
  // reports only failures: synchronize first to be sure of an OK.
  absl::Status status() const;

  // Shared by all resources of the session.
  const std::shared_ptr<SessionState>& session() const { return session_; }

 protected:
  // Chooses a handle and submits the command that `create` writes. Does not
  // wait. RESOURCE_EXHAUSTED: no handle of this kind is free.
  static absl::StatusOr<Resource> Make(std::shared_ptr<SessionState> session,
                                       HandleKind kind, Create create,
                                       Destroy destroy);
  // Chooses a handle, and submits no command. A node of a graph, for example,
  // makes the resource.
  static absl::StatusOr<Resource> Reserve(std::shared_ptr<SessionState> session,
                                          HandleKind kind, Destroy destroy);
  // Takes over a handle that another client of the session has made; see
  // Session::Attach. FAILED_PRECONDITION: this client has made the handle, or
  // has taken it over before.
  static absl::StatusOr<Resource> Adopt(std::shared_ptr<SessionState> session,
                                        uint64_t handle, Destroy destroy);
  // Destroys the resource now, by the command that `destroy` writes. The
  // resource is empty afterwards. Does nothing if it is empty already.
  void DestroyWith(absl::FunctionRef<void(WireWriter&)> destroy);

 private:
  Resource(std::shared_ptr<SessionState> session, uint64_t handle,
           uint64_t sequence, Destroy destroy);

  std::shared_ptr<SessionState> session_;
  uint64_t handle_ = 0;
  uint64_t sequence_ = 0;  // of the creating command
  Destroy destroy_ = nullptr;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_STATE_RESOURCE_H_
