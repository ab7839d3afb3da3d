// SPDX-License-Identifier: Apache-2.0
#include "server/collections/collection_suspension.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "server/executor/account/account.h"
#include "server/sharing/shared_chunk.h"

namespace holdfast::collections {
namespace {

// How long an executor may take to start.
constexpr absl::Duration kTakeTime = absl::Minutes(1);
// How often a move that waits for its turn looks whether it is still wanted.
constexpr absl::Duration kLookTime = absl::Milliseconds(100);
// One that dies as it copies, killed by an operator or for want of memory, says
// little of the next.
constexpr int kAttempts = 2;

// Of a device, for a chunk.
struct Memory {
  supervisor::MemoryGrants::Detached charge;
  UniqueFd descriptor;  // closed before the charge is returned
};

std::string Describe(const CollectionVersion& version) {
  return absl::StrCat("version ", version.number, " of collection \"",
                      ToPrintable(version.contents.name()), "\"");
}

uint64_t BytesOf(const CollectionTable::Move& move) {
  uint64_t bytes = 0;
  for (const SharedChunk* chunk : move.chunks) bytes += chunk->size();
  return bytes;
}

// The executor of the device that was asked for last: a version's buffers are
// on one device as a rule.
class Copiers {
 public:
  Copiers(const CollectionSuspension::Take& take,
          const CollectionSuspension::Cancelled& given_up)
      : take_(take), given_up_(given_up) {}

  // Has an executor copy; another one if the first has ended.
  absl::Status Copy(
      uint32_t device,
      const std::function<absl::Status(supervisor::ChunkCopier&)>& copy) {
    for (int attempt = 1;; ++attempt) {
      HOLDFAST_RETURN_IF_ERROR(Prepare(device));
      const absl::Status copied = copy(*copier_);
      if (copied.ok()) return copied;
      copier_ = nullptr;
      if (!absl::IsUnavailable(copied) || attempt == kAttempts || given_up_()) {
        return copied;
      }
      LogWarning("memory of a collection is copied again: ", copied.message());
    }
  }

 private:
  absl::Status Prepare(uint32_t device) {
    if (given_up_()) return absl::CancelledError("the copy was given up");
    if (copier_ != nullptr && device_ == device) return absl::OkStatus();
    copier_ = nullptr;
    HOLDFAST_ASSIGN_OR_RETURN(copier_, take_(device, absl::Now() + kTakeTime));
    device_ = device;
    return absl::OkStatus();
  }

  const CollectionSuspension::Take& take_;
  const CollectionSuspension::Cancelled& given_up_;
  uint32_t device_ = 0;
  std::unique_ptr<supervisor::ChunkCopier> copier_;
};

}  // namespace

CollectionSuspension::CollectionSuspension(
    CollectionTable& table, const supervisor::MemoryLedger& ledger,
    Options options)
    : table_(table), ledger_(ledger), options_(std::move(options)) {
  thread_ = std::thread([this] { Run(); });
}

CollectionSuspension::~CollectionSuspension() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

CollectionSuspension::Cancelled CollectionSuspension::OrStopping(
    Cancelled cancelled) const {
  return [this, cancelled = std::move(cancelled)] {
    if (cancelled()) return true;
    absl::MutexLock lock(&mutex_);
    return stopping_;
  };
}

absl::Status CollectionSuspension::BeginTurn(const Cancelled& given_up) {
  const auto free = [this]()
                        ABSL_NO_THREAD_SAFETY_ANALYSIS { return !moving_; };
  while (!given_up()) {
    absl::MutexLock lock(&mutex_);
    if (!mutex_.AwaitWithTimeout(absl::Condition(&free), kLookTime)) continue;
    moving_ = true;
    return absl::OkStatus();
  }
  return absl::CancelledError("the call ended, or the daemon is stopping");
}

void CollectionSuspension::EndTurn() {
  absl::MutexLock lock(&mutex_);
  moving_ = false;
}

absl::StatusOr<CollectionSuspension::Moved> CollectionSuspension::Suspend(
    const CollectionTable::Viewer& viewer, const std::string& name,
    uint64_t version, bool on_disk, const Cancelled& cancelled) {
  const Cancelled given_up = OrStopping(cancelled);
  HOLDFAST_RETURN_IF_ERROR(BeginTurn(given_up));
  const auto over = absl::MakeCleanup([this] { EndTurn(); });
  HOLDFAST_ASSIGN_OR_RETURN(const CollectionTable::Move move,
                            table_.BeginSuspension(viewer, name, version));
  return Save(move, on_disk, given_up);
}

absl::StatusOr<CollectionSuspension::Moved> CollectionSuspension::Resume(
    const CollectionTable::Viewer& viewer, const std::string& name,
    uint64_t version, const Cancelled& cancelled) {
  const Cancelled given_up = OrStopping(cancelled);
  HOLDFAST_RETURN_IF_ERROR(BeginTurn(given_up));
  const auto over = absl::MakeCleanup([this] { EndTurn(); });
  HOLDFAST_ASSIGN_OR_RETURN(const CollectionTable::Move move,
                            table_.BeginResumption(viewer, name, version));
  return Load(move, given_up);
}

absl::Status CollectionSuspension::ResumeOpened(const Waiting& waiting) {
  const Cancelled given_up = OrStopping(waiting.cancelled);
  HOLDFAST_RETURN_IF_ERROR(BeginTurn(given_up));
  const auto over = absl::MakeCleanup([this] { EndTurn(); });
  if (!table_.NeedsResume(*waiting.opened)) return absl::OkStatus();
  return Load(table_.BeginResumption(*waiting.opened), given_up).status();
}

void CollectionSuspension::ResumeFor(
    std::shared_ptr<const OpenVersion> opened, Cancelled cancelled,
    std::function<void(const absl::Status&)> done) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back(
      {std::move(opened), std::move(cancelled), std::move(done)});
}

void CollectionSuspension::Run() {
  const auto due = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return stopping_ || !waiting_.empty();
  };
  while (true) {
    Waiting next;  // Destroyed outside the lock.
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&due));
      if (stopping_) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const absl::Status resumed = ResumeOpened(next);
    if (!next.cancelled()) next.done(resumed);
  }
}

absl::StatusOr<CollectionSuspension::Moved> CollectionSuspension::Save(
    const CollectionTable::Move& move, bool on_disk,
    const Cancelled& given_up) {
  const absl::Time began = absl::Now();
  const CollectionVersion& version = *move.version;
  auto saved = SaveChunks(move, on_disk, given_up);
  if (!saved.ok()) {
    table_.CancelMove(move);
    return WithPrefix(absl::StrCat(Describe(version),
                                   " was not suspended and stays on its "
                                   "device"),
                      saved.status());
  }
  CollectionTable::Places places;
  for (size_t i = 0; i < move.chunks.size(); ++i) {
    places.push_back(move.chunks[i]->InFile(std::move((*saved)[i])));
  }
  HOLDFAST_RETURN_IF_ERROR(table_.FinishSuspension(move, &places));
  const uint64_t bytes = BytesOf(move);
  LogInfo(Describe(version), " of ", version.client, " suspended, ", bytes,
          " bytes of device memory in ",
          on_disk ? options_.directory : "host memory", ", in ",
          absl::FormatDuration(absl::Now() - began));
  return Moved{version.number, bytes};
}

absl::StatusOr<CollectionSuspension::Saved> CollectionSuspension::SaveChunks(
    const CollectionTable::Move& move, bool on_disk,
    const Cancelled& given_up) {
  if (move.chunks.empty()) return Saved();
  HOLDFAST_ASSIGN_OR_RETURN(
      const Charge block,
      ledger_.host()->Take(executor::Account::kImageBlockBytes));
  Copiers copiers(options_.take, given_up);
  Saved saved;
  for (SharedChunk* const chunk : move.chunks) {
    HOLDFAST_ASSIGN_OR_RETURN(auto room, MakeRoom(chunk->size(), on_disk));
    HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd memory,
                              chunk->Open(v1::RIGHTS_READ));
    const supervisor::ChunkCopy copy = {.device = chunk->device(),
                                        .size = chunk->size(),
                                        .file = room->descriptor(),
                                        .cancelled = given_up};
    HOLDFAST_RETURN_IF_ERROR(
        copiers.Copy(chunk->device(), [&](supervisor::ChunkCopier& copier) {
          return copier.SaveChunk(copy, memory.get());
        }));
    saved.push_back(std::move(room));
  }
  return saved;
}

absl::StatusOr<std::unique_ptr<const supervisor::SuspendedMemory>>
CollectionSuspension::MakeRoom(uint64_t bytes, bool on_disk) const {
  if (!on_disk) {
    return supervisor::SuspendedMemory::Create(/*path=*/"", bytes,
                                               *ledger_.host());
  }
  if (!options_.directory.empty()) {
    return supervisor::SuspendedMemory::CreateUnnamed(options_.directory,
                                                      bytes);
  }
  return absl::FailedPreconditionError(
      "the daemon was started without --suspend-directory: collections can be "
      "suspended to host memory");
}

absl::StatusOr<CollectionSuspension::Moved> CollectionSuspension::Load(
    const CollectionTable::Move& move, const Cancelled& given_up) {
  const absl::Time began = absl::Now();
  const CollectionVersion& version = *move.version;
  auto resumed = LoadChunks(move, given_up);
  if (!resumed.ok()) {
    table_.CancelMove(move);
    return WithPrefix(absl::StrCat(Describe(version), " stays suspended"),
                      resumed.status());
  }
  const uint64_t bytes = BytesOf(move);
  table_.FinishResumption(move, &*resumed);
  LogInfo(Describe(version), " of ", version.client, " resumed, ", bytes,
          " bytes, in ", absl::FormatDuration(absl::Now() - began));
  return Moved{version.number, bytes};
}

// Everything is charged before anything is copied.
absl::StatusOr<CollectionTable::Places> CollectionSuspension::LoadChunks(
    const CollectionTable::Move& move, const Cancelled& given_up) {
  CollectionTable::Places places;
  if (move.chunks.empty()) return places;
  HOLDFAST_ASSIGN_OR_RETURN(
      const Charge block,
      ledger_.host()->Take(executor::Account::kImageBlockBytes));
  std::vector<Memory> memory;
  for (const SharedChunk* chunk : move.chunks) {
    HOLDFAST_ASSIGN_OR_RETURN(
        memory.emplace_back().charge.of_all,
        ledger_.OnDevice(chunk->device(), move.version->client)
            ->Take(chunk->size()));
  }
  Copiers copiers(options_.take, given_up);
  for (size_t i = 0; i < move.chunks.size(); ++i) {
    const SharedChunk& chunk = *move.chunks[i];
    const supervisor::ChunkCopy copy = {.device = chunk.device(),
                                        .size = chunk.size(),
                                        .file = chunk.saved_descriptor(),
                                        .cancelled = given_up};
    UniqueFd& descriptor = memory[i].descriptor;
    HOLDFAST_RETURN_IF_ERROR(copiers.Copy(
        chunk.device(), [&](supervisor::ChunkCopier& copier) -> absl::Status {
          HOLDFAST_ASSIGN_OR_RETURN(descriptor, copier.LoadChunk(copy));
          return CheckChunkDescriptor(descriptor.get(), chunk.size());
        }));
  }
  for (size_t i = 0; i < move.chunks.size(); ++i) {
    places.push_back(move.chunks[i]->OnDevice(std::move(memory[i].descriptor),
                                              std::move(memory[i].charge)));
  }
  return places;
}

}  // namespace holdfast::collections
