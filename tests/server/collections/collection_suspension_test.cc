// SPDX-License-Identifier: Apache-2.0
//
// When a version's memory may leave its device, and what becomes of it when
// something fails. The device is a memfd for each chunk; executors are threads'
// calls that copy between files.
#include "server/collections/collection_suspension.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/internal/restart.pb.h"
#include "server/account/account.h"
#include "server/account/quota.h"
#include "server/kept/descriptor_store.h"
#include "server/memory/chunk_copier.h"
#include "server/memory/device_memory.h"
#include "server/memory/memory_ledger.h"
#include "server/sharing/shared_chunk.h"

namespace holdfast::collections {
namespace {

using Moved = CollectionSuspension::Moved;

const char kAnna[] = "uid 1";
constexpr uint64_t kChunk = 1 << 16;           // bytes
constexpr uint64_t kDevice = 4 * kChunk;       // bytes
constexpr uint64_t kHost = uint64_t{8} << 20;  // bytes; a copy's block included

std::string ReadAll(int fd) {
  std::string bytes(kChunk, '\0');
  EXPECT_EQ(pread(fd, bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(kChunk));
  return bytes;
}

void WriteAll(int fd, const std::string& bytes) {
  EXPECT_EQ(pwrite(fd, bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
}

UniqueFd MakeDeviceMemory(const std::string& bytes) {
  UniqueFd memory = *CreateFixedMemfd("device", kChunk);
  WriteAll(memory.get(), bytes);
  return memory;
}

// Executors, of which some die before they copy.
struct FakeExecutors {
  std::atomic<int> taken = 0;
  std::atomic<int> dying = 0;         // that die, of those that are asked next
  std::function<void()> before_copy;  // may be null
  std::atomic<bool> stand = false;    // as they copy, until that is given up
  std::atomic<bool> start = true;     // none is ready in time otherwise
  std::vector<absl::Time> deadlines;  // of copies
};

class FakeCopier final : public ChunkCopier {
 public:
  explicit FakeCopier(FakeExecutors& executors) : executors_(executors) {}

  absl::Status SaveChunk(const ChunkCopy& copy, int chunk) override {
    const absl::Status begun = Begin(copy);
    if (begun.ok()) WriteAll(copy.file, ReadAll(chunk));
    return begun;
  }
  absl::StatusOr<UniqueFd> LoadChunk(const ChunkCopy& copy) override {
    const absl::Status begun = Begin(copy);
    if (!begun.ok()) return begun;
    return MakeDeviceMemory(ReadAll(copy.file));
  }

 private:
  absl::Status Begin(const ChunkCopy& copy) {
    executors_.deadlines.push_back(copy.deadline);
    if (executors_.before_copy) executors_.before_copy();
    while (executors_.stand && !copy.cancelled()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    if (copy.cancelled()) return absl::CancelledError("it was given up");
    if (executors_.dying == 0) return absl::OkStatus();
    --executors_.dying;
    return absl::UnavailableError("the executor was killed");
  }

  FakeExecutors& executors_;
};

class CollectionSuspensionTest : public ::testing::Test {
 protected:
  CollectionSuspensionTest() {
    internal::Ready ready;
    ready.add_devices()->set_total_memory(kDevice);
    ledger_.AddDevices(ready);
    table_.KeepIn(&store_);
  }

  std::shared_ptr<SharedChunk> MakeChunk(char byte) {
    const uint64_t number = ++chunks_;
    const KeptName name = {"chunk", {1, number, 0, number << 32, kChunk}};
    UniqueFd memory = MakeDeviceMemory(std::string(kChunk, byte));
    auto kept = store_.Keep(name, memory.get());
    MemoryGrants::Detached charge;
    charge.of_all = *ledger_.OnDevice(0, kAnna)->Take(kChunk);
    device_.NoteTaken(0, kChunk);
    return std::make_shared<SharedChunk>(SharedChunk::Options{
        .descriptor = std::move(memory),
        .kept = std::move(kept),
        .store = &store_,
        .name = name,
        .device = 0,
        .size = kChunk,
        .charge = std::move(charge),
        .saved = nullptr,
        .owner_ended = std::make_shared<std::atomic<bool>>(true),
        .memory = &device_});
  }
  static SharedResource BufferOf(std::shared_ptr<SharedChunk> chunk) {
    SharedResource buffer;
    buffer.kind = v1::HANDLE_KIND_BUFFER;
    buffer.chunk = std::move(chunk);
    buffer.maker = 1;
    buffer.size = kChunk;
    buffer.rights = v1::RIGHTS_READ;
    return buffer;
  }
  // A version of these chunks, of which all stay.
  void Commit(const std::vector<std::shared_ptr<SharedChunk>>& chunks,
              CollectionTable::Terms terms = {}) {
    v1::CommitCollection contents;
    contents.set_name("model");
    std::vector<SharedResource> buffers;
    for (const auto& chunk : chunks) buffers.push_back(BufferOf(chunk));
    ASSERT_TRUE(table_
                    .Commit(kAnna, "s-1", std::move(contents),
                            std::move(buffers), std::move(terms))
                    .ok());
    v1::ConfigureCollectionRequest all;
    all.set_name("model");
    all.set_keep(0);
    ASSERT_EQ(table_.Configure({kAnna}, all), absl::OkStatus());
  }
  absl::StatusOr<Moved> Suspend(uint64_t version) {
    return suspension_->Suspend({kAnna}, "model", version, /*on_disk=*/false,
                                [this] { return cancelled_.load(); });
  }
  absl::StatusOr<Moved> Resume(uint64_t version) {
    return suspension_->Resume({kAnna}, "model", version,
                               [this] { return cancelled_.load(); });
  }
  std::shared_ptr<const OpenVersion> Open(uint64_t version) {
    return *table_.Open(kAnna, "s-2", "model", version);
  }
  // As a session's executor asks for it.
  absl::Status ResumeFor(std::shared_ptr<const OpenVersion> opened) {
    absl::Status resumed;
    absl::Notification done;
    suspension_->ResumeFor(
        std::move(opened), [] { return false; },
        [&](const absl::Status& status) {
          resumed = status;
          done.Notify();
        });
    done.WaitForNotification();
    return resumed;
  }
  v1::VersionInfo Info(uint64_t version) {
    const auto list = table_.List({kAnna});
    for (const v1::VersionInfo& info : list.collections(0).versions()) {
      if (info.version() == version) return info;
    }
    return {};
  }
  bool IsSuspended(uint64_t version) {
    return Info(version).state() == v1::VersionInfo::STATE_SUSPENDED;
  }
  bool IsResident(uint64_t version) {
    return Info(version).state() == v1::VersionInfo::STATE_RESIDENT &&
           Info(version).suspended_bytes() == 0;
  }
  uint64_t DeviceUsed() { return ledger_.devices().at(0).used; }
  // The bytes that a reader of the buffer finds.
  static std::string Bytes(const OpenVersion& opened, size_t buffer) {
    auto memory = opened.version().buffers[buffer].chunk->Open(v1::RIGHTS_READ);
    return memory.ok() ? ReadAll(memory->get()) : "";
  }
  std::set<std::string> Kept() {
    std::set<std::string> kinds;
    for (const KeptDescriptor& kept : store_.CopyAll()) {
      kinds.insert(kept.name.kind);
    }
    return kinds;
  }

  DeviceMemory device_;
  DescriptorStore store_;
  MemoryLedger ledger_{kHost, /*shares=*/nullptr, /*divide_host=*/true};
  FakeExecutors executors_;
  std::atomic<bool> cancelled_ = false;
  uint64_t chunks_ = 0;
  CollectionTable table_;
  std::unique_ptr<CollectionSuspension> suspension_ =
      std::make_unique<CollectionSuspension>(
          table_, ledger_,
          CollectionSuspension::Options{
              .take = [this](uint32_t,
                             absl::Time deadline) { return Take(deadline); },
              .directory = ""});

 private:
  absl::StatusOr<std::unique_ptr<ChunkCopier>> Take(absl::Time deadline) {
    EXPECT_LE(deadline, absl::Now() + absl::Seconds(1));
    ++executors_.taken;
    if (executors_.start) return std::make_unique<FakeCopier>(executors_);
    cancelled_ = true;
    return absl::DeadlineExceededError("none is ready");
  }
};

TEST_F(CollectionSuspensionTest, ItLeavesItsDeviceAndComesBackAsItWas) {
  Commit({MakeChunk('a'), MakeChunk('b')});
  EXPECT_TRUE(IsResident(1));
  const auto suspended = Suspend(0);
  ASSERT_EQ(suspended.status(), absl::OkStatus());
  EXPECT_EQ(suspended->version, 1u);
  EXPECT_EQ(suspended->bytes, 2 * kChunk);
  EXPECT_TRUE(IsSuspended(1));
  EXPECT_EQ(Info(1).suspended_bytes(), 2 * kChunk);
  EXPECT_EQ(DeviceUsed(), 0u);
  EXPECT_EQ(ledger_.host()->used(), 2 * kChunk);
  EXPECT_EQ(Kept(), (std::set<std::string>{"collection", "saved", "version"}));
  EXPECT_TRUE(absl::IsFailedPrecondition(Suspend(1).status()));

  const auto resumed = Resume(1);
  ASSERT_EQ(resumed.status(), absl::OkStatus());
  EXPECT_EQ(resumed->bytes, 2 * kChunk);
  EXPECT_TRUE(IsResident(1));
  EXPECT_EQ(DeviceUsed(), 2 * kChunk);
  EXPECT_EQ(ledger_.host()->used(), 0u);
  // Not the session's again, which pays for it no more.
  EXPECT_EQ(Kept(), (std::set<std::string>{"collection", "owned", "version"}));
  EXPECT_EQ(Bytes(*Open(1), 0), std::string(kChunk, 'a'));
  EXPECT_EQ(Bytes(*Open(1), 1), std::string(kChunk, 'b'));
  EXPECT_TRUE(absl::IsFailedPrecondition(Resume(1).status()));
  ASSERT_TRUE(Suspend(1).ok());
  EXPECT_EQ(Kept(), (std::set<std::string>{"collection", "saved", "version"}));
}

TEST_F(CollectionSuspensionTest, AReaderWaitsForIt) {
  Commit({MakeChunk('a')});
  ASSERT_TRUE(Suspend(1).ok());
  const auto opened = Open(1);
  EXPECT_TRUE(table_.NeedsResume(*opened));
  EXPECT_EQ(Bytes(*opened, 0), "");
  EXPECT_EQ(ResumeFor(opened), absl::OkStatus());
  EXPECT_FALSE(table_.NeedsResume(*opened));
  EXPECT_EQ(Bytes(*opened, 0), std::string(kChunk, 'a'));
  // The second one finds it there.
  EXPECT_EQ(ResumeFor(Open(1)), absl::OkStatus());
  EXPECT_EQ(executors_.taken, 2);
}

TEST_F(CollectionSuspensionTest, OneThatIsMappedIsRefused) {
  std::shared_ptr<SharedChunk> chunk = MakeChunk('a');
  Commit({chunk});
  absl::Status refused = Suspend(1).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "s-1")) << refused;
  chunk = nullptr;
  auto one = Open(1);
  auto other = table_.Open(kAnna, "s-3", "model", 1);
  refused = Suspend(1).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "2 readers, s-2, s-3"))
      << refused;
  EXPECT_EQ(executors_.taken, 0);
  one = nullptr;
  other = absl::UnknownError("");
  EXPECT_TRUE(Suspend(1).ok());
}

TEST_F(CollectionSuspensionTest, AChunkStaysWhileAVersionOnTheDeviceHasIt) {
  {
    const auto common = MakeChunk('a');
    Commit({common});
    Commit({common, MakeChunk('b')});
  }
  const auto first = Suspend(1);
  ASSERT_EQ(first.status(), absl::OkStatus());
  EXPECT_EQ(first->bytes, 0u);
  EXPECT_TRUE(IsSuspended(1));
  EXPECT_EQ(DeviceUsed(), 2 * kChunk);
  const auto second = Suspend(2);
  ASSERT_EQ(second.status(), absl::OkStatus());
  EXPECT_EQ(second->bytes, 2 * kChunk);
  EXPECT_EQ(DeviceUsed(), 0u);

  // The older one needs only what it has.
  const auto opened = Open(1);
  ASSERT_EQ(ResumeFor(opened), absl::OkStatus());
  EXPECT_EQ(Bytes(*opened, 0), std::string(kChunk, 'a'));
  EXPECT_TRUE(IsSuspended(2));
  EXPECT_EQ(Info(2).suspended_bytes(), kChunk);
  const auto newer = Open(2);
  ASSERT_EQ(ResumeFor(newer), absl::OkStatus());
  EXPECT_EQ(Bytes(*newer, 0), std::string(kChunk, 'a'));
  EXPECT_EQ(Bytes(*newer, 1), std::string(kChunk, 'b'));
}

TEST_F(CollectionSuspensionTest, AReaderThatComesMeanwhileKeepsItThere) {
  Commit({MakeChunk('a')});
  std::shared_ptr<const OpenVersion> opened;
  executors_.before_copy = [&] {
    EXPECT_EQ(Info(1).state(), v1::VersionInfo::STATE_SUSPENDING);
    opened = Open(1);
    EXPECT_FALSE(table_.NeedsResume(*opened));
  };
  EXPECT_TRUE(absl::IsAborted(Suspend(1).status()));
  EXPECT_TRUE(IsResident(1));
  EXPECT_EQ(Bytes(*opened, 0), std::string(kChunk, 'a'));
  EXPECT_EQ(ledger_.host()->used(), 0u);
}

TEST_F(CollectionSuspensionTest, OneThatIsDeletedMeanwhileIsGone) {
  Commit({MakeChunk('a')});
  executors_.before_copy = [&] {
    v1::DeleteCollectionRequest request;
    request.set_name("model");
    EXPECT_TRUE(table_.Delete({kAnna}, request).ok());
  };
  EXPECT_TRUE(absl::IsNotFound(Suspend(1).status()));
  EXPECT_EQ(DeviceUsed(), 0u);
  EXPECT_EQ(ledger_.host()->used(), 0u);
}

TEST_F(CollectionSuspensionTest, AnExecutorThatDiesIsReplacedOnce) {
  Commit({MakeChunk('a'), MakeChunk('b')});
  executors_.dying = 2;
  EXPECT_TRUE(absl::IsUnavailable(Suspend(1).status()));
  EXPECT_TRUE(IsResident(1));
  EXPECT_EQ(ledger_.host()->used(), 0u);
  executors_.dying = 1;
  EXPECT_TRUE(Suspend(1).ok());

  executors_.dying = 2;
  EXPECT_TRUE(absl::IsUnavailable(Resume(1).status()));
  EXPECT_TRUE(IsSuspended(1));
  EXPECT_EQ(DeviceUsed(), 0u);
  executors_.dying = 1;
  const auto opened = Open(1);
  EXPECT_EQ(ResumeFor(opened), absl::OkStatus());
  EXPECT_EQ(Bytes(*opened, 0), std::string(kChunk, 'a'));
  EXPECT_EQ(Bytes(*opened, 1), std::string(kChunk, 'b'));
}

TEST_F(CollectionSuspensionTest, WithoutRoomOnTheDeviceItStaysSuspended) {
  Commit({MakeChunk('a'), MakeChunk('b')});
  ASSERT_TRUE(Suspend(1).ok());
  {
    const auto others = ledger_.OnDevice(0, "uid 2")->Take(kDevice - kChunk);
    ASSERT_TRUE(others.ok());
    const absl::Status refused = ResumeFor(Open(1));
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), "stays suspended"))
        << refused;
    EXPECT_TRUE(IsSuspended(1));
    EXPECT_EQ(DeviceUsed(), kDevice - kChunk);
  }
  const auto opened = Open(1);
  EXPECT_EQ(ResumeFor(opened), absl::OkStatus());
  EXPECT_EQ(Bytes(*opened, 1), std::string(kChunk, 'b'));
}

TEST_F(CollectionSuspensionTest, WithoutHostMemoryOrADirectoryItStays) {
  Commit({MakeChunk('a')});
  {
    const auto others = ledger_.host()->Take(kHost);
    ASSERT_TRUE(others.ok());
    EXPECT_TRUE(absl::IsResourceExhausted(Suspend(1).status()));
  }
  EXPECT_TRUE(IsResident(1));
  const auto on_disk =
      suspension_->Suspend({kAnna}, "model", 1,
                           /*on_disk=*/true, [] { return false; });
  EXPECT_TRUE(absl::IsFailedPrecondition(on_disk.status()));
  EXPECT_TRUE(IsResident(1));
}

TEST_F(CollectionSuspensionTest, AnOwnerWithoutAQuotaLeavesHostMemoryToOthers) {
  const auto quota = Quota::Create({.name = "collections", .unit = "bytes"});
  {
    const auto chunk = MakeChunk('a');
    Commit({chunk},
           {.charges = {*chunk->ChargeOnce(*quota)}, .visibility = {}});
  }
  {
    // As much as the block of a copy leaves free.
    const uint64_t held = (kHost - Account::kImageBlockBytes) / 2;
    const auto pinned = ledger_.TakeHost(kAnna, quota, held);
    ASSERT_TRUE(pinned.ok());
    const absl::Status refused = Suspend(1).status();
    EXPECT_TRUE(absl::StrContains(refused.message(),
                                  "host memory of tenant uid 1, which has no "
                                  "quota"))
        << refused;
    EXPECT_TRUE(IsResident(1));
    EXPECT_EQ(ledger_.host()->used(), held);
    // Memory within a quota is not refused.
    quota->SetLimit(kDevice);
    EXPECT_EQ(Suspend(1).status(), absl::OkStatus());
  }
  // The bytes count for the owner until they are back on the device.
  quota->SetLimit(Quota::kUnlimited);
  EXPECT_FALSE(ledger_.TakeHost(kAnna, quota, kHost - kChunk).ok());
  EXPECT_EQ(Resume(1).status(), absl::OkStatus());
  EXPECT_TRUE(ledger_.TakeHost(kAnna, quota, kHost - kChunk).ok());
}

TEST_F(CollectionSuspensionTest, OneThatNobodyWantsAnyMoreIsGivenUp) {
  Commit({MakeChunk('a'), MakeChunk('b')});
  executors_.before_copy = [this] { cancelled_ = true; };
  EXPECT_TRUE(absl::IsCancelled(Suspend(1).status()));
  EXPECT_TRUE(IsResident(1));
  EXPECT_EQ(ledger_.host()->used(), 0u);
}

TEST_F(CollectionSuspensionTest, OneThatWaitsForAnExecutorIsGivenUpAsWell) {
  Commit({MakeChunk('a')});
  executors_.start = false;
  EXPECT_TRUE(absl::IsCancelled(Suspend(1).status()));
  EXPECT_EQ(executors_.taken, 1);
  EXPECT_TRUE(IsResident(1));
}

TEST_F(CollectionSuspensionTest, AMoveHasOneDeadlineForAllItsChunks) {
  Commit({MakeChunk('a'), MakeChunk('b')});
  ASSERT_TRUE(Suspend(1).ok());
  ASSERT_EQ(executors_.deadlines.size(), 2u);
  EXPECT_EQ(executors_.deadlines[0], executors_.deadlines[1]);
  EXPECT_LT(executors_.deadlines[0], absl::InfiniteFuture());
}

TEST_F(CollectionSuspensionTest, OneThatIsRefusedDoesNotWaitForItsTurn) {
  Commit({MakeChunk('a')});
  Commit({MakeChunk('b')});
  executors_.before_copy = [&] {
    // By the thread whose turn it is, which would wait for itself.
    EXPECT_TRUE(absl::IsNotFound(Suspend(7).status()));
    EXPECT_TRUE(absl::IsFailedPrecondition(Resume(2).status()));
    const auto opened = Open(2);
    EXPECT_TRUE(absl::IsFailedPrecondition(Suspend(2).status()));
  };
  EXPECT_TRUE(Suspend(1).ok());
}

TEST_F(CollectionSuspensionTest, ItsEndGivesUpTheMoveAndWaitsForThat) {
  Commit({MakeChunk('a')});
  absl::Notification copies;
  executors_.before_copy = [&] { copies.Notify(); };
  executors_.stand = true;
  std::thread mover(
      [&] { EXPECT_TRUE(absl::IsCancelled(Suspend(1).status())); });
  copies.WaitForNotification();
  suspension_ = nullptr;
  EXPECT_TRUE(IsResident(1));
  EXPECT_EQ(ledger_.host()->used(), 0u);
  mover.join();
}

TEST_F(CollectionSuspensionTest, ItsEndBringsNothingBackToReaders) {
  Commit({MakeChunk('a')});
  ASSERT_TRUE(Suspend(1).ok());
  absl::Notification copies;
  executors_.before_copy = [&] { copies.Notify(); };
  executors_.stand = true;
  for (int i = 0; i < 2; ++i) {
    suspension_->ResumeFor(
        Open(1), [] { return false; },
        [](const absl::Status& status) {
          EXPECT_TRUE(absl::IsCancelled(status)) << status;
        });
  }
  copies.WaitForNotification();
  suspension_ = nullptr;
  EXPECT_TRUE(IsSuspended(1));
  EXPECT_TRUE(Info(1).readers().empty());
  EXPECT_EQ(DeviceUsed(), 0u);
}

TEST_F(CollectionSuspensionTest, OnlyItsOwnerAndOperatorsMoveIt) {
  Commit({MakeChunk('a')});
  const auto never = [] { return false; };
  EXPECT_TRUE(absl::IsNotFound(
      suspension_->Suspend({"uid 2"}, "model", 1, false, never).status()));
  v1::ConfigureCollectionRequest request;
  request.set_name("model");
  request.mutable_visibility()->set_everybody(true);
  ASSERT_EQ(table_.Configure({kAnna}, request), absl::OkStatus());
  EXPECT_TRUE(absl::IsPermissionDenied(
      suspension_->Suspend({"uid 2"}, "model", 1, false, never).status()));
  ASSERT_TRUE(
      suspension_->Suspend({"uid 2", true}, "model", 1, false, never).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(
      suspension_->Resume({"uid 2"}, "model", 1, never).status()));
  EXPECT_TRUE(suspension_->Resume({"uid 2", true}, "model", 1, never).ok());
}

TEST_F(CollectionSuspensionTest, TheNextDaemonKnowsThatItIsSuspended) {
  Commit({MakeChunk('a')});
  ASSERT_TRUE(Suspend(1).ok());
  internal::VersionRecord version;
  internal::CollectionRecord collection;
  for (const KeptDescriptor& kept : store_.CopyAll()) {
    if (kept.name.kind == "version") {
      ASSERT_EQ(ReadRecord(kept.fd.get(), &version), absl::OkStatus());
    }
    if (kept.name.kind == "collection") {
      ASSERT_EQ(ReadRecord(kept.fd.get(), &collection), absl::OkStatus());
    }
  }
  EXPECT_TRUE(version.suspended());
  CollectionTable next;
  next.Adopt(collection);
  // The record alone says so: a killed daemon may have left both places.
  next.Adopt(version, {BufferOf(MakeChunk('a'))}, {});
  const auto opened = next.Open(kAnna, "s-4", "model", 1);
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(next.NeedsResume(**opened));
}

}  // namespace
}  // namespace holdfast::collections
