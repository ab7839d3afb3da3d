// SPDX-License-Identifier: Apache-2.0
#include "core/base/message_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using testing::StatusIs;

constexpr absl::Duration kMoment = absl::Milliseconds(1);

// Both ends in one process, in memory that is smaller than many a message.
class MessageRingTest : public ::testing::Test {
 protected:
  static constexpr size_t kCapacity = 64;
  static constexpr size_t kMaxMessage = 10000;

  // Waits for a message; "(none)" once the ring is closed.
  std::string Receive() {
    for (;;) {
      const bool closed = reader_.closed();
      const auto message = reader_.Read();
      if (!message.ok()) return std::string(message.status().message());
      if (message->has_value()) return std::string(**message);
      if (closed) return "(none)";
      reader_.Await(absl::Seconds(60));
    }
  }

  RingCounts counts_ = {};
  char bytes_[kCapacity] = {};
  RingWriter writer_{{&counts_, bytes_, kCapacity}};
  RingReader reader_{{&counts_, bytes_, kCapacity}, kMaxMessage};
};

TEST_F(MessageRingTest, MessagesComeOutAsTheyWentIn) {
  EXPECT_FALSE(reader_.Ready());
  for (const char* text : {"first", "", "the third one, which is longer"}) {
    ASSERT_OK(writer_.Write(text));
    EXPECT_TRUE(reader_.Ready());
    EXPECT_EQ(Receive(), text);
    EXPECT_FALSE(reader_.Ready());
  }
  ASSERT_OK_AND_ASSIGN(const auto none, reader_.Read());
  EXPECT_FALSE(none.has_value());
}

TEST_F(MessageRingTest, TheWriterFindsWhatNobodyTook) {
  for (const char* text : {"taken", "second", "third"}) {
    ASSERT_OK(writer_.Write(text));
  }
  EXPECT_EQ(Receive(), "taken");
  // The rest of this one is never written.
  std::thread writer([this] {
    EXPECT_FALSE(writer_.Write(std::string(kCapacity, 'x')).ok());
  });
  absl::SleepFor(kMoment);
  writer_.Close();
  writer.join();
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(writer_.Unread(kMaxMessage),
              (std::vector<std::string>{"second", "third"}));
  }
}

TEST_F(MessageRingTest, SeveralWaitInTheRing) {
  for (int i = 0; i < 4; ++i) ASSERT_OK(writer_.Write(std::to_string(i)));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Receive(), std::to_string(i));
}

TEST_F(MessageRingTest,
       MessagesOfAllSizesGoRoundWhileBothEndsWaitForEachOther) {
  std::thread writer([this] {
    for (size_t size = 0; size < 300; ++size) {
      ASSERT_OK(writer_.Write(std::string(size, 'a' + size % 26)));
    }
  });
  for (size_t size = 0; size < 300; ++size) {
    ASSERT_EQ(Receive(), std::string(size, 'a' + size % 26));
  }
  writer.join();
}

TEST_F(MessageRingTest, AMessageMayBeMuchLargerThanTheRing) {
  const std::string large(kMaxMessage, 'x');
  std::thread writer([&] { ASSERT_OK(writer_.Write(large)); });
  EXPECT_EQ(Receive(), large);
  writer.join();
}

TEST_F(MessageRingTest, PartsAreOneMessage) {
  const absl::string_view parts[] = {"one ", "", "message"};
  ASSERT_OK(writer_.Write(parts));
  EXPECT_EQ(Receive(), "one message");
  ASSERT_OK(writer_.Write(absl::Span<const absl::string_view>()));
  EXPECT_EQ(Receive(), "");
}

// In 64 bytes: those of a length, 4, are before each message.
TEST_F(MessageRingTest, AMessageIsWrittenInPlaceWhereItFitsInOnePiece) {
  const auto write = [this](const std::string& text) {
    const auto place = writer_.Reserve(text.size());
    ASSERT_OK(place.status());
    ASSERT_NE(*place, nullptr) << text.size();
    std::memcpy(*place, text.data(), text.size());
    writer_.Commit(text.size());
  };
  write("");
  write(std::string(48, 'a'));
  EXPECT_EQ(Receive(), "");
  EXPECT_EQ(Receive(), std::string(48, 'a'));
  // 56 bytes were written: 4 more are a length's, and the end is 4 bytes later.
  ASSERT_OK_AND_ASSIGN(char* const over_the_end, writer_.Reserve(5));
  EXPECT_EQ(over_the_end, nullptr);
  write("4444");
  // The length of the next one has the ring's end before it.
  write("after");
  EXPECT_EQ(Receive(), "4444");
  EXPECT_EQ(Receive(), "after");
  ASSERT_OK_AND_ASSIGN(char* const too_large, writer_.Reserve(kCapacity - 3));
  EXPECT_EQ(too_large, nullptr);
}

TEST_F(MessageRingTest, NoMessageIsWrittenInPlaceBeforeTheReaderHasMadeRoom) {
  ASSERT_OK(writer_.Write(std::string(40, 'a')));
  ASSERT_OK_AND_ASSIGN(char* const full, writer_.Reserve(17));
  EXPECT_EQ(full, nullptr);
  counts_.read = 1000;
  EXPECT_THAT(writer_.Reserve(1).status(),
              StatusIs(absl::StatusCode::kDataLoss, "says"));
  writer_.Close();
  EXPECT_THAT(writer_.Reserve(1).status(),
              StatusIs(absl::StatusCode::kCancelled, "closed"));
}

TEST_F(MessageRingTest, AMessageThatWasTakenStaysWhileOthersAreRead) {
  ASSERT_OK(writer_.Write("kept"));
  EXPECT_EQ(Receive(), "kept");
  const std::unique_ptr<char[]> kept = reader_.Release();
  for (const char* text : {"next", "and one more that is longer"}) {
    ASSERT_OK(writer_.Write(text));
    EXPECT_EQ(Receive(), text);
  }
  EXPECT_EQ(absl::string_view(kept.get(), 4), "kept");
}

TEST_F(MessageRingTest, APartOfAMessageIsNoMessage) {
  std::thread writer(
      [&] { writer_.Write(std::string(200, 'x')).IgnoreError(); });
  reader_.Await(absl::Seconds(60));
  ASSERT_OK_AND_ASSIGN(const auto message, reader_.Read());
  EXPECT_FALSE(message.has_value());
  writer_.Close();
  writer.join();
}

TEST_F(MessageRingTest, ASleepingReaderIsWoken) {
  std::thread writer([this] {
    absl::SleepFor(absl::Milliseconds(50));  // Longer than any end looks.
    ASSERT_OK(writer_.Write("wake up"));
  });
  EXPECT_EQ(Receive(), "wake up");
  writer.join();
}

TEST_F(MessageRingTest, ASleepingWriterIsWoken) {
  ASSERT_OK(writer_.Write(std::string(kCapacity - 4, 'x')));
  std::thread writer([this] { ASSERT_OK(writer_.Write("second")); });
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(Receive(), std::string(kCapacity - 4, 'x'));
  EXPECT_EQ(Receive(), "second");
  writer.join();
}

TEST_F(MessageRingTest, AwaitEndsWithoutAMessage) {
  reader_.Await(kMoment);
  EXPECT_FALSE(reader_.Ready());
}

TEST_F(MessageRingTest, AnInterruptEndsThisAwaitOrTheNextOne) {
  std::thread other([this] {
    absl::SleepFor(absl::Milliseconds(50));
    reader_.Interrupt();
  });
  reader_.Await(absl::Minutes(1));
  other.join();
  reader_.Interrupt();
  reader_.Await(absl::Minutes(1));
  ASSERT_OK(writer_.Write("and goes on"));
  EXPECT_EQ(Receive(), "and goes on");
}

TEST_F(MessageRingTest, AMessageThatDoesNotFitInNowIsNotTried) {
  ASSERT_OK_AND_ASSIGN(bool written,
                       writer_.TryWrite(std::string(kCapacity - 3, 'x')));
  EXPECT_FALSE(written);
  EXPECT_FALSE(reader_.Ready());
  ASSERT_OK_AND_ASSIGN(written, writer_.TryWrite("abcd"));
  EXPECT_TRUE(written);
  ASSERT_OK_AND_ASSIGN(written,
                       writer_.TryWrite(std::string(kCapacity - 11, 'x')));
  EXPECT_FALSE(written);
  const std::string rest(kCapacity - 16, 'x');
  const absl::string_view parts[] = {"yyyy", rest};
  ASSERT_OK_AND_ASSIGN(written, writer_.TryWrite(parts));
  EXPECT_TRUE(written);  // To the last byte.
  ASSERT_OK_AND_ASSIGN(written, writer_.TryWrite(""));
  EXPECT_FALSE(written);
  EXPECT_EQ(Receive(), "abcd");
  EXPECT_EQ(Receive(), "yyyy" + rest);
}

TEST_F(MessageRingTest, ATryWithAnImpossibleReaderOrAClosedRingFails) {
  counts_.read = 1000;
  EXPECT_THAT(writer_.TryWrite("text").status(),
              StatusIs(absl::StatusCode::kDataLoss, "says"));
  counts_.read = 0;
  writer_.Close();
  EXPECT_THAT(writer_.TryWrite("text").status(),
              StatusIs(absl::StatusCode::kCancelled, "closed"));
}

// A reader that makes the ring look empty and full by turns: a writer that
// looked more than once would wait for it, for ever.
TEST_F(MessageRingTest, ATryNeverWaitsForAReaderThatTakesItsCounterBack) {
  std::atomic<uint64_t> written{0};
  std::atomic<bool> done{false};
  std::thread liar([&] {
    while (!done) {
      const uint64_t at = written;
      counts_.read = at;              // Empty.
      counts_.read = at - kCapacity;  // Full.
    }
  });
  for (int tries = 0; tries < 200000; ++tries) {
    const auto tried = writer_.TryWrite("0123456789abcdef");
    // The reader's word may be impossible by the time that it is read.
    if (!tried.ok()) {
      EXPECT_EQ(tried.status().code(), absl::StatusCode::kDataLoss);
    }
    written = counts_.written.load();
  }
  done = true;
  liar.join();
}

TEST_F(MessageRingTest, ClosingEndsTheOnesWhoWait) {
  std::thread reader([this] { EXPECT_EQ(Receive(), "(none)"); });
  absl::SleepFor(absl::Milliseconds(30));
  reader_.Close();
  reader.join();
  ASSERT_OK(writer_.Write(std::string(kCapacity - 4, 'x')));
  std::thread writer([this] {
    EXPECT_THAT(writer_.Write("no room"),
                StatusIs(absl::StatusCode::kCancelled, "closed"));
  });
  absl::SleepFor(absl::Milliseconds(30));
  writer_.Close();
  writer.join();
}

TEST_F(MessageRingTest, WhatCameBeforeTheEndIsStillRead) {
  ASSERT_OK(writer_.Write("last"));
  reader_.Close();
  EXPECT_EQ(Receive(), "last");
  EXPECT_EQ(Receive(), "(none)");
}

TEST_F(MessageRingTest, AWriterThatCountsTooFarIsFoundOut) {
  counts_.written = kCapacity + 1;
  EXPECT_THAT(reader_.Read().status(),
              StatusIs(absl::StatusCode::kDataLoss, "65"));
}

TEST_F(MessageRingTest, AWriterThatCountsBackwardsIsFoundOut) {
  ASSERT_OK(writer_.Write("text"));
  EXPECT_EQ(Receive(), "text");
  counts_.written = 0;
  EXPECT_TRUE(reader_.Ready());
  EXPECT_THAT(reader_.Read().status(),
              StatusIs(absl::StatusCode::kDataLoss, "says"));
}

TEST_F(MessageRingTest, AReaderThatHasReadWhatWasNotWrittenIsFoundOut) {
  counts_.read = 1;
  EXPECT_THAT(writer_.Write("text"),
              StatusIs(absl::StatusCode::kDataLoss, "says"));
}

TEST_F(MessageRingTest, ALengthOverTheLimitTakesNoMemory) {
  const uint32_t length = kMaxMessage + 1;
  std::memcpy(bytes_, &length, sizeof length);
  counts_.written = sizeof length;
  EXPECT_THAT(reader_.Read().status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "10001 bytes, the limit is 10000"));
}

// Whatever the shared memory says, an end answers within its own bounds.
TEST_F(MessageRingTest, AnyMemoryIsReadWithinBounds) {
  std::minstd_rand random(1);
  for (int i = 0; i < 20000; ++i) {
    for (char& byte : bytes_) byte = static_cast<char>(random() >> 8);
    if (random() % 2 == 0) bytes_[2] = bytes_[3] = 0;
    counts_.written = counts_.read + random() % (2 * kCapacity);
    RingReader reader({&counts_, bytes_, kCapacity}, kMaxMessage);
    for (int reads = 0; reads < 3; ++reads) {
      const auto message = reader.Read();
      if (!message.ok()) break;
      if (message->has_value()) {
        EXPECT_LE((*message)->size(), kMaxMessage);
      }
      counts_.written += random() % kCapacity;
    }
  }
}

}  // namespace
}  // namespace holdfast
