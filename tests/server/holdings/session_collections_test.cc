// SPDX-License-Identifier: Apache-2.0
//
// Versions of collections that sessions commit, open, and let sleep: who pays
// for the memory, who counts as a reader, and what is opened anew.
#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

#include "server/holdings/session_memory.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/holdings/session_memory_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using absl::StatusCode;

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
  bool release = false;
  bool asleep = false;
  const int64_t watcher = collections_.Watch(
      {.client = "uid 1000"}, "m",
      [&](const collections::CollectionTable::Changes& changes) {
        release = changes->front().kind() == v1::CollectionChange::KIND_RETIRED;
        asleep = IsKeptAsleep(import);
      });
  EXPECT_FALSE(asleep);
  EXPECT_FALSE(reader_->Sleep(import).reply.has_error());
  EXPECT_TRUE(release);
  EXPECT_TRUE(asleep);
  collections_.Unwatch(watcher);
}

TEST_F(SessionMemoryTest, AnImportIsOpenedAgainWithItsVersion) {
  maker_->Make(1, Memory(kSize));
  ASSERT_OK(maker_->Commit(1, "m"));
  const uint64_t import = reader_->OpenCollection("m");
  internal::SharingRequest request;
  request.set_reopen(import);
  const auto opened = reader_->held.imports().OpenFor(request);
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(opened->version().contents.name(), "m");
  request.set_reopen(import + 1);
  EXPECT_EQ(reader_->held.imports().OpenFor(request), nullptr);
  EXPECT_FALSE(reader_->Sleep(import).reply.has_error());
  request.set_reopen(import);
  EXPECT_EQ(reader_->held.imports().OpenFor(request), nullptr);
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
  maker_->held.imports().Release(import);
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
  reader_->held.imports().Release(first);
  EXPECT_EQ(versions(), 1);
  // Nor that cannot map the last.
  const uint64_t last = reader_->OpenCollection("weights", 1);
  ASSERT_NE(last, 0u);
  reader_->held.imports().Release(last);
  EXPECT_EQ(versions(), 1);
  const uint64_t whole = reader_->OpenCollection("weights", 1);
  reader_->Read(whole);
  EXPECT_EQ(versions(), 1);
  reader_->held.imports().Release(whole);
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
  reader_->held.imports().Release(import);
  EXPECT_EQ(Readers(), std::vector<std::string>{"s-3"});
  importer->held.imports().Release(imported);
  EXPECT_EQ(reader_->OpenCollection("weights"), 0u);
  importer->End();
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

}  // namespace
}  // namespace holdfast::testing
