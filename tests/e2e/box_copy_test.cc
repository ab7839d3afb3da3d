// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/box_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "client/cpp/session.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr uint64_t kRow = 100, kRows = 50, kSize = kRow * kRows;

class BoxCopyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto session = Session::Open({.address = daemon_.address()});
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }
  std::vector<uint8_t> BytesOf(const Buffer& buffer, const Stream& stream) {
    std::vector<uint8_t> bytes(buffer.size());
    EXPECT_TRUE(buffer.Download(bytes, stream).ok());
    return bytes;
  }

  DaemonProcess daemon_;
  std::unique_ptr<Session> session_;
};

TEST_F(BoxCopyTest, ATileIsCopiedFilledAndPutBack) {
  const Stream stream = *session_->device(0).CreateStream();
  const Buffer image = *session_->device(0).Allocate(kSize, stream);
  const Buffer tile = *session_->device(0).Allocate(8 * 4, stream);
  std::vector<uint8_t> expected(kSize);
  for (uint64_t i = 0; i < kSize; ++i) expected[i] = static_cast<uint8_t>(i);
  ASSERT_TRUE(image.Upload(expected, stream).ok());
  const Box box = {.width = 8, .height = 4};
  ASSERT_TRUE(CopyBox(box, {tile}, {image, 205, kRow}, stream).ok());
  std::vector<uint8_t> cut;
  for (uint64_t row = 2; row < 6; ++row) {
    cut.insert(cut.end(), &expected[row * kRow + 5],
               &expected[row * kRow + 13]);
  }
  EXPECT_EQ(BytesOf(tile, stream), cut);
  ASSERT_TRUE(
      FillRows(uint16_t{0x0201}, {image, 204, kRow}, 10, 4, stream).ok());
  ASSERT_TRUE(CopyBox(box, {image, 205, kRow}, {tile}, stream).ok());
  for (uint64_t row = 2; row < 6; ++row) {
    expected[row * kRow + 4] = 1;
    expected[row * kRow + 13] = 2;
  }
  EXPECT_EQ(BytesOf(image, stream), expected);
}

TEST_F(BoxCopyTest, ABatchIsMadeAsAWholeOrNotAtAll) {
  const Stream stream = *session_->device(0).CreateStream();
  const Buffer from = *session_->device(0).Allocate(100, stream);
  const Buffer to = *session_->device(0).Allocate(100, stream);
  ASSERT_TRUE(from.Fill(uint8_t{3}, stream).ok());
  ASSERT_TRUE(to.Fill(uint8_t{0}, stream).ok());
  const RangeCopy copies[] = {{to, 0, from, 0, 10}, {to, 90, from, 5, 10}};
  ASSERT_TRUE(CopyAll(copies, stream).ok());
  std::vector<uint8_t> expected(100);
  for (int i = 0; i < 10; ++i) expected[i] = expected[90 + i] = 3;
  EXPECT_EQ(BytesOf(to, stream), expected);
  const RangeCopy bad[] = {{to, 50, from, 0, 10}, {to, 91, from, 5, 10}};
  EXPECT_EQ(CopyAll(bad, stream).code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(BytesOf(to, stream), expected);
}

}  // namespace
}  // namespace holdfast::e2e
