// SPDX-License-Identifier: Apache-2.0
#include "server/collections/collection_suspension.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "core/base/unique_fd.h"
#include "server/account/account.h"
#include "server/sharing/shared_chunk.h"

namespace holdfast::collections {
namespace {

// How long a version may be on its way, which holds up all others: by its
// bytes, and assuming less than any disk in use.
constexpr absl::Duration kMoveLimit = absl::Minutes(30);
constexpr absl::Duration kMoveBase = absl::Seconds(30);
constexpr uint64_t kMovedBytesPerSecond = uint64_t{20} << 20;
// How long an executor may take to start, and how often a move that waits for
// that looks whether it is still wanted.
constexpr absl::Duration kTakeTime = absl::Minutes(1);
constexpr absl::Duration kTakeSlice = absl::Seconds(1);
// One that dies as it copies, killed by an operator or for want of memory, says
// little of the next.
constexpr int kAttempts = 2;

std::string Describe(const CollectionVersion& version) {
  return absl::StrCat("version ", version.number, " of collection \"",
                      ToPrintable(version.contents.name()), "\"");
}

uint64_t BytesOf(const CollectionTable::Move& move) {
  uint64_t bytes = 0;
  for (const SharedChunk* chunk : move.chunks) bytes += chunk->size();
  return bytes;
}

// Device memory for a chunk.
struct Memory {
  MemoryGrants::Detached charge;
  UniqueFd descriptor;  // closed before the charge is returned
};

// Charges everything to whose version it is.
absl::StatusOr<std::vector<Memory>> ChargeMemory(
    const MemoryLedger& ledger, const CollectionTable::Move& move) {
  std::vector<Memory> memory;
  for (const SharedChunk* chunk : move.chunks) {
    HOLDFAST_ASSIGN_OR_RETURN(
        memory.emplace_back().charge.of_all,
        ledger.OnDevice(chunk->device(), move.version->client)
            ->Take(chunk->size()));
  }
  return memory;
}

// Copies the chunks of one move, by the executor of the device that was asked
// for last: a version's buffers are on one device as a rule.
class Copiers {
 public:
  Copiers(const CollectionSuspension::Take& take,
          const CollectionSuspension::Cancelled& given_up, uint64_t bytes)
      : take_(take),
        given_up_(given_up),
        deadline_(absl::Now() +
                  std::min(kMoveLimit,
                           kMoveBase +
                               absl::Seconds(bytes / kMovedBytesPerSecond))) {}

  absl::Status Save(SharedChunk& chunk, int file) {
    HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd memory,
                              chunk.Open(v1::RIGHTS_READ));
    return Copy(chunk, file, [&](auto& copier, const auto& copy) {
      return copier.SaveChunk(copy, memory.get());
    });
  }

  absl::StatusOr<UniqueFd> Load(const SharedChunk& chunk) {
    UniqueFd memory;
    HOLDFAST_RETURN_IF_ERROR(
        Copy(chunk, chunk.saved_descriptor(),
             [&](auto& copier, const auto& copy) -> absl::Status {
               HOLDFAST_ASSIGN_OR_RETURN(memory, copier.LoadChunk(copy));
               return CheckChunkDescriptor(memory.get(), chunk.size());
             }));
    return memory;
  }

 private:
  using CopyCall =
      absl::FunctionRef<absl::Status(ChunkCopier&, const ChunkCopy&)>;

  // Has an executor copy; another one if the first has ended.
  absl::Status Copy(const SharedChunk& chunk, int file, CopyCall call) {
    const ChunkCopy copy = {.device = chunk.device(),
                            .size = chunk.size(),
                            .file = file,
                            .deadline = deadline_,
                            .cancelled = given_up_};
    for (int attempt = 1;; ++attempt) {
      HOLDFAST_RETURN_IF_ERROR(Prepare(chunk.device()));
      const absl::Status copied = call(*copier_, copy);
      if (copied.ok()) return copied;
      copier_ = nullptr;
      if (!absl::IsUnavailable(copied) || attempt == kAttempts || given_up_()) {
        return copied;
      }
      LogWarning("memory of a collection is copied again: ", copied.message());
    }
  }

  absl::Status Prepare(uint32_t device) {
    if (given_up_()) return GivenUp();
    if (copier_ != nullptr && device_ == device) return absl::OkStatus();
    copier_ = nullptr;
    HOLDFAST_ASSIGN_OR_RETURN(copier_, Take(device));
    device_ = device;
    return absl::OkStatus();
  }

  // In slices: what takes one cannot be interrupted.
  absl::StatusOr<std::unique_ptr<ChunkCopier>> Take(uint32_t device) {
    const absl::Time end =
        SteadyNow() + std::min(deadline_ - absl::Now(), kTakeTime);
    while (true) {
      const absl::Duration left = end - SteadyNow();
      auto taken = take_(device, absl::Now() + std::min(left, kTakeSlice));
      if (!absl::IsDeadlineExceeded(taken.status()) || SteadyNow() >= end) {
        return taken;
      }
      if (given_up_()) return GivenUp();
    }
  }

  static absl::Status GivenUp() {
    return absl::CancelledError("the copy was given up");
  }

  const CollectionSuspension::Take& take_;
  const CollectionSuspension::Cancelled& given_up_;
  const absl::Time deadline_;
  uint32_t device_ = 0;
  std::unique_ptr<ChunkCopier> copier_;
};

}  // namespace

CollectionSuspension::CollectionSuspension(CollectionTable& table,
                                           const MemoryLedger& ledger,
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

absl::StatusOr<CollectionSuspension::Moved> CollectionSuspension::Suspend(
    const CollectionTable::Viewer& viewer, const std::string& name,
    uint64_t version, bool on_disk, const Cancelled& cancelled) {
  const Cancelled given_up = OrStopping(cancelled);
  // Before anybody has to wait, and again when it is its turn.
  HOLDFAST_RETURN_IF_ERROR(table_.CheckSuspension(viewer, name, version));
  HOLDFAST_RETURN_IF_ERROR(on_disk ? CheckDirectory() : absl::OkStatus());
  HOLDFAST_ASSIGN_OR_RETURN(const auto place, turns_.AddCall(viewer.client));
  HOLDFAST_RETURN_IF_ERROR(turns_.Await(*place, given_up));
  HOLDFAST_ASSIGN_OR_RETURN(const CollectionTable::Move move,
                            table_.BeginSuspension(viewer, name, version));
  return Save(move, on_disk, given_up);
}

absl::StatusOr<CollectionSuspension::Moved> CollectionSuspension::Resume(
    const CollectionTable::Viewer& viewer, const std::string& name,
    uint64_t version, const Cancelled& cancelled) {
  const Cancelled given_up = OrStopping(cancelled);
  HOLDFAST_RETURN_IF_ERROR(table_.CheckResumption(viewer, name, version));
  HOLDFAST_ASSIGN_OR_RETURN(const auto place, turns_.AddCall(viewer.client));
  HOLDFAST_RETURN_IF_ERROR(turns_.Await(*place, given_up));
  HOLDFAST_ASSIGN_OR_RETURN(const CollectionTable::Move move,
                            table_.BeginResumption(viewer, name, version));
  return Load(move, given_up);
}

absl::Status CollectionSuspension::ResumeOpened(const Waiting& waiting) {
  const Cancelled given_up = OrStopping(waiting.cancelled);
  HOLDFAST_RETURN_IF_ERROR(turns_.Await(*waiting.place, given_up));
  if (!table_.NeedsResume(*waiting.opened)) return absl::OkStatus();
  return Load(table_.BeginResumption(*waiting.opened), given_up).status();
}

void CollectionSuspension::ResumeFor(
    std::shared_ptr<const OpenVersion> opened, Cancelled cancelled,
    std::function<void(const absl::Status&)> done) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back({turns_.AddReader(), std::move(opened),
                      std::move(cancelled), std::move(done)});
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
    next.place = nullptr;
    if (!next.cancelled()) next.done(resumed);
  }
}

absl::StatusOr<CollectionSuspension::Moved> CollectionSuspension::Save(
    const CollectionTable::Move& move, bool on_disk,
    const Cancelled& given_up) {
  const absl::Time began = SteadyNow();
  const CollectionVersion& version = *move.version;
  auto saved = SaveChunks(move, on_disk, given_up);
  if (!saved.ok()) {
    table_.CancelMove(move);
    return WithPrefix(absl::StrCat(Describe(version),
                                   " was not suspended and stays on its "
                                   "device"),
                      saved.status());
  }
  HOLDFAST_RETURN_IF_ERROR(table_.FinishSuspension(move, &*saved));
  const uint64_t bytes = BytesOf(move);
  LogInfo(Describe(version), " of ", version.client, " suspended, ", bytes,
          " bytes of device memory in ",
          on_disk ? options_.directory : "host memory", ", in ",
          absl::FormatDuration(SteadyNow() - began));
  return Moved{version.number, bytes};
}

// Nothing of it enters the store before all is copied.
absl::StatusOr<CollectionTable::Places> CollectionSuspension::SaveChunks(
    const CollectionTable::Move& move, bool on_disk,
    const Cancelled& given_up) {
  CollectionTable::Places places;
  if (move.chunks.empty()) return places;
  HOLDFAST_ASSIGN_OR_RETURN(const Charge block,
                            ledger_.host()->Take(Account::kImageBlockBytes));
  Copiers copiers(options_.take, given_up, BytesOf(move));
  std::vector<std::unique_ptr<const SuspendedMemory>> saved;
  for (SharedChunk* const chunk : move.chunks) {
    HOLDFAST_ASSIGN_OR_RETURN(saved.emplace_back(),
                              MakeRoom(*move.version, chunk->size(), on_disk));
    HOLDFAST_RETURN_IF_ERROR(copiers.Save(*chunk, saved.back()->descriptor()));
  }
  for (size_t i = 0; i < saved.size(); ++i) {
    places.push_back(move.chunks[i]->InFile(std::move(saved[i])));
  }
  return places;
}

absl::Status CollectionSuspension::CheckDirectory() const {
  if (!options_.directory.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the daemon was started without --suspend-directory: collections can be "
      "suspended to host memory");
}

absl::StatusOr<std::unique_ptr<const SuspendedMemory>>
CollectionSuspension::MakeRoom(const CollectionVersion& version, uint64_t bytes,
                               bool on_disk) const {
  if (on_disk) {
    return SuspendedMemory::CreateUnnamed(options_.directory, bytes);
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      MemoryLedger::HostCharge charge,
      ledger_.TakeHost(version.client, version.quota(), bytes));
  return SuspendedMemory::CreateInMemory(bytes, std::move(charge));
}

absl::StatusOr<CollectionSuspension::Moved> CollectionSuspension::Load(
    const CollectionTable::Move& move, const Cancelled& given_up) {
  const absl::Time began = SteadyNow();
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
          " bytes, in ", absl::FormatDuration(SteadyNow() - began));
  return Moved{version.number, bytes};
}

// Everything is charged before anything is copied.
absl::StatusOr<CollectionTable::Places> CollectionSuspension::LoadChunks(
    const CollectionTable::Move& move, const Cancelled& given_up) {
  CollectionTable::Places places;
  if (move.chunks.empty()) return places;
  HOLDFAST_ASSIGN_OR_RETURN(const Charge block,
                            ledger_.host()->Take(Account::kImageBlockBytes));
  HOLDFAST_ASSIGN_OR_RETURN(std::vector<Memory> memory,
                            ChargeMemory(ledger_, move));
  Copiers copiers(options_.take, given_up, BytesOf(move));
  for (size_t i = 0; i < memory.size(); ++i) {
    HOLDFAST_ASSIGN_OR_RETURN(memory[i].descriptor,
                              copiers.Load(*move.chunks[i]));
  }
  for (size_t i = 0; i < memory.size(); ++i) {
    places.push_back(move.chunks[i]->OnDevice(std::move(memory[i].descriptor),
                                              std::move(memory[i].charge)));
  }
  return places;
}

}  // namespace holdfast::collections
