// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/served_session.h"

#include <fcntl.h>

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "server/holdings/assigned_devices.h"
#include "server/journal/journal_reader.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::supervisor {
namespace {

absl::Status NoSession() {
  return absl::FailedPreconditionError("the executor has no session");
}

}  // namespace

void ServedSession::Inherit(std::unique_ptr<SessionHoldings> holdings) {
  absl::MutexLock lock(&mutex_);
  holdings_ = std::move(holdings);
}

std::unique_ptr<SessionHoldings> ServedSession::Take() {
  absl::MutexLock lock(&mutex_);
  return std::move(holdings_);
}

absl::StatusOr<bool> ServedSession::Begin(const SessionStart& start,
                                          Channel& channel) {
  absl::MutexLock lock(&mutex_);
  owner_ = start.tenant->code_owner();
  devices_ = DevicesOf(start.assign);
  const bool restores = holdings_ != nullptr;
  if (restores) {
    HOLDFAST_RETURN_IF_ERROR(holdings_->BeginRestore(start.assign.epoch()));
  } else {
    holdings_ = std::make_unique<SessionHoldings>(services_);
    HOLDFAST_RETURN_IF_ERROR(holdings_->Open(start.assign, start.tenant));
  }
  HOLDFAST_RETURN_IF_ERROR(holdings_->SendTo(channel));
  return restores;
}

void ServedSession::EndRestore(bool whole) {
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr) return;
  if (whole || !holdings_->suspension().suspended()) holdings_->EndRestore();
}

void ServedSession::NoteIdle() {
  absl::MutexLock lock(&mutex_);
  if (holdings_ != nullptr) holdings_->NoteIdle();
}

void ServedSession::NoteBusy() {
  absl::MutexLock lock(&mutex_);
  if (holdings_ != nullptr) holdings_->NoteBusy();
}

absl::Status ServedSession::CheckMayQuiesce(bool memory_stays) const {
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr) return NoSession();
  return memory_stays ? absl::OkStatus() : holdings_->memory().CheckAlone();
}

absl::StatusOr<HeldSuspension::Room> ServedSession::PrepareSuspension(
    const std::string& path) {
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr) return NoSession();
  return holdings_->suspension().Prepare(path);
}

void ServedSession::CancelSuspension() {
  absl::MutexLock lock(&mutex_);
  if (holdings_ != nullptr) holdings_->suspension().Drop();
}

std::string ServedSession::owner() const {
  absl::MutexLock lock(&mutex_);
  return owner_;
}

std::vector<uint32_t> ServedSession::devices() const {
  absl::MutexLock lock(&mutex_);
  return devices_;
}

UniqueFd ServedSession::DuplicateJournal() const {
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr) return UniqueFd();
  return UniqueFd(fcntl(holdings_->journal(), F_DUPFD_CLOEXEC, 0));
}

absl::StatusOr<uint64_t> ServedSession::ReceivedThrough() const {
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr) {
    return absl::UnavailableError("the executor has no session");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const journal::Progress progress,
                            journal::ReadProgress(holdings_->journal()));
  return progress.received;
}

void ServedSession::Report(internal::Usage* usage) const {
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr) return;
  holdings_->grants().ReportReserved(
      usage->mutable_usage()->mutable_reserved_bytes());
  holdings_->memory().Report(usage->mutable_usage());
}

absl::Status ServedSession::CheckOwn(uint32_t device) const {
  if (devices_.empty() || absl::c_linear_search(devices_, device)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("it wants memory of device ", device,
                   ", and its session is on ", absl::StrJoin(devices_, ", ")));
}

absl::Status ServedSession::HoldChunk(const internal::ChunkCreated& created,
                                      UniqueFd fd) {
  if (!fd.valid() || !services_.ledger.HasDevice(created.device())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it made a chunk on device ", created.device(),
        fd.valid() ? ", which does not exist" : " without a descriptor"));
  }
  absl::MutexLock lock(&mutex_);
  HOLDFAST_RETURN_IF_ERROR(CheckOwn(created.device()));
  if (holdings_ == nullptr) return absl::OkStatus();
  return holdings_->memory().Hold(created, std::move(fd));
}

absl::Status ServedSession::Note(const internal::FromExecutor& report,
                                 UniqueFd fd) {
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr) return absl::OkStatus();
  if (report.has_chunk_released()) {
    holdings_->ReleaseChunk(report.chunk_released().chunk());
  }
  if (report.has_import_released()) {
    holdings_->ReleaseImport(report.import_released().import());
  }
  if (report.has_host_memory_created()) {
    const internal::HostMemoryCreated& arena = report.host_memory_created();
    return holdings_->arenas().Hold(arena.handle(), arena.size(),
                                    std::move(fd));
  }
  if (report.has_host_memory_released()) {
    holdings_->ReleaseArena(report.host_memory_released().handle());
  }
  if (report.has_release()) {
    return holdings_->grants().Release(report.release().place(),
                                       report.release().bytes());
  }
  return absl::OkStatus();
}

absl::Status ServedSession::HoldVariables(UniqueFd variables) {
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr || !variables.valid()) return absl::OkStatus();
  return holdings_->variables().Hold(std::move(variables));
}

absl::Status ServedSession::Reserve(const internal::Reserve& reserve,
                                    absl::Status* granted) {
  absl::MutexLock lock(&mutex_);
  const internal::MemoryPlace& place = reserve.place();
  if (place.has_device()) HOLDFAST_RETURN_IF_ERROR(CheckOwn(place.device()));
  *granted =
      holdings_ == nullptr
          ? absl::FailedPreconditionError("no session to reserve memory for")
          : holdings_->grants().Reserve(place, reserve.bytes());
  return absl::OkStatus();
}

std::shared_ptr<const StoredObject> ServedSession::FindObject(
    const std::string& sha256) {
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr) return nullptr;
  return holdings_->objects().Find(sha256).value_or(nullptr);
}

std::shared_ptr<const collections::OpenVersion> ServedSession::OpenFor(
    const internal::SharingRequest& request) const {
  absl::MutexLock lock(&mutex_);
  return holdings_ == nullptr ? nullptr
                              : holdings_->memory().imports().OpenFor(request);
}

SessionMemory::Answer ServedSession::Ask(
    const internal::SharingRequest& request, int fd) {
  absl::MutexLock lock(&mutex_);
  if (holdings_ != nullptr) return holdings_->memory().Ask(request, fd);
  SessionMemory::Answer refusal;
  *refusal.reply.mutable_error() =
      ToError(absl::FailedPreconditionError("no session to share for"));
  return refusal;
}

}  // namespace holdfast::supervisor
