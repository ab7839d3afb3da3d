// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/state/resource.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "client/cpp/connection/forked_process.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// A graph of many nodes takes as long to end as to make, and its nodes end with
// the last of the graph and its instances. The executor does that while this
// process makes the next one.
bool TakesLongToEnd(uint64_t handle) {
  const HandleKind kind = Handle::Unpack(handle).kind;
  return kind == HandleKind::kGraph || kind == HandleKind::kGraphExec;
}

}  // namespace

absl::StatusOr<Resource> Resource::Make(std::shared_ptr<SessionState> session,
                                        HandleKind kind, Create create,
                                        Destroy destroy) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t handle,
                            session->handles.Allocate(kind));
  absl::StatusOr<uint64_t> sequence = session->queue.SubmitCreation(
      [&](WireWriter& writer) { create(handle, writer); });
  if (!sequence.ok()) {
    session->handles.Free(handle);
    return sequence.status();
  }
  Resource resource(std::move(session), handle, *sequence, destroy);
  HOLDFAST_RETURN_IF_ERROR(resource.session_->queue.Settle());
  return resource;
}

absl::StatusOr<Resource> Resource::Reserve(
    std::shared_ptr<SessionState> session, HandleKind kind, Destroy destroy) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t handle,
                            session->handles.Allocate(kind));
  return Resource(std::move(session), handle, /*sequence=*/0, destroy);
}

absl::StatusOr<Resource> Resource::Adopt(std::shared_ptr<SessionState> session,
                                         uint64_t handle, Destroy destroy) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  if (!session->handles.Adopt(handle)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "handle 0x%016x is this client's own already, and is not taken over",
        handle));
  }
  return Resource(std::move(session), handle, /*sequence=*/0, destroy);
}

Resource::Resource(std::shared_ptr<SessionState> session, uint64_t handle,
                   uint64_t sequence, Destroy destroy)
    : session_(std::move(session)),
      handle_(handle),
      sequence_(sequence),
      destroy_(destroy) {}

Resource::Resource(Resource&& other) noexcept
    : session_(std::move(other.session_)),
      handle_(std::exchange(other.handle_, 0)),
      sequence_(other.sequence_),
      destroy_(other.destroy_) {}

Resource& Resource::operator=(Resource&& other) noexcept {
  Resource old(std::move(other));
  std::swap(session_, old.session_);
  std::swap(handle_, old.handle_);
  std::swap(sequence_, old.sequence_);
  std::swap(destroy_, old.destroy_);
  return *this;
}

Resource::~Resource() {
  if (handle_ == 0) return;
  DestroyWith([this](WireWriter& writer) { destroy_(handle_, writer); });
}

void Resource::DestroyWith(absl::FunctionRef<void(WireWriter&)> destroy) {
  if (handle_ == 0) return;
  if (IsForked()) {
    handle_ = 0;
    return;
  }
  session_->queue.SubmitDestruction(destroy, sequence_,
                                    /*send=*/TakesLongToEnd(handle_));
  session_->handles.Free(std::exchange(handle_, 0));
}

absl::Status Resource::status() const {
  return session_->queue.FailureOf(sequence_);
}

}  // namespace holdfast
