// SPDX-License-Identifier: Apache-2.0
//
// Large copies through a real daemon, by several calls at once, on every kind
// of socket.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "client/cpp/session.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

// Four parts, the last of them shorter and no whole message.
constexpr uint64_t kSize = (36 << 20) + 12344;

std::vector<uint32_t> Numbers(uint32_t seed) {
  std::vector<uint32_t> numbers(kSize / 4);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<uint32_t>(i) * 2654435761u + seed;
  }
  return numbers;
}

class TransferTest : public ::testing::TestWithParam<bool> {
 protected:
  static void SetUpTestSuite() { daemon_ = new DaemonProcess(); }
  static void TearDownTestSuite() { delete daemon_; }

  std::unique_ptr<Session> Open() {
    auto session = Session::Open(
        {.address = GetParam() ? daemon_->tcp_address() : daemon_->address(),
         .transfer_calls = 4});
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  static DaemonProcess* daemon_;
};

DaemonProcess* TransferTest::daemon_ = nullptr;

TEST_P(TransferTest, BytesComeBackAsTheyWent) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(kSize, stream);
  for (uint32_t seed = 0; seed < 3; ++seed) {
    const std::vector<uint32_t> numbers = Numbers(seed);
    absl::Status status = buffer.Upload(numbers, stream);
    ASSERT_TRUE(status.ok()) << status;
    std::vector<uint32_t> back(numbers.size());
    status = buffer.Download(back, stream);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(back == numbers);
  }
}

TEST_P(TransferTest, CopiesOfAFewCommandsComeBackAsTheyWent) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(2 << 20, stream);
  for (const size_t size : {65536, 65537, 300001, 1 << 20, (1 << 20) + 1}) {
    std::vector<char> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 / 3);
    ASSERT_TRUE(buffer.Upload(bytes.data(), size, stream, 4096).ok());
    std::vector<char> back(size);
    ASSERT_TRUE(buffer.Download(back.data(), size, stream, 4096).ok());
    EXPECT_TRUE(back == bytes) << size;
  }
}

TEST_P(TransferTest, NothingIsCopiedIfNotAllOfItFits) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(200'000, stream);
  ASSERT_TRUE(buffer.Fill(uint8_t{1}, stream).ok());
  const std::vector<char> bytes(200'001, 2);
  const absl::Status status = buffer.Upload(bytes.data(), 200'001, stream);
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  std::vector<char> back(200'000);
  ASSERT_TRUE(buffer.Download(back.data(), 200'000, stream).ok());
  EXPECT_TRUE(back == std::vector<char>(200'000, 1));
}

TEST_P(TransferTest, EachPartComesAfterWhatTheStreamWasGivenBefore) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(kSize, stream);
  const Buffer other = *session->device(0).Allocate(kSize, stream);
  const std::vector<uint32_t> numbers = Numbers(7);
  std::vector<uint32_t> back(numbers.size());
  ASSERT_TRUE(buffer.Fill(uint8_t{1}, stream).ok());
  ASSERT_TRUE(buffer.Upload(numbers, stream).ok());
  ASSERT_TRUE(other.CopyFrom(buffer, stream).ok());
  ASSERT_TRUE(buffer.Fill(uint8_t{2}, stream).ok());
  ASSERT_TRUE(other.Download(back, stream).ok());
  EXPECT_TRUE(back == numbers);
}

TEST_P(TransferTest, WhyOnePartFailedIsToldAndTheSessionGoesOn) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const std::vector<uint32_t> numbers = Numbers(1);
  {
    // Too large: it cannot be made, and each part that names it fails.
    const Buffer huge = *session->device(0).Allocate(uint64_t{1} << 60, stream);
    const absl::Status status = huge.Upload(numbers, stream);
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  }
  (void)session->Synchronize();
  const Buffer buffer = *session->device(0).Allocate(kSize, stream);
  EXPECT_TRUE(buffer.Upload(numbers, stream).ok());
}

TEST_P(TransferTest, ThreadsShareTheConnections) {
  const auto session = Open();
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 6; ++i) {
    threads.emplace_back([&session, i] {
      const Stream stream = *session->device(0).CreateStream();
      const Buffer buffer = *session->device(0).Allocate(kSize, stream);
      const std::vector<uint32_t> numbers = Numbers(i);
      std::vector<uint32_t> back(numbers.size());
      absl::Status status = buffer.Upload(numbers, stream);
      EXPECT_TRUE(status.ok()) << status;
      status = buffer.Download(back, stream);
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_TRUE(back == numbers);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Sockets, TransferTest, ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Tcp" : "Unix";
                         });

}  // namespace
}  // namespace holdfast::e2e
