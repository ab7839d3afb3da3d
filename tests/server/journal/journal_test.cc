// SPDX-License-Identifier: Apache-2.0
//
// A journal is valid at whatever instant its writer dies, and harmless whatever
// is in it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/memfd.h"
#include "server/journal/journal_reader.h"
#include "server/journal/journal_writer.h"
#include "server/journal/layout.h"
#include "server/journal/live_records.h"

namespace holdfast::journal {
namespace {

using internal::JournalRecord;

// A journal's memory, and what a test does to it.
struct Memory {
  Memory()
      : fd(CreateFixedMemfd("journal", kJournalBytes).value()),
        mapping(FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite)
                    .value()) {}

  char* bytes() const { return static_cast<char*>(mapping.data()); }
  Header& header() const { return *static_cast<Header*>(mapping.data()); }

  UniqueFd fd;
  FileMapping mapping;
};

JournalRecord Creation(uint64_t handle, size_t size = 0) {
  JournalRecord record;
  record.add_creates(handle);
  record.mutable_command()->mutable_load_module()->set_inline_(
      std::string(size, 'x'));
  return record;
}

JournalRecord End(uint64_t handle) {
  JournalRecord record;
  record.set_destroys(handle);
  return record;
}

// The handles that a successor would make, or why it cannot.
absl::StatusOr<std::vector<uint64_t>> LiveHandles(const Memory& memory) {
  auto bytes = ReadRecords(memory.fd.get());
  if (!bytes.ok()) return bytes.status();
  auto parsed = ParseRecords(*bytes);
  if (!parsed.ok()) return parsed.status();
  std::vector<uint64_t> handles;
  for (const size_t i : LiveRecords(parsed->records)) {
    const auto& creates = parsed->records[i]->creates();
    handles.insert(handles.end(), creates.begin(), creates.end());
  }
  return handles;
}

// Makes `cut` what the writer had done after the first `end` bytes of the half
// and before it published them.
void CopyHalf(const Memory& from, const Memory& to, bool second, size_t begin,
              size_t end) {
  const size_t at = kHeaderBytes + (second ? kHalfBytes : 0);
  std::memcpy(to.bytes() + at + begin, from.bytes() + at + begin, end - begin);
}

// Carries out one step and looks at every journal that a death within it could
// leave, or at every `stride`th.
void CutStep(JournalWriter& writer, const Memory& memory, const Memory& cut,
             const JournalRecord& step, size_t stride) {
  const auto before = LiveHandles(memory);
  ASSERT_TRUE(before.ok()) << before.status();
  const uint64_t state = memory.header().state;
  ASSERT_TRUE(writer.Append(step));
  const uint64_t published = memory.header().state;
  // The cut journal is as it was before the step: its state says so.
  cut.header().state = state;
  for (const bool second : {false, true}) {
    const bool counted = (state & kHalfBit) != 0;
    const size_t begin = second == counted ? state & ~kHalfBit : 0;
    const size_t end =
        second == ((published & kHalfBit) != 0) ? published & ~kHalfBit : begin;
    for (size_t at = begin; at < end; at += stride) {
      CopyHalf(memory, cut, second, at, std::min(end, at + stride));
      EXPECT_EQ(*LiveHandles(cut), *before) << "byte " << at;
    }
  }
  cut.header().state = published;
  EXPECT_EQ(*LiveHandles(cut), *LiveHandles(memory));
}

TEST(JournalTest, CutAtEveryByteItIsWhatItWasBeforeTheStep) {
  Memory memory, cut;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  cut.header().magic = kMagic;
  for (uint64_t i = 1; i <= 30; ++i) {
    CutStep(*writer, memory, cut, Creation(i, i * 3), 1);
    if (i % 3 == 0) CutStep(*writer, memory, cut, End(i - 1), 1);
  }
  EXPECT_EQ(LiveHandles(memory)->size(), 20u);
}

TEST(JournalTest, CutWhileItIsCompactedItIsWhatItWasBefore) {
  Memory memory, cut;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  cut.header().magic = kMagic;
  constexpr size_t kBytes = 60000;
  size_t largest = 0;
  int compactions = 0;
  for (uint64_t i = 1; i <= 60; ++i) {
    const uint64_t state = memory.header().state;
    CutStep(*writer, memory, cut, Creation(i, kBytes), 20011);
    if (i > 4) CutStep(*writer, memory, cut, End(i - 4), 1);
    if ((memory.header().state ^ state) & kHalfBit) ++compactions;
    largest = std::max(largest, writer->size());
  }
  EXPECT_EQ(*LiveHandles(memory), (std::vector<uint64_t>{57, 58, 59, 60}));
  EXPECT_GT(compactions, 1);
  EXPECT_LT(largest, size_t{2} << 20);
}

TEST(JournalTest, MadeAndEndedAtOnceLeavesNothing) {
  Memory memory;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  ASSERT_TRUE(writer->Append(Creation(1)));
  ASSERT_TRUE(writer->Append(Creation(2)));
  ASSERT_TRUE(writer->Append(Creation(3)));
  EXPECT_FALSE(writer->Retract(2)) << "3 may need it";
  EXPECT_TRUE(writer->Retract(3));
  EXPECT_FALSE(writer->Retract(3));
  EXPECT_EQ(*LiveHandles(memory), (std::vector<uint64_t>{1, 2}));
  EXPECT_TRUE(writer->Retract(2));
  ASSERT_TRUE(writer->Append(Creation(4, 100)));
  EXPECT_EQ(*LiveHandles(memory), (std::vector<uint64_t>{1, 4}));
}

// A long command is not encoded again.
TEST(JournalTest, ACommandAsItCameMakesTheSameRecord) {
  for (const size_t size : {0, 100, 200, 20'000, 3'000'000}) {
    JournalRecord record = Creation(7, size);
    record.set_key("update 7/{1,2}");
    const Memory encoded, as_it_came;
    ASSERT_TRUE((*JournalWriter::Map(encoded.fd.get()))->Append(record));
    const std::string command = record.command().SerializeAsString();
    record.clear_command();
    ASSERT_TRUE(
        (*JournalWriter::Map(as_it_came.fd.get()))->Append(record, command));
    EXPECT_EQ(*ReadRecords(encoded.fd.get()),
              *ReadRecords(as_it_came.fd.get()));
  }
}

TEST(JournalTest, WhatALaterStepMayNeedIsNotTakenBack) {
  Memory memory;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  ASSERT_TRUE(writer->Append(Creation(1)));
  ASSERT_TRUE(writer->Append(End(7)));
  EXPECT_FALSE(writer->Retract(1));
  JournalRecord two;
  two.add_creates(2);
  two.add_creates(3);
  ASSERT_TRUE(writer->Append(two));
  EXPECT_FALSE(writer->Retract(3));
  EXPECT_EQ(*LiveHandles(memory), (std::vector<uint64_t>{1, 2, 3}));
}

// Steps of a session of which ten resources live at a time.
[[noreturn]] void WriteForEver(int fd) {
  const auto writer = JournalWriter::Map(fd).value();
  for (uint64_t i = 1;; ++i) {
    writer->Begin(i, 1, 0, "");
    writer->Append(Creation(i, 500));
    if (i > 10) writer->Append(End(i - 10));
    writer->SetProcessed(i);
  }
}

TEST(JournalTest, WhateverInstantTheWriterIsKilledAtItIsWhole) {
  std::mt19937 random(22);
  for (int round = 0; round < 60; ++round) {
    Memory memory;
    const pid_t writer = fork();
    if (writer == 0) WriteForEver(memory.fd.get());
    while (memory.header().processed < 20) usleep(100);
    usleep(random() % 8000);
    ASSERT_EQ(kill(writer, SIGKILL), 0);
    ASSERT_EQ(waitpid(writer, nullptr, 0), writer);
    const auto progress = ReadProgress(memory.fd.get());
    ASSERT_TRUE(progress.ok()) << progress.status();
    EXPECT_LE(progress->begun, progress->processed + 1);
    const auto live = LiveHandles(memory);
    ASSERT_TRUE(live.ok()) << live.status();
    // All processed steps are there, and at most one more.
    ASSERT_GE(live->size(), 10u);
    ASSERT_LE(live->size(), 11u);
    EXPECT_GE(live->back(), progress->processed);
    EXPECT_LE(live->back(), progress->begun);
    for (size_t i = 1; i < live->size(); ++i) {
      EXPECT_EQ((*live)[i], (*live)[i - 1] + 1);
    }
  }
}

TEST(JournalTest, AFullJournalRefusesMoreAndStillTakesEnds) {
  Memory memory;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  constexpr size_t kBytes = size_t{1} << 20;
  uint64_t last = 1;
  while (writer->Append(Creation(last, kBytes))) ++last;
  EXPECT_GT(last, 28u);
  EXPECT_FALSE(writer->Append(Creation(last, size_t{40} << 20)));
  EXPECT_TRUE(writer->Append(End(1)));
  EXPECT_TRUE(writer->Append(End(2)));
  EXPECT_EQ(LiveHandles(memory)->front(), 3u);
  EXPECT_TRUE(writer->Append(Creation(last, kBytes)));
}

TEST(JournalTest, AFullJournalStillTakesLosses) {
  Memory memory;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  uint64_t last = 1;
  for (const size_t bytes : {size_t{1} << 20, size_t{1} << 10, size_t{1}}) {
    while (writer->Append(Creation(last, bytes))) ++last;
  }
  JournalRecord loss;
  loss.add_creates(1);
  loss.mutable_error()->set_message("no room");
  EXPECT_TRUE(writer->Append(loss));
  // There is still room for the ends of all.
  for (uint64_t handle = 1; handle < last; ++handle) {
    ASSERT_TRUE(writer->Append(End(handle)));
  }
  EXPECT_TRUE(LiveHandles(memory)->empty());
}

TEST(JournalTest, CompactingKeepsTheCommands) {
  Memory memory;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  ASSERT_TRUE(writer->Append(Creation(1, 1000)));
  JournalRecord change;
  change.set_ends_with(1);
  change.set_key("change");
  change.mutable_command()->mutable_load_module()->set_inline_(
      std::string(1000, 'y'));
  const uint64_t half = memory.header().state & kHalfBit;
  for (int i = 0; (memory.header().state & kHalfBit) == half; ++i) {
    ASSERT_LT(i, 10000) << "was never compacted";
    ASSERT_TRUE(writer->Append(change));
  }
  const std::string bytes = ReadRecords(memory.fd.get()).value();
  const ParsedRecords parsed = ParseRecords(bytes).value();
  ASSERT_EQ(parsed.records.size(), 3u);
  EXPECT_EQ(parsed.records[0]->DebugString(), Creation(1, 1000).DebugString());
  EXPECT_EQ(parsed.records[1]->DebugString(), change.DebugString());
}

TEST(JournalTest, TellsTheLastCommandsOldestFirst) {
  Memory memory;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  for (uint64_t i = 1; i <= 20; ++i) {
    writer->Begin(i, v1::Command::kLaunch, 0x0100000100000003, "saxpy");
  }
  writer->SetReceived(40);
  writer->SetProcessed(19);
  const auto progress = ReadProgress(memory.fd.get());
  ASSERT_TRUE(progress.ok()) << progress.status();
  ASSERT_EQ(progress->last_commands.size(), 16u);
  EXPECT_EQ(progress->last_commands.front(),
            "5: launch saxpy on stream 0x0100000100000003");
  EXPECT_EQ(progress->begun, 20u);
  EXPECT_EQ(progress->processed, 19u);
  EXPECT_EQ(progress->received, 40u);
}

TEST(JournalTest, BlamesAKernelOnlyIfItIsTheOnlyOne) {
  Memory memory;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  const auto kernel = [&] { return ReadProgress(memory.fd.get())->kernel; };
  writer->Begin(1, v1::Command::kLaunch, 1, "first");
  EXPECT_EQ(kernel(), "first");
  writer->Begin(2, v1::Command::kLaunch, 1, "second");
  EXPECT_EQ(kernel(), "");
  writer->SetCompleted(1);
  EXPECT_EQ(kernel(), "second");
  for (uint64_t i = 3; i < 30; ++i) {
    writer->Begin(i, v1::Command::kLaunch, 1, "second");
  }
  EXPECT_EQ(kernel(), "") << "some of them are not remembered";
}

TEST(JournalTest, RefusesWhatIsNoJournal) {
  Memory memory;
  EXPECT_EQ(ReadProgress(memory.fd.get()).status().code(),
            absl::StatusCode::kDataLoss);
  const UniqueFd small = CreateFixedMemfd("small", 4096).value();
  EXPECT_FALSE(ReadProgress(small.get()).ok());
  EXPECT_FALSE(JournalWriter::Map(small.get()).ok());
  // One that its writer could still shrink would be a trap.
  const UniqueFd open = CreateMemfd("open", kJournalBytes).value();
  EXPECT_FALSE(ReadRecords(open.get()).ok());
  EXPECT_FALSE(ReadRecords(-1).ok());
}

TEST(JournalTest, CountsThatCannotBeAreDamage) {
  Memory memory;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  writer->Append(Creation(1));
  memory.header().state = kHalfBytes + 1;
  EXPECT_EQ(ReadRecords(memory.fd.get()).status().code(),
            absl::StatusCode::kDataLoss);
  memory.header().completed = 7;
  EXPECT_EQ(ReadProgress(memory.fd.get()).status().code(),
            absl::StatusCode::kDataLoss);
}

// Whatever a taken-over executor leaves: an answer, never a crash.
TEST(JournalTest, RandomDamageIsFoundOrHarmless) {
  Memory memory;
  const auto writer = JournalWriter::Map(memory.fd.get()).value();
  for (uint64_t i = 1; i <= 40; ++i) {
    writer->Begin(i, v1::Command::kLaunch, i, "kernel");
    writer->Append(Creation(i, i));
    if (i % 4 == 0) writer->Append(End(i / 2));
  }
  const size_t used = kHeaderBytes + writer->size();
  const std::string whole(memory.bytes(), used);
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::memcpy(memory.bytes(), whole.data(), used);
    for (uint32_t i = random() % 8; i < 8; ++i) {
      memory.bytes()[8 + random() % (used - 8)] = static_cast<char>(random());
    }
    (void)ReadProgress(memory.fd.get());
    (void)LiveHandles(memory);
  }
}

}  // namespace
}  // namespace holdfast::journal
