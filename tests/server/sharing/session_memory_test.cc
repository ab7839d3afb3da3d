// SPDX-License-Identifier: Apache-2.0
//
// Executors' messages about shared memory, honest and not: a session exports
// only chunks of its own, and shared memory is charged until its last user is
// gone.
#include "server/sharing/session_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/memfd.h"
#include "holdfast/internal/restart.pb.h"
#include "server/restart/descriptor_store.h"
#include "server/rpc/status_conversion.h"
#include "server/sharing/event_state.h"
#include "server/supervisor/suspended_memory.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using absl::StatusCode;
using holdfast::testing::StatusIs;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSize = 2 * kMiB;

internal::MemoryPlace Device0() {
  internal::MemoryPlace place;
  place.set_device(0);
  return place;
}

UniqueFd Memory(uint64_t size, int seals = F_SEAL_SHRINK) {
  UniqueFd fd = *CreateMemfd("chunk", size);
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

// Outlives all chunks, which may outlive their session.
DescriptorStore kept_by;

// One session as the supervisor sees it.
struct Session {
  Session(supervisor::MemoryLedger& ledger, ExportRegistry& exports,
          collections::CollectionTable& collections,
          supervisor::DeviceMemory& memory, const std::string& id,
          const std::string& tenant)
      : grants(ledger), held({exports, collections, memory, grants, kept_by}) {
    internal::AccountLimits limits;
    limits.set_device_bytes(64 * kMiB);
    grants.Open(limits, 1);
    payer = std::make_shared<Tenant>(Tenant::Options{.name = tenant});
    held.Open(id, payer);
  }

  void Make(uint64_t chunk, UniqueFd fd, uint64_t size = kSize) {
    EXPECT_OK(grants.Reserve(Device0(), size));
    internal::ChunkCreated created;
    created.set_chunk(chunk);
    created.set_size(size);
    EXPECT_OK(held.Hold(created, std::move(fd)));
  }

  absl::StatusOr<std::string> Export(uint64_t chunk, uint64_t offset = 0,
                                     uint64_t size = kSize,
                                     v1::Rights rights = v1::RIGHTS_READ) {
    internal::SharingRequest request;
    internal::ExportRequest& of = *request.mutable_export_resource();
    of.set_kind(v1::HANDLE_KIND_BUFFER);
    of.set_chunk(chunk);
    of.set_offset(offset);
    of.set_size(size);
    of.mutable_terms()->set_rights(rights);
    const SessionMemory::Answer answer = held.Ask(request, -1);
    if (answer.reply.has_error()) return FromError(answer.reply.error());
    return answer.reply.token();
  }

  SessionMemory::Answer Import(const std::string& token,
                               v1::HandleKind kind = v1::HANDLE_KIND_BUFFER) {
    internal::SharingRequest request;
    request.mutable_import_resource()->set_token(token);
    request.mutable_import_resource()->set_kind(kind);
    return held.Ask(request, -1);
  }

  // Makes chunks and imports a collection, and opens one; the import's name.
  absl::Status Commit(uint64_t chunk, const std::string& name) {
    return Commit({chunk}, {}, name);
  }
  absl::Status Commit(const std::vector<uint64_t>& chunks,
                      const std::vector<uint64_t>& imports,
                      const std::string& name) {
    v1::CommitCollection contents;
    contents.set_name(name);
    internal::SharingRequest request;
    for (const uint64_t chunk : chunks) {
      internal::CommittedBuffer& buffer =
          *request.mutable_commit()->add_buffers();
      buffer.set_chunk(chunk);
      buffer.set_size(kSize);
    }
    for (const uint64_t import : imports) {
      request.mutable_commit()->add_buffers()->set_import(import);
    }
    const auto description =
        CreateSealedMemfd("contents", contents.SerializeAsString());
    const SessionMemory::Answer answer = held.Ask(request, description->get());
    return answer.reply.has_error() ? FromError(answer.reply.error())
                                    : absl::OkStatus();
  }
  SessionMemory::Answer Sleep(uint64_t import) {
    internal::SharingRequest request;
    request.set_sleep(import);
    return held.Ask(request, -1);
  }
  SessionMemory::Answer Wake(uint64_t import, const std::string& name,
                             uint64_t version = 0) {
    internal::SharingRequest request;
    request.mutable_wake()->set_import(import);
    request.mutable_wake()->mutable_open()->set_name(name);
    request.mutable_wake()->mutable_open()->set_version(version);
    return held.Ask(request, -1);
  }
  uint64_t OpenCollection(const std::string& name, uint32_t buffer = 0) {
    internal::SharingRequest request;
    request.mutable_open()->set_name(name);
    request.mutable_open()->set_buffer(buffer);
    return held.Ask(request, -1).reply.imported().import();
  }

  // As an executor that has mapped all buffers of the version.
  void Read(uint64_t import) {
    internal::SharingRequest request;
    request.set_read(import);
    EXPECT_FALSE(held.Ask(request, -1).reply.has_error());
  }

  // A token with which a process outside Holdfast maps what was imported.
  absl::StatusOr<std::string> ExportImport(
      uint64_t import, uint64_t offset = 0, uint64_t size = kSize,
      v1::ForeignHandle foreign = v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR) {
    internal::SharingRequest request;
    internal::ExportRequest& of = *request.mutable_export_resource();
    of.set_kind(v1::HANDLE_KIND_BUFFER);
    of.set_import(import);
    of.set_offset(offset);
    of.set_size(size);
    of.mutable_terms()->set_foreign(foreign);
    const SessionMemory::Answer answer = held.Ask(request, -1);
    if (answer.reply.has_error()) return FromError(answer.reply.error());
    return answer.reply.token();
  }

  // The page of an event, or the error.
  absl::StatusOr<UniqueFd> AskFd(const internal::SharingRequest& request) {
    SessionMemory::Answer answer = held.Ask(request, -1);
    if (answer.reply.has_error()) return FromError(answer.reply.error());
    return std::move(answer.descriptor);
  }
  absl::StatusOr<UniqueFd> EventPage(uint64_t chunk) {
    internal::SharingRequest request;
    request.set_event_page(chunk);
    return AskFd(request);
  }
  absl::StatusOr<UniqueFd> ImportedEventPage(uint64_t import) {
    internal::SharingRequest request;
    request.set_imported_event_page(import);
    return AskFd(request);
  }
  absl::StatusOr<UniqueFd> AbandonedEvent(uint64_t import) {
    internal::SharingRequest request;
    request.set_abandoned_event(import);
    return AskFd(request);
  }
  absl::StatusOr<std::string> ExportEvent(uint64_t chunk,
                                          v1::Rights rights = v1::RIGHTS_READ) {
    internal::SharingRequest request;
    internal::ExportRequest& of = *request.mutable_export_resource();
    of.set_kind(v1::HANDLE_KIND_EVENT);
    of.set_chunk(chunk);
    of.set_size(4096);
    of.mutable_terms()->set_rights(rights);
    const SessionMemory::Answer answer = held.Ask(request, -1);
    if (answer.reply.has_error()) return FromError(answer.reply.error());
    return answer.reply.token();
  }

  // As an executor frees a chunk.
  void Free(uint64_t chunk) {
    held.Release(chunk);
    EXPECT_OK(grants.Release(Device0(), kSize));
  }

  // As the supervisor does when the process is gone.
  void End() {
    held.Close();
    grants.Close();
  }

  supervisor::MemoryGrants grants;
  SessionMemory held;
  std::shared_ptr<Tenant> payer;
};

class SessionMemoryTest : public ::testing::Test {
 protected:
  SessionMemoryTest() {
    internal::Ready ready;
    ready.add_devices()->set_total_memory(256 * kMiB);
    ledger_.AddDevices(ready);
  }
  std::unique_ptr<Session> Open(const std::string& id,
                                const std::string& tenant = "uid 1000") {
    return std::make_unique<Session>(ledger_, exports_, collections_, memory_,
                                     id, tenant);
  }
  uint64_t Reserved() const {
    v1::MemoryTotals totals;
    ledger_.Report(&totals);
    return totals.devices(0).reserved_bytes().used();
  }
  uint64_t Orphaned() const {
    v1::MemoryTotals totals;
    ledger_.Report(&totals);
    exports_.ReportOrphans(&totals);
    return totals.devices(0).orphaned_bytes();
  }

  // Versions go with their last readers.
  void UntilUnreferenced(const std::string& name) {
    v1::ConfigureCollectionRequest request;
    request.set_name(name);
    request.set_until_unreferenced(true);
    EXPECT_OK(collections_.Configure({.client = "uid 1000"}, request));
  }
  // The readers of the only version.
  std::vector<std::string> Readers() const {
    const v1::ListCollectionsResponse list = collections_.List({"", true});
    const auto& readers = list.collections(0).versions(0).readers();
    return {readers.begin(), readers.end()};
  }

  // The record of the reader's import, as the next daemon would find it.
  static bool IsKeptAsleep(uint64_t import) {
    for (const KeptDescriptor& kept : kept_by.CopyAll()) {
      if (kept.name.kind != "import") continue;
      if (kept.name.numbers != std::vector<uint64_t>{2, import}) continue;
      internal::ImportRecord record;
      EXPECT_OK(ReadRecord(kept.fd.get(), &record));
      return record.asleep();
    }
    ADD_FAILURE() << "import " << import << " is not kept";
    return false;
  }
  void SuspendAndResume(const std::string& name) {
    const collections::CollectionTable::Viewer owner = {.client = "uid 1000"};
    auto away = *collections_.BeginSuspension(owner, name, 0);
    collections::CollectionTable::Places places;
    places.push_back(
        away.chunks.at(0)->InFile(*supervisor::SuspendedMemory::Create(
            /*path=*/"", kSize, *ledger_.host())));
    ASSERT_OK(collections_.FinishSuspension(away, &places));
    EXPECT_EQ(Orphaned(), 0u);
    auto back = *collections_.BeginResumption(owner, name, 0);
    places.clear();
    places.push_back(back.chunks.at(0)->OnDevice(Memory(kSize), {}));
    collections_.FinishResumption(back, &places);
  }

  supervisor::MemoryLedger ledger_{0};
  supervisor::DeviceMemory memory_;
  collections::CollectionTable collections_;
  ExportRegistry exports_;
  std::unique_ptr<Session> maker_ = Open("s-1"), reader_ = Open("s-2");
};

TEST_F(SessionMemoryTest, SavedChunksAreMadeAnewUntilOneSuccessorHasThemAll) {
  maker_->Make(1, Memory(kSize));
  maker_->Make(2, Memory(2 * kSize), 2 * kSize);
  ASSERT_OK(maker_->held.CheckAlone());
  uint64_t bytes = 0;
  const internal::SaveMemory plan = maker_->held.PlanSave(&bytes);
  EXPECT_EQ(bytes, 3 * kSize);
  maker_->held.Suspend(plan);
  const auto count_saved = [&] {
    int saved = 0;
    EXPECT_OK(maker_->held.ForEachChunk(
        [&](const internal::ChunkCreated& chunk, int descriptor) {
          EXPECT_EQ(chunk.saved(), descriptor < 0);
          EXPECT_EQ(chunk.saved_offset(), chunk.chunk() == 2 ? kSize : 0);
          saved += chunk.saved() ? 1 : 0;
          return absl::OkStatus();
        }));
    return saved;
  };
  EXPECT_EQ(count_saved(), 2);
  // A successor makes one of them, and fails.
  maker_->Make(1, Memory(kSize));
  maker_->held.BeginRestore();
  EXPECT_EQ(count_saved(), 2);
  maker_->Make(2, Memory(2 * kSize), 2 * kSize);
  maker_->held.EndRestore();
  int left = 0;
  EXPECT_OK(maker_->held.ForEachChunk(
      [&](const internal::ChunkCreated& chunk, int descriptor) {
        EXPECT_FALSE(chunk.saved());
        EXPECT_EQ(chunk.chunk(), 2u);
        EXPECT_GE(descriptor, 0);
        ++left;
        return absl::OkStatus();
      }));
  EXPECT_EQ(left, 1);
}

TEST_F(SessionMemoryTest, SavedChunksAreMadeOnTheDeviceThatIsNextForThem) {
  memory_.NoteMeasured(0, 100 * kMiB, 100 * kMiB);
  maker_->Make(1, Memory(kSize));
  uint64_t bytes = 0;
  maker_->held.Suspend(maker_->held.PlanSave(&bytes));
  EXPECT_EQ(memory_.Free(0), 100 * kMiB);
  // A successor makes it where it was, and fails.
  maker_->Make(1, Memory(kSize));
  EXPECT_EQ(memory_.Free(0), 100 * kMiB - kSize);
  maker_->held.MoveSaved(1);
  maker_->held.BeginRestore();
  EXPECT_EQ(memory_.Free(0), 100 * kMiB);
  EXPECT_OK(maker_->held.ForEachChunk(
      [&](const internal::ChunkCreated& chunk, int descriptor) {
        EXPECT_TRUE(chunk.saved());
        EXPECT_EQ(chunk.device(), 1u);
        EXPECT_LT(descriptor, 0);
        return absl::OkStatus();
      }));
}

TEST_F(SessionMemoryTest, MemoryThatCannotBeHadAnyMoreIsLeftToOthers) {
  std::map<uint64_t, KeptChunk> chunks;
  chunks[1].size = kSize;
  chunks[1].memory = Memory(kSize);
  chunks[2].size = 256 * kMiB;  // The session may have 192 MiB.
  chunks[2].memory = Memory(kSize);
  EXPECT_THAT(maker_->held.Adopt(chunks),
              StatusIs(StatusCode::kResourceExhausted, ""));
  EXPECT_TRUE(chunks.at(1).memory.valid());
  EXPECT_TRUE(chunks.at(2).memory.valid());
  EXPECT_FALSE(maker_->held.HasChunk(1));
  chunks.erase(2);
  EXPECT_OK(maker_->held.Adopt(chunks));
  EXPECT_TRUE(maker_->held.HasChunk(1));
}

TEST_F(SessionMemoryTest, MemoryThatCameBackBelongsToNoSession) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "m"));
  maker_->Free(1);
  EXPECT_EQ(Orphaned(), 0u);
  SuspendAndResume("m");
  EXPECT_EQ(Orphaned(), kSize);
}

// The next daemon would find an import that is awake, of memory that may be off
// its device.
TEST_F(SessionMemoryTest, AnImportIsKeptAsleepBeforeItsVersionIsLetGoOf) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "m"));
  UntilUnreferenced("m");
  const uint64_t import = reader_->OpenCollection("m");
  reader_->Read(import);
  bool let_go = false;
  bool asleep = false;
  const int64_t watcher = collections_.Watch(
      {.client = "uid 1000"}, "m",
      [&](const collections::CollectionTable::Changes& changes) {
        let_go = changes->front().kind() == v1::CollectionChange::KIND_RETIRED;
        asleep = IsKeptAsleep(import);
      });
  EXPECT_FALSE(asleep);
  EXPECT_FALSE(reader_->Sleep(import).reply.has_error());
  EXPECT_TRUE(let_go);
  EXPECT_TRUE(asleep);
  collections_.Unwatch(watcher);
}

TEST_F(SessionMemoryTest, AnImportIsOpenedAgainWithItsVersion) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "m"));
  const uint64_t import = reader_->OpenCollection("m");
  internal::SharingRequest request;
  request.set_reopen(import);
  const auto opened = reader_->held.OpenFor(request);
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(opened->version().contents.name(), "m");
  request.set_reopen(import + 1);
  EXPECT_EQ(reader_->held.OpenFor(request), nullptr);
  EXPECT_FALSE(reader_->Sleep(import).reply.has_error());
  request.set_reopen(import);
  EXPECT_EQ(reader_->held.OpenFor(request), nullptr);
}

TEST_F(SessionMemoryTest, SharedMemoryCannotBeSuspended) {
  maker_->Make(1, Memory(kSize));
  const auto token = maker_->Export(1);
  ASSERT_OK(token);
  EXPECT_THAT(maker_->held.CheckAlone(),
              StatusIs(StatusCode::kFailedPrecondition, "exports"));
  ASSERT_FALSE(reader_->Import(*token).reply.has_error());
  EXPECT_THAT(reader_->held.CheckAlone(),
              StatusIs(StatusCode::kFailedPrecondition, "of other sessions"));
}

TEST_F(SessionMemoryTest, SharedMemoryIsChargedOnceUntilTheLastLetsGo) {
  maker_->Make(1, Memory(kSize));
  const auto token = maker_->Export(1);
  ASSERT_OK(token);
  const SessionMemory::Answer answer = reader_->Import(*token);
  ASSERT_FALSE(answer.reply.has_error());
  EXPECT_EQ(Reserved(), kSize);
  maker_->Free(1);
  EXPECT_EQ(Reserved(), kSize);
  // The owner's part still counts it.
  v1::QuotaUsage usage;
  maker_->grants.ReportReserved(&usage);
  EXPECT_EQ(usage.used(), kSize);
  EXPECT_EQ(Orphaned(), 0u);
  reader_->held.ReleaseImport(answer.reply.imported().import());
  EXPECT_EQ(Reserved(), 0u);
}

TEST_F(SessionMemoryTest, AnEndedOwnersMemoryCountsInTheSum) {
  maker_->Make(1, Memory(kSize));
  maker_->Make(2, Memory(kSize));
  const auto token = maker_->Export(1);
  ASSERT_OK(token);
  ASSERT_FALSE(reader_->Import(*token).reply.has_error());
  // As an executor does that ends in order: it frees before it ends.
  maker_->Free(1);
  maker_->End();
  EXPECT_EQ(Reserved(), kSize);
  EXPECT_EQ(Orphaned(), kSize);
  reader_->End();
  EXPECT_EQ(Reserved(), 0u);
  EXPECT_EQ(Orphaned(), 0u);
}

TEST_F(SessionMemoryTest, AReleaseOfWhatIsSharedReturnsNothingElse) {
  maker_->Make(1, Memory(kSize));
  maker_->Make(2, Memory(kSize));
  ASSERT_OK(maker_->Export(1));
  maker_->Free(1);
  EXPECT_EQ(Reserved(), 2 * kSize);
  maker_->Free(2);
  EXPECT_EQ(Reserved(), kSize);
  // It was given back already.
  EXPECT_FALSE(maker_->grants.Release(Device0(), 1).ok());
}

TEST_F(SessionMemoryTest, AReadersDescriptorCannotBeMappedForWriting) {
  maker_->Make(1, Memory(kSize));
  const SessionMemory::Answer reading = reader_->Import(*maker_->Export(1));
  const SessionMemory::Answer writing =
      reader_->Import(*maker_->Export(1, 0, kSize, v1::RIGHTS_READ_WRITE));
  const auto map = [](const SessionMemory::Answer& answer, int protection) {
    void* at = mmap(nullptr, kSize, protection, MAP_SHARED,
                    answer.descriptor.get(), 0);
    if (at != MAP_FAILED) munmap(at, kSize);
    return at != MAP_FAILED;
  };
  EXPECT_TRUE(map(reading, PROT_READ));
  EXPECT_FALSE(map(reading, PROT_READ | PROT_WRITE));
  EXPECT_TRUE(map(writing, PROT_READ | PROT_WRITE));
}

bool CanMap(int fd, int protection, size_t size) {
  void* at = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) munmap(at, size);
  return at != MAP_FAILED;
}

TEST_F(SessionMemoryTest, AnEventsPageIsItsMakersToWrite) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK_AND_ASSIGN(const UniqueFd page, maker_->EventPage(1));
  ASSERT_OK_AND_ASSIGN(
      const FileMapping mapped,
      FileMapping::Map(page.get(), FileMapping::Access::kReadWrite));
  auto& state = *static_cast<EventState*>(mapped.data());
  state.latest = EventRecording{.word = 3, .number = 7}.Pack();
  // The same one for the successor of its executor.
  ASSERT_OK_AND_ASSIGN(const UniqueFd again, maker_->EventPage(1));
  const SessionMemory::Answer imported =
      reader_->Import(*maker_->ExportEvent(1), v1::HANDLE_KIND_EVENT);
  ASSERT_FALSE(imported.reply.has_error());
  EXPECT_FALSE(
      CanMap(imported.descriptor.get(), PROT_READ | PROT_WRITE, kSize));
  ASSERT_OK_AND_ASSIGN(
      const UniqueFd read,
      reader_->ImportedEventPage(imported.reply.imported().import()));
  EXPECT_FALSE(CanMap(read.get(), PROT_READ | PROT_WRITE, 4096));
  ASSERT_OK_AND_ASSIGN(
      const FileMapping seen,
      FileMapping::Map(read.get(), FileMapping::Access::kReadOnly));
  const auto recording = EventRecording::Unpack(
      static_cast<const EventState*>(seen.data())->latest);
  EXPECT_EQ(recording.word, 3u);
  EXPECT_EQ(recording.number, 7u);
}

TEST_F(SessionMemoryTest, OnlyAnAbandonedEventCanBeReachedByAnImporter) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK_AND_ASSIGN(const UniqueFd page, maker_->EventPage(1));
  const SessionMemory::Answer imported =
      reader_->Import(*maker_->ExportEvent(1), v1::HANDLE_KIND_EVENT);
  const uint64_t import = imported.reply.imported().import();
  // The maker may write that it is gone; that alone opens nothing.
  {
    ASSERT_OK_AND_ASSIGN(
        const FileMapping mapped,
        FileMapping::Map(page.get(), FileMapping::Access::kReadWrite));
    static_cast<EventState*>(mapped.data())->abandoned = 1;
  }
  EXPECT_THAT(reader_->AbandonedEvent(import).status(),
              StatusIs(StatusCode::kFailedPrecondition, "has not ended"));
  maker_->End();
  ASSERT_OK_AND_ASSIGN(const UniqueFd words, reader_->AbandonedEvent(import));
  EXPECT_TRUE(CanMap(words.get(), PROT_READ | PROT_WRITE, kSize));
}

TEST_F(SessionMemoryTest, AFreedEventIsAbandoned) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->EventPage(1));
  const SessionMemory::Answer imported =
      reader_->Import(*maker_->ExportEvent(1), v1::HANDLE_KIND_EVENT);
  maker_->Free(1);
  EXPECT_OK(reader_->AbandonedEvent(imported.reply.imported().import()));
}

TEST_F(SessionMemoryTest, RequestsForEventsThatAreNoneAreRefused) {
  maker_->Make(1, Memory(kSize));
  EXPECT_THAT(maker_->EventPage(2).status(),
              StatusIs(StatusCode::kNotFound, "no such chunk"));
  EXPECT_THAT(maker_->ExportEvent(1).status(),
              StatusIs(StatusCode::kFailedPrecondition, "for no event"));
  ASSERT_OK(maker_->EventPage(1));
  EXPECT_THAT(maker_->ExportEvent(1, v1::RIGHTS_READ_WRITE).status(),
              StatusIs(StatusCode::kInvalidArgument, "RIGHTS_READ"));
  EXPECT_THAT(maker_->ExportEvent(9).status(),
              StatusIs(StatusCode::kNotFound, "no such chunk"));
  const auto token = maker_->ExportEvent(1);
  ASSERT_OK(token);
  EXPECT_THAT(FromError(reader_->Import(*token).reply.error()),
              StatusIs(StatusCode::kInvalidArgument, "is an event"));
  // Import 1 is a buffer.
  ASSERT_FALSE(reader_->Import(*maker_->Export(1)).reply.has_error());
  for (const uint64_t import : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    EXPECT_THAT(reader_->ImportedEventPage(import).status(),
                StatusIs(StatusCode::kNotFound, "no such event"));
    EXPECT_THAT(reader_->AbandonedEvent(import).status(),
                StatusIs(StatusCode::kNotFound, "no such event"));
  }
}

TEST_F(SessionMemoryTest, ASessionExportsOnlyWhatItHas) {
  maker_->Make(1, Memory(kSize));
  reader_->Make(7, Memory(kSize));
  EXPECT_THAT(maker_->Export(7).status(),
              StatusIs(StatusCode::kNotFound, "no such chunk"));
  EXPECT_THAT(maker_->Export(1, 1, kSize).status(),
              StatusIs(StatusCode::kOutOfRange, ""));
  EXPECT_THAT(maker_->Export(1, UINT64_MAX, 2).status(),
              StatusIs(StatusCode::kOutOfRange, ""));
  EXPECT_THAT(maker_->Export(1, 0, 8, static_cast<v1::Rights>(77)).status(),
              StatusIs(StatusCode::kInvalidArgument, "rights 77"));
  maker_->End();
  EXPECT_FALSE(maker_->Export(1).ok());
}

TEST_F(SessionMemoryTest, DescriptorsThatAreNoDeviceMemoryAreNotShared) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd other(ends[1]);
  maker_->Make(1, UniqueFd(ends[0]));
  maker_->Make(2, UniqueFd(open("/", O_RDONLY | O_CLOEXEC)));
  maker_->Make(3, UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  maker_->Make(4, Memory(kSize, /*seals=*/0));
  maker_->Make(5, Memory(kSize - 4096));
  maker_->Make(6, UniqueFd());
  for (uint64_t chunk = 1; chunk <= 6; ++chunk) {
    EXPECT_THAT(maker_->Export(chunk).status(),
                StatusIs(StatusCode::kInvalidArgument, "chunk"))
        << chunk;
  }
}

TEST_F(SessionMemoryTest, MemoryThatWasNotReservedIsNotShared) {
  internal::ChunkCreated created;
  created.set_chunk(1);
  created.set_size(kSize);
  ASSERT_OK(maker_->held.Hold(created, Memory(kSize)));
  EXPECT_THAT(maker_->Export(1).status(), StatusIs(StatusCode::kInvalidArgument,
                                                   "of which 0 were granted"));
}

TEST_F(SessionMemoryTest, TokensOfASessionAreBounded) {
  maker_->Make(1, Memory(kSize));
  for (size_t i = 0; i < ExportRegistry::kMaxOfSession; ++i) {
    ASSERT_OK(maker_->Export(1));
  }
  EXPECT_THAT(maker_->Export(1).status(),
              StatusIs(StatusCode::kResourceExhausted, "1024"));
  // Another session's are its own.
  reader_->Make(1, Memory(kSize));
  EXPECT_OK(reader_->Export(1));
  maker_->End();
  EXPECT_EQ(exports_.CountOf("s-1"), 0u);
}

TEST_F(SessionMemoryTest, AnotherKindIsRefusedAndDoesNotCountAsAnImport) {
  maker_->Make(1, Memory(kSize));
  const auto token = maker_->Export(1);
  ASSERT_OK(token);
  const SessionMemory::Answer wrong =
      reader_->Import(*token, v1::HANDLE_KIND_SEMAPHORE);
  EXPECT_EQ(static_cast<StatusCode>(wrong.reply.error().code()),
            StatusCode::kInvalidArgument);
  EXPECT_FALSE(reader_->Import(*token).reply.has_error());
}

TEST_F(SessionMemoryTest,
       ASuccessorOpensImportsByNameWhateverBecameOfTheToken) {
  maker_->Make(1, Memory(kSize));
  const auto token = maker_->Export(1);
  ASSERT_OK(token);
  const uint64_t kept = reader_->Import(*token).reply.imported().import();
  const uint64_t forgotten = reader_->Import(*token).reply.imported().import();
  maker_->End();
  reader_->held.BeginRestore();
  internal::SharingRequest request;
  request.set_reopen(kept);
  const SessionMemory::Answer answer = reader_->held.Ask(request, -1);
  ASSERT_FALSE(answer.reply.has_error());
  EXPECT_EQ(answer.reply.imported().import(), kept);
  EXPECT_TRUE(answer.descriptor.valid());
  EXPECT_EQ(answer.reply.imported().rights(), v1::RIGHTS_READ);
  reader_->held.EndRestore();
  // It has let go of what the successor does not want.
  request.set_reopen(forgotten);
  EXPECT_TRUE(reader_->held.Ask(request, -1).reply.has_error());
  request.set_reopen(12345);
  EXPECT_TRUE(reader_->held.Ask(request, -1).reply.has_error());
}

TEST_F(SessionMemoryTest, ForeignProcessesOfItsTenantAloneGetACollection) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "weights"));
  v1::ConfigureCollectionRequest shown;
  shown.set_name("weights");
  shown.mutable_visibility()->set_everybody(true);
  ASSERT_OK(collections_.Configure({.client = "uid 1000"}, shown));
  const uint64_t import = reader_->OpenCollection("weights");
  const auto token = reader_->ExportImport(import, 4096, 100);
  ASSERT_OK(token);
  const auto redeemed = exports_.RedeemForeign(*token);
  ASSERT_OK(redeemed);
  EXPECT_EQ(redeemed->offset, 4096u);
  EXPECT_EQ(redeemed->size, 100u);
  EXPECT_EQ(redeemed->rights, v1::RIGHTS_READ);

  const auto stranger = Open("s-3", "uid 2000");
  const uint64_t theirs = stranger->OpenCollection("weights");
  ASSERT_NE(theirs, 0u);
  EXPECT_THAT(stranger->ExportImport(theirs),
              StatusIs(StatusCode::kPermissionDenied, "uid 1000"));
  stranger->End();
}

// Its owner could change it after the commit, or pays for it.
TEST_F(SessionMemoryTest, MemoryOfOthersIsNotCommitted) {
  maker_->Make(1, Memory(kSize));
  const uint64_t imported =
      reader_->Import(*maker_->Export(1)).reply.imported().import();
  EXPECT_THAT(
      reader_->Commit({}, {imported}, "stolen"),
      StatusIs(StatusCode::kFailedPrecondition, "its owner can change"));
  // As an executor says it of memory of a process outside Holdfast.
  EXPECT_THAT(
      reader_->Commit({}, {0}, "stolen"),
      StatusIs(StatusCode::kFailedPrecondition, "its owner can change"));
  maker_->Make(2, Memory(kSize));
  ASSERT_OK(maker_->Commit(2, "weights"));
  v1::ConfigureCollectionRequest shown;
  shown.set_name("weights");
  shown.mutable_visibility()->set_everybody(true);
  ASSERT_OK(collections_.Configure({.client = "uid 1000"}, shown));
  const auto stranger = Open("s-3", "uid 2000");
  const uint64_t theirs = stranger->OpenCollection("weights");
  EXPECT_THAT(stranger->Commit({}, {theirs}, "stolen"),
              StatusIs(StatusCode::kPermissionDenied, "uid 1000"));
  EXPECT_EQ(collections_.List({"", true}).collections_size(), 1);
  stranger->End();
}

TEST_F(SessionMemoryTest, AChunkOfACollectionIsChargedOnce) {
  const auto& quota = maker_->payer->collection_bytes();
  maker_->Make(1, Memory(kSize));
  // Twice in one version, and once in another collection.
  ASSERT_OK(maker_->Commit({1, 1}, {}, "weights"));
  EXPECT_EQ(quota->used(), kSize);
  const uint64_t import = maker_->OpenCollection("weights");
  ASSERT_OK(maker_->Commit({}, {import}, "more"));
  EXPECT_EQ(quota->used(), kSize);
  maker_->held.ReleaseImport(import);
  v1::DeleteCollectionRequest request;
  request.set_name("weights");
  ASSERT_OK(collections_.Delete({.client = "uid 1000"}, request).status());
  EXPECT_EQ(quota->used(), kSize);
  request.set_name("more");
  ASSERT_OK(collections_.Delete({.client = "uid 1000"}, request).status());
  EXPECT_EQ(quota->used(), 0u);
  // A refused commit is charged for nothing.
  maker_->payer->collection_bytes()->SetLimit(kSize);
  maker_->Make(2, Memory(kSize));
  maker_->Make(3, Memory(kSize));
  EXPECT_THAT(maker_->Commit({2, 3}, {}, "large"),
              StatusIs(StatusCode::kResourceExhausted, ""));
  EXPECT_EQ(quota->used(), 0u);
}

TEST_F(SessionMemoryTest, ABufferThatSleepsIsNobodysReader) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "weights"));
  const uint64_t import = reader_->OpenCollection("weights");
  const auto readers = [&] {
    return collections_.List({"", true})
        .collections(0)
        .versions(0)
        .readers_size();
  };
  EXPECT_EQ(readers(), 1);
  EXPECT_TRUE(reader_->Wake(import, "weights").reply.has_error());
  ASSERT_FALSE(reader_->Sleep(import).reply.has_error());
  EXPECT_EQ(readers(), 0);
  v1::SessionUsage usage;
  reader_->held.Report(&usage);
  EXPECT_EQ(usage.imported_bytes(), 0u);
  EXPECT_TRUE(reader_->Sleep(import).reply.has_error());
  EXPECT_TRUE(reader_->Commit({}, {import}, "more").code() ==
              StatusCode::kFailedPrecondition);
  // A successor of its executor learns that it sleeps.
  internal::SharingRequest reopen;
  reopen.set_reopen(import);
  const SessionMemory::Answer asleep = reader_->held.Ask(reopen, -1);
  EXPECT_TRUE(asleep.reply.imported().asleep());
  EXPECT_EQ(asleep.reply.imported().chunk_size(), kSize);
  EXPECT_FALSE(asleep.descriptor.valid());
  EXPECT_TRUE(reader_->Wake(import, "other").reply.has_error());
  const SessionMemory::Answer awake = reader_->Wake(import, "weights", 1);
  ASSERT_FALSE(awake.reply.has_error());
  EXPECT_EQ(awake.reply.imported().import(), import);
  EXPECT_EQ(awake.reply.collection().version(), 1u);
  EXPECT_TRUE(awake.descriptor.valid());
  EXPECT_EQ(readers(), 1);
}

TEST_F(SessionMemoryTest, ABufferWakesOnlyWithMemoryOfItsSize) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "weights"));
  const uint64_t import = reader_->OpenCollection("weights");
  ASSERT_FALSE(reader_->Sleep(import).reply.has_error());
  maker_->Make(2, Memory(2 * kSize), 2 * kSize);
  ASSERT_OK(maker_->Commit(2, "weights"));
  const SessionMemory::Answer answer = reader_->Wake(import, "weights");
  ASSERT_TRUE(answer.reply.has_error());
  EXPECT_THAT(FromError(answer.reply.error()),
              StatusIs(StatusCode::kFailedPrecondition, "open it anew"));
  // Nothing else sleeps.
  const uint64_t buffer =
      reader_->Import(*maker_->Export(2)).reply.imported().import();
  EXPECT_TRUE(reader_->Sleep(buffer).reply.has_error());
  EXPECT_TRUE(reader_->Sleep(buffer + 1).reply.has_error());
}

TEST_F(SessionMemoryTest, AnAttemptThatFailsDoesNotEndANewVersion) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "weights"));
  const uint64_t import = reader_->OpenCollection("weights");
  ASSERT_FALSE(reader_->Sleep(import).reply.has_error());
  // The first buffer of two is larger than the one that sleeps.
  maker_->Make(2, Memory(2 * kSize), 2 * kSize);
  maker_->Make(3, Memory(kSize));
  ASSERT_OK(maker_->Commit({2, 3}, {}, "weights"));
  UntilUnreferenced("weights");
  const auto versions = [this] {
    const auto list = collections_.List({"", true});
    return list.collections_size() == 0 ? 0
                                        : list.collections(0).versions_size();
  };
  EXPECT_TRUE(reader_->Wake(import, "weights").reply.has_error());
  EXPECT_EQ(versions(), 1);
  // There is no third one.
  EXPECT_EQ(reader_->OpenCollection("weights", 2), 0u);
  EXPECT_EQ(versions(), 1);
  // As an executor that cannot map all.
  const uint64_t first = reader_->OpenCollection("weights");
  ASSERT_NE(first, 0u);
  reader_->held.ReleaseImport(first);
  EXPECT_EQ(versions(), 1);
  // Nor that cannot map the last.
  const uint64_t last = reader_->OpenCollection("weights", 1);
  ASSERT_NE(last, 0u);
  reader_->held.ReleaseImport(last);
  EXPECT_EQ(versions(), 1);
  const uint64_t whole = reader_->OpenCollection("weights", 1);
  reader_->Read(whole);
  EXPECT_EQ(versions(), 1);
  reader_->held.ReleaseImport(whole);
  EXPECT_EQ(versions(), 0);
}

// As if the daemon had no descriptors left when it wakes.
TEST_F(SessionMemoryTest, ABufferThatCouldNotBeWokenSleepsOn) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "weights"));
  const uint64_t import = reader_->OpenCollection("weights");
  ASSERT_FALSE(reader_->Sleep(import).reply.has_error());
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const SessionMemory::Answer failed = reader_->Wake(import, "weights");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(failed.reply.has_error());
  EXPECT_TRUE(Readers().empty());
  EXPECT_FALSE(reader_->Wake(import, "weights").reply.has_error());
  EXPECT_EQ(Readers(), std::vector<std::string>{"s-2"});
}

// A token for a process outside Holdfast, which a session has taken.
TEST_F(SessionMemoryTest, ASessionThatImportsACollectionIsItsReader) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "weights"));
  UntilUnreferenced("weights");
  const uint64_t import = reader_->OpenCollection("weights");
  const auto token = reader_->ExportImport(import);
  ASSERT_OK(token);
  const auto importer = Open("s-3");
  const uint64_t imported = importer->Import(*token).reply.imported().import();
  EXPECT_EQ(Readers(), (std::vector<std::string>{"s-2", "s-3"}));
  reader_->held.ReleaseImport(import);
  EXPECT_EQ(Readers(), std::vector<std::string>{"s-3"});
  importer->held.ReleaseImport(imported);
  EXPECT_EQ(reader_->OpenCollection("weights"), 0u);
  importer->End();
}

TEST_F(SessionMemoryTest, AnExportIsForOneTenantsSessionsIfItSaysSo) {
  maker_->Make(1, Memory(kSize));
  internal::SharingRequest request;
  internal::ExportRequest& of = *request.mutable_export_resource();
  of.set_kind(v1::HANDLE_KIND_BUFFER);
  of.set_chunk(1);
  of.set_size(kSize);
  of.mutable_terms()->set_tenant("uid 1000");
  of.mutable_terms()->set_max_imports(2);
  const std::string token = maker_->held.Ask(request, -1).reply.token();
  const auto stranger = Open("s-3", "uid 2000");
  EXPECT_THAT(FromError(stranger->Import(token).reply.error()),
              StatusIs(StatusCode::kPermissionDenied, "uid 1000"));
  EXPECT_FALSE(reader_->Import(token).reply.has_error());
  // A session of the tenant, and no other.
  of.mutable_terms()->set_session_id("s-1");
  const std::string bound = maker_->held.Ask(request, -1).reply.token();
  EXPECT_THAT(FromError(reader_->Import(bound).reply.error()),
              StatusIs(StatusCode::kPermissionDenied, "s-1"));
  EXPECT_FALSE(maker_->Import(bound).reply.has_error());
  // A process outside Holdfast has neither.
  of.mutable_terms()->set_foreign(v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR);
  EXPECT_THAT(FromError(maker_->held.Ask(request, -1).reply.error()),
              StatusIs(StatusCode::kInvalidArgument, "cannot be bound"));
  of.mutable_terms()->clear_foreign();
  of.mutable_terms()->set_tenant(std::string(257, 'x'));
  EXPECT_THAT(FromError(maker_->held.Ask(request, -1).reply.error()),
              StatusIs(StatusCode::kInvalidArgument, "257 bytes"));
  stranger->End();
}

TEST_F(SessionMemoryTest, TheClaimsOfASessionEndWithIt) {
  absl::Status told;
  ASSERT_OK(collections_
                .Claim("uid 1000", "s-1", "weights",
                       [&](const auto& answer) { told = answer.status(); })
                .status());
  EXPECT_OK(told);
  maker_->End();
  EXPECT_THAT(told, StatusIs(StatusCode::kCancelled, "s-1"));
}

TEST_F(SessionMemoryTest, AnExecutorExportsNoImportButOfACollection) {
  maker_->Make(1, Memory(kSize));
  maker_->Make(2, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "weights"));
  const uint64_t import = reader_->OpenCollection("weights");
  EXPECT_THAT(reader_->ExportImport(import, 1),
              StatusIs(StatusCode::kOutOfRange, ""));
  EXPECT_THAT(reader_->ExportImport(import, UINT64_MAX, 2),
              StatusIs(StatusCode::kOutOfRange, ""));
  EXPECT_THAT(
      reader_->ExportImport(import, 0, kSize, v1::FOREIGN_HANDLE_UNSPECIFIED),
      StatusIs(StatusCode::kFailedPrecondition, ""));
  EXPECT_THAT(reader_->ExportImport(import + 1),
              StatusIs(StatusCode::kFailedPrecondition, ""));
  const auto token = maker_->Export(2);
  ASSERT_OK(token);
  const uint64_t buffer = reader_->Import(*token).reply.imported().import();
  EXPECT_THAT(reader_->ExportImport(buffer),
              StatusIs(StatusCode::kFailedPrecondition, ""));
}

TEST_F(SessionMemoryTest, ASuccessorIsShownEachChunkAndWhetherItMayWrite) {
  maker_->Make(1, Memory(kSize));
  maker_->Make(2, Memory(kSize));
  ASSERT_OK(maker_->Export(2));
  size_t count = 0;
  EXPECT_OK(maker_->held.ForEachChunk(
      [&](const internal::ChunkCreated& chunk, int descriptor) {
        ++count;
        EXPECT_EQ(chunk.size(), kSize);
        EXPECT_GE(descriptor, 0);
        EXPECT_FALSE(chunk.read_only());
        return absl::OkStatus();
      }));
  EXPECT_EQ(count, 2u);
}

}  // namespace
}  // namespace holdfast
