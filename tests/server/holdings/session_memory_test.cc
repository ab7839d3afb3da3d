// SPDX-License-Identifier: Apache-2.0
//
// Device memory that a session holds: it is saved and made anew, shown to the
// next executor, and charged until its last user is gone.
#include "server/holdings/session_memory.h"

#include <cstddef>
#include <cstdint>
#include <map>

#include "server/kept/kept_state.h"
#include "tests/server/holdings/session_memory_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using absl::StatusCode;

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
  reader_->held.imports().Release(answer.reply.imported().import());
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

// Else a tenant had any amount of memory by sessions that export it and end.
TEST_F(SessionMemoryTest, MemoryThatItsMakerLetsGoOfCountsForTheTenant) {
  for (const bool ends : {true, false}) {
    const auto maker = Open("s-1"), reader = Open("s-2");
    const auto payer = maker->payer;  // outlives the session
    Quota& quota = *payer->device_bytes();
    maker->Make(1, Memory(kSize));
    maker->Make(2, Memory(kSize));
    ASSERT_FALSE(reader->Import(*maker->Export(1)).reply.has_error());
    EXPECT_EQ(quota.used(), 0u);  // The executor has it charge for buffers.
    if (ends) {
      maker->End();
    } else {
      maker->Free(1);
      maker->Free(2);
    }
    EXPECT_EQ(quota.used(), kSize);
    quota.SetLimit(kSize + 1);
    EXPECT_EQ(quota.Take(2).status().code(),
              absl::StatusCode::kResourceExhausted);
    reader->End();
    EXPECT_EQ(quota.used(), 0u);
    EXPECT_OK(quota.Take(2).status());
    if (!ends) maker->End();
  }
}

TEST_F(SessionMemoryTest, ATokenHoldsMemoryForTheTenantUntilItIsGone) {
  const auto maker = Open("s-1");
  const auto payer = maker->payer;
  maker->Make(1, Memory(kSize));
  ASSERT_OK(maker->Export(1).status());
  maker->Free(1);
  EXPECT_EQ(payer->device_bytes()->used(), kSize);
  maker->End();
  EXPECT_EQ(payer->device_bytes()->used(), 0u);
}

TEST_F(SessionMemoryTest, ACollectionIsChargedAsACollectionAlone) {
  const auto maker = Open("s-1");
  const auto tenant = maker->payer;
  maker->Make(1, Memory(kSize));
  ASSERT_OK(maker->Commit(1, "weights"));
  maker->End();
  EXPECT_EQ(tenant->device_bytes()->used(), 0u);
  EXPECT_GT(tenant->collection_bytes()->used(), 0u);
}

}  // namespace
}  // namespace holdfast::testing
