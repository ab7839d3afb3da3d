// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills with pitches, and batches of copies.
#include <cstdint>
#include <string>

#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using grpc::StatusCode;

constexpr uint64_t kMost = UINT64_MAX;

// Offset, row pitch, slice pitch; and width, height, depth.
struct Place {
  uint64_t buffer, offset, row = 0, slice = 0;
};
struct Measures {
  uint64_t width, height, depth;
};

class CopyTest : public ExecutorTest {
 protected:
  static constexpr uint64_t kSize = 4096;

  // Stream 0; buffer 0 of the bytes 0, 1, ... 255, 0, ...; buffer 1 of zeros;
  // buffer 2, memory of the host, of zeros.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ExecutorTest::SetUp());
    for (uint64_t i = 0; i < kSize; ++i) {
      source_.push_back(static_cast<char>(i));
    }
    Batch batch;
    batch.CreateStream(StreamName(0));
    batch.Allocate(BufferName(0), kSize);
    batch.Allocate(BufferName(1), kSize);
    batch.AllocateHost(BufferName(2), kSize);
    batch.Write(StreamName(0), BufferName(0), 0, source_);
    batch.FillWord(StreamName(0), BufferName(1), 0, kSize, 0);
    batch.FillWord(StreamName(0), BufferName(2), 0, kSize, 0);
    ASSERT_TRUE(Run(batch).empty());
    next_sequence_ = batch.last_sequence() + 1;
  }

  static void Fill(v1::PitchedRange& range, const Place& place) {
    range.set_buffer(place.buffer);
    range.set_offset(place.offset);
    range.set_row_pitch(place.row);
    range.set_slice_pitch(place.slice);
  }

  StatusCode Copy(const Place& to, const Place& from,
                  const Measures& measures) {
    Batch batch(next_sequence_);
    v1::CopyRect& copy = *batch.Add().mutable_copy_rect();
    copy.set_stream(StreamName(0));
    Fill(*copy.mutable_destination(), to);
    Fill(*copy.mutable_source(), from);
    copy.set_width(measures.width);
    copy.set_height(measures.height);
    copy.set_depth(measures.depth);
    return Outcome(batch);
  }

  // The definition's effect, computed here.
  static void CopyHere(std::string* to, const Place& to_place,
                       const std::string& from, const Place& from_place,
                       const Measures& m) {
    for (uint64_t z = 0; z < m.depth; ++z) {
      for (uint64_t y = 0; y < m.height; ++y) {
        to->replace(
            to_place.offset + z * to_place.slice + y * to_place.row, m.width,
            from, from_place.offset + z * from_place.slice + y * from_place.row,
            m.width);
      }
    }
  }

  StatusCode Outcome(Batch& batch) {
    const uint64_t sequence = batch.last_sequence();
    next_sequence_ = sequence + 1;
    const auto results = Run(batch);
    const auto found = results.find(sequence);
    if (found == results.end()) return StatusCode::OK;
    EXPECT_NE(found->second.error().message(), "");
    return static_cast<StatusCode>(found->second.error().code());
  }

  std::string BytesOf(uint64_t buffer) {
    Batch batch(next_sequence_);
    const uint64_t read = batch.Read(StreamName(0), buffer, 0, kSize);
    next_sequence_ = read + 1;
    return Run(batch).at(read).data();
  }

  std::string source_;
  uint64_t next_sequence_ = 0;
};

TEST_F(CopyTest, RowsAndSlicesGoWhereTheirPitchesSay) {
  struct Case {
    Place to, from;
    Measures measures;
  };
  const Case cases[] = {
      {{BufferName(1), 0}, {BufferName(0), 0}, {64, 1, 1}},
      {{BufferName(1), 3, 10, 40}, {BufferName(0), 5, 16, 64}, {7, 4, 1}},
      {{BufferName(1), 1, 16, 80}, {BufferName(0), 7, 12, 60}, {12, 5, 3}},
      {{BufferName(2), 9, 64, 256}, {BufferName(0), 0, 33, 99}, {33, 3, 2}},
  };
  for (const Case& c : cases) {
    std::string expected = BytesOf(c.to.buffer);
    CopyHere(&expected, c.to, source_, c.from, c.measures);
    ASSERT_EQ(Copy(c.to, c.from, c.measures), StatusCode::OK);
    EXPECT_TRUE(BytesOf(c.to.buffer) == expected);
  }
}

TEST_F(CopyTest, PitchesThatAreNotGivenLeaveNoGaps) {
  ASSERT_EQ(Copy({BufferName(1), 0}, {BufferName(0), 0}, {16, 8, 4}),
            StatusCode::OK);
  EXPECT_TRUE(BytesOf(BufferName(1)).substr(0, 512) == source_.substr(0, 512));
}

TEST_F(CopyTest, InterleavedBoxesOfOneBufferAreCopiedOthersRefused) {
  // Every other 16 bytes.
  const Place even = {BufferName(0), 0, 32, 0}, odd = {BufferName(0), 16, 32};
  std::string expected = source_;
  CopyHere(&expected, {BufferName(0), 16, 32, 0}, source_, even, {16, 64, 1});
  ASSERT_EQ(Copy(odd, even, {16, 64, 1}), StatusCode::OK);
  EXPECT_TRUE(BytesOf(BufferName(0)) == expected);
  EXPECT_EQ(Copy(odd, even, {17, 64, 1}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Copy({BufferName(0), 16, 33}, even, {16, 64, 1}),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Copy(even, even, {1, 1, 1}), StatusCode::INVALID_ARGUMENT);
}

TEST_F(CopyTest, WhatReachesBeyondTheEndIsRefusedWithoutOverflow) {
  const Place from = {BufferName(0), 0};
  // The last byte is the buffer's last; then one more.
  EXPECT_EQ(Copy({BufferName(1), kSize - 3 * 100 - 4, 100}, from, {4, 4, 1}),
            StatusCode::OK);
  EXPECT_EQ(Copy({BufferName(1), kSize - 3 * 100 - 3, 100}, from, {4, 4, 1}),
            StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Copy({BufferName(1), kMost}, from, {4, 4, 1}),
            StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Copy({BufferName(1), 0, kMost}, from, {1, 2, 1}),
            StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Copy({BufferName(1), 0, uint64_t{1} << 63}, from, {1, 3, 1}),
            StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Copy({BufferName(1), 0, 1, uint64_t{1} << 63}, from, {1, 1, 3}),
            StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Copy({BufferName(1), 0}, from, {kMost, kMost, kMost}),
            StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Copy({BufferName(1), 0}, from, {0, 1, 1}),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Copy({BufferName(9), 0}, from, {1, 1, 1}), StatusCode::NOT_FOUND);
  EXPECT_EQ(Copy({StreamName(0), 0}, from, {1, 1, 1}),
            StatusCode::INVALID_ARGUMENT);
}

class FillRectTest : public CopyTest {
 protected:
  template <typename SetPattern>
  StatusCode FillRows(const Place& place, uint64_t width, uint64_t height,
                      SetPattern set_pattern) {
    Batch batch(next_sequence_);
    v1::FillRect& fill = *batch.Add().mutable_fill_rect();
    fill.set_stream(StreamName(0));
    Fill(*fill.mutable_destination(), place);
    fill.set_width(width);
    fill.set_height(height);
    set_pattern(fill);
    return Outcome(batch);
  }
  static void Byte(v1::FillRect& fill) { fill.set_byte(0xab); }
  static void HalfWord(v1::FillRect& fill) { fill.set_half_word(0x1234); }
  static void Word(v1::FillRect& fill) { fill.set_word(0x01020304); }
};

TEST_F(FillRectTest, RowsAreFilledAndWhatLiesBetweenIsNot) {
  std::string expected = BytesOf(BufferName(1));
  ASSERT_EQ(FillRows({BufferName(1), 1, 10}, 3, 4, Byte), StatusCode::OK);
  for (const size_t row : {1, 11, 21, 31}) expected.replace(row, 3, 3, '\xab');
  ASSERT_EQ(FillRows({BufferName(1), 100, 10}, 4, 2, HalfWord), StatusCode::OK);
  for (const size_t row : {100, 110})
    expected.replace(row, 4, "\x34\x12\x34\x12");
  ASSERT_EQ(FillRows({BufferName(1), 200, 8}, 4, 2, Word), StatusCode::OK);
  for (const size_t row : {200, 208})
    expected.replace(row, 4, "\x04\x03\x02\x01");
  // Without gaps.
  ASSERT_EQ(FillRows({BufferName(1), 300}, 5, 5, Byte), StatusCode::OK);
  expected.replace(300, 25, 25, '\xab');
  EXPECT_TRUE(BytesOf(BufferName(1)) == expected);
}

TEST_F(FillRectTest, PatternsThatDoNotFitAreRefused) {
  const auto invalid = StatusCode::INVALID_ARGUMENT;
  EXPECT_EQ(FillRows({BufferName(1), 0, 16}, 4, 2, [](auto&) {}), invalid);
  EXPECT_EQ(FillRows({BufferName(1), 0, 16}, 6, 2, Word), invalid);
  EXPECT_EQ(FillRows({BufferName(1), 2, 16}, 8, 2, Word), invalid);
  EXPECT_EQ(FillRows({BufferName(1), 0, 18}, 8, 2, Word), invalid);
  EXPECT_EQ(FillRows({BufferName(1), 0, 16, 32}, 8, 2, Word), invalid);
  EXPECT_EQ(FillRows({BufferName(1), 0, 16}, 8, 2,
                     [](v1::FillRect& fill) { fill.set_byte(256); }),
            invalid);
  EXPECT_EQ(FillRows({BufferName(1), 0, 16}, 0, 2, Byte), invalid);
  EXPECT_EQ(FillRows({BufferName(1), kSize - 20, 16}, 5, 2, Byte),
            StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(FillRows({BufferName(1), 0}, kMost, kMost, Byte),
            StatusCode::OUT_OF_RANGE);
}

class CopyBatchTest : public CopyTest {
 protected:
  static void AddCopy(v1::CopyBatch& batch, uint64_t to, uint64_t to_offset,
                      uint64_t from, uint64_t from_offset, uint64_t size) {
    v1::BatchedCopy& copy = *batch.add_copies();
    copy.set_destination(to);
    copy.set_destination_offset(to_offset);
    copy.set_source(from);
    copy.set_source_offset(from_offset);
    copy.set_size(size);
  }
};

TEST_F(CopyBatchTest, AllCopiesOfABatchAreMade) {
  std::string expected = BytesOf(BufferName(1));
  Batch batch(next_sequence_);
  v1::CopyBatch& list = *batch.Add().mutable_copy_batch();
  list.set_stream(StreamName(0));
  for (uint64_t i = 0; i < 100; ++i) {
    AddCopy(list, BufferName(1), i * 40, BufferName(0), i * 3, i % 30);
    expected.replace(i * 40, i % 30, source_, i * 3, i % 30);
  }
  ASSERT_EQ(Outcome(batch), StatusCode::OK);
  EXPECT_TRUE(BytesOf(BufferName(1)) == expected);
}

TEST_F(CopyBatchTest, IfOneIsRefusedNoneIsMade) {
  struct Bad {
    uint64_t to, to_offset, from, from_offset, size;
    StatusCode code;
  };
  const Bad bad[] = {
      {BufferName(1), kSize - 1, BufferName(0), 0, 2, StatusCode::OUT_OF_RANGE},
      {BufferName(1), 0, BufferName(0), kMost, 2, StatusCode::OUT_OF_RANGE},
      {BufferName(1), 0, BufferName(7), 0, 2, StatusCode::NOT_FOUND},
      {BufferName(1), 0, BufferName(1), 1, 2, StatusCode::INVALID_ARGUMENT},
  };
  for (const Bad& b : bad) {
    Batch batch(next_sequence_);
    v1::CopyBatch& list = *batch.Add().mutable_copy_batch();
    list.set_stream(StreamName(0));
    AddCopy(list, BufferName(1), 0, BufferName(0), 1, 64);
    AddCopy(list, b.to, b.to_offset, b.from, b.from_offset, b.size);
    EXPECT_EQ(Outcome(batch), b.code);
    EXPECT_EQ(BytesOf(BufferName(1)), std::string(kSize, '\0'));
  }
}

TEST_F(CopyBatchTest, ABatchOfNothingIsNothing) {
  Batch batch(next_sequence_);
  batch.Add().mutable_copy_batch()->set_stream(StreamName(0));
  EXPECT_EQ(Outcome(batch), StatusCode::OK);
}

}  // namespace
}  // namespace holdfast::testing
