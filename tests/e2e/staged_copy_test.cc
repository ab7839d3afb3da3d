// SPDX-License-Identifier: Apache-2.0
//
// Large copies of ordinary memory: through shared memory where there can be
// some, else through messages.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "client/cpp/session.h"
#include "client/cpp/transfer/arena.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr uint64_t kMiB = 1 << 20;

std::vector<uint8_t> Pattern(uint64_t size, uint32_t seed) {
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) {
    seed = seed * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(seed >> 24);
  }
  return bytes;
}

class StagedCopyTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Session> Open(const std::string& address) {
    auto session = Session::Open({.address = address});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }
  std::unique_ptr<Session> Open() const { return Open(daemon_.address()); }

  // Bytes by path of the only session.
  static uint64_t Bytes(const Session& session, v1::CopyPath path) {
    const auto sessions = session.daemon().Sessions();
    EXPECT_TRUE(sessions.ok() && sessions->size() == 1);
    for (const v1::CopyStatistics& copies : sessions->front().copies()) {
      if (copies.path() == path) return copies.bytes();
    }
    return 0;
  }

  DaemonProcess daemon_;
};

TEST_F(StagedCopyTest, BytesOfAnySizeComeBackAsTheyWent) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  constexpr uint64_t kLargest = 40 * kMiB + 3;
  const Buffer buffer = *session->device(0).Allocate(kLargest + 7, stream);
  uint64_t staged = 0;
  for (const uint64_t size :
       {kMiB, kMiB - 1, uint64_t{65537}, 2 * kMiB + 1, 16 * kMiB - 1, 16 * kMiB,
        17 * kMiB + 5, kLargest}) {
    const std::vector<uint8_t> bytes =
        Pattern(size, static_cast<uint32_t>(size));
    ASSERT_TRUE(buffer.Upload(bytes.data(), size, stream, 7).ok()) << size;
    std::vector<uint8_t> back(size);
    ASSERT_TRUE(buffer.Download(back.data(), size, stream, 7).ok()) << size;
    ASSERT_TRUE(back == bytes) << size;
    staged += 2 * size;
  }
  EXPECT_EQ(Bytes(*session, v1::COPY_PATH_STAGED), staged);
  EXPECT_EQ(Bytes(*session, v1::COPY_PATH_STREAM), 0u);
}

TEST_F(StagedCopyTest, WithoutSharedMemoryTheyGoInMessages) {
  const auto session = Open(daemon_.tcp_address());
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(3 * kMiB, stream);
  const std::vector<uint8_t> bytes = Pattern(3 * kMiB, 1);
  ASSERT_TRUE(buffer.Upload(bytes, stream).ok());
  std::vector<uint8_t> back(3 * kMiB);
  ASSERT_TRUE(buffer.Download(back, stream).ok());
  EXPECT_TRUE(back == bytes);
  EXPECT_EQ(Bytes(*session, v1::COPY_PATH_STREAM), 6 * kMiB);
  EXPECT_EQ(Bytes(*session, v1::COPY_PATH_STAGED), 0u);
}

TEST_F(StagedCopyTest, WithoutRoomForSharedMemoryTheyGoInMessages) {
  const auto session = Open();
  std::vector<std::shared_ptr<Arena>> arenas;
  for (auto arena = session->CreateArena(4096); arena.ok();
       arena = session->CreateArena(4096)) {
    arenas.push_back(*arena);
  }
  ASSERT_FALSE(arenas.empty());
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(2 * kMiB, stream);
  const std::vector<uint8_t> bytes = Pattern(2 * kMiB, 1);
  ASSERT_TRUE(buffer.Upload(bytes, stream).ok());
  std::vector<uint8_t> back(2 * kMiB);
  ASSERT_TRUE(buffer.Download(back, stream).ok());
  EXPECT_TRUE(back == bytes);
}

TEST_F(StagedCopyTest, TheyKeepTheOrderOfTheirStream) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(4 * kMiB, stream);
  std::vector<uint8_t> bytes(4 * kMiB, 1), back(4 * kMiB);
  for (uint8_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(buffer.Fill(uint8_t{255}, stream).ok());
    std::memset(bytes.data(), i, bytes.size());
    ASSERT_TRUE(buffer.Upload(bytes, stream).ok());
    ASSERT_TRUE(buffer.Fill(uint8_t{254}, 0, 1, stream).ok());
    ASSERT_TRUE(buffer.Download(back, stream).ok());
    EXPECT_EQ(back[0], 254);
    EXPECT_TRUE(std::memcmp(&back[1], &bytes[1], back.size() - 1) == 0);
  }
}

// More than there are slots for.
TEST_F(StagedCopyTest, ManyAtOnceAllComeThrough) {
  const auto session = Open();
  constexpr uint64_t kSize = 20 * kMiB + 1;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 12; ++i) {
    threads.emplace_back([&session, i] {
      const Stream stream = *session->device(0).CreateStream();
      const Buffer buffer = *session->device(0).Allocate(kSize, stream);
      const std::vector<uint8_t> bytes = Pattern(kSize, i);
      std::vector<uint8_t> back(kSize);
      EXPECT_TRUE(buffer.Upload(bytes, stream).ok());
      EXPECT_TRUE(buffer.Download(back, stream).ok());
      EXPECT_TRUE(back == bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(StagedCopyTest, NothingIsCopiedBeyondTheEndOfABuffer) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(4 * kMiB, stream);
  ASSERT_TRUE(buffer.Fill(uint8_t{5}, stream).ok());
  std::vector<uint8_t> bytes(4 * kMiB + 1, 9);
  const auto out_of_range = absl::StatusCode::kOutOfRange;
  EXPECT_EQ(buffer.Upload(bytes, stream).code(), out_of_range);
  EXPECT_EQ(buffer.Upload(bytes.data(), 2 * kMiB, stream, UINT64_MAX).code(),
            out_of_range);
  EXPECT_EQ(
      buffer.Download(bytes.data(), 2 * kMiB, stream, 2 * kMiB + 1).code(),
      out_of_range);
  std::vector<uint8_t> back(4 * kMiB);
  ASSERT_TRUE(buffer.Download(back, stream).ok());
  EXPECT_TRUE(back == std::vector<uint8_t>(4 * kMiB, 5));
}

TEST_F(StagedCopyTest, ADownloadTellsTheFailuresOfTheCommandsBefore) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(4 * kMiB, stream);
  std::vector<uint8_t> bytes(4 * kMiB);
  ASSERT_TRUE(buffer.Upload(bytes, stream).ok());
  ASSERT_TRUE(buffer.Fill(uint8_t{1}, 4 * kMiB, 1, stream).ok());
  EXPECT_EQ(buffer.Download(bytes, stream).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(buffer.Download(bytes, stream).ok());
}

TEST_F(StagedCopyTest, ABufferThatCouldNotBeMadeTellsItsCause) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(uint64_t{1} << 60, stream);
  std::vector<uint8_t> bytes(4 * kMiB);
  EXPECT_EQ(buffer.Upload(bytes, stream).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(StagedCopyTest, AfterTheSessionTheyFail) {
  auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(4 * kMiB, stream);
  std::vector<uint8_t> bytes(4 * kMiB);
  ASSERT_TRUE(buffer.Upload(bytes, stream).ok());
  session.reset();
  EXPECT_FALSE(buffer.Upload(bytes, stream).ok());
  EXPECT_FALSE(buffer.Download(bytes, stream).ok());
}

}  // namespace
}  // namespace holdfast::e2e
