// SPDX-License-Identifier: Apache-2.0
//
// Events that other sessions wait for: the maker writes the page, importers
// read it, and a lost event can be released by them.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "core/base/memfd.h"
#include "server/holdings/session_memory.h"
#include "server/rpc/status_conversion.h"
#include "server/sharing/event_state.h"
#include "tests/server/holdings/session_memory_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using absl::StatusCode;

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

}  // namespace
}  // namespace holdfast::testing
