// SPDX-License-Identifier: Apache-2.0
//
// Copies of ordinary memory: through shared memory where there can be some,
// else with commands, and those of remote sessions through messages, the large
// ones by several calls at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/semaphore.h"
#include "client/cpp/session.h"
#include "client/cpp/submission/wait_hook.h"
#include "client/cpp/transfer/arena.h"
#include "holdfast/v1/buffer_commands.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr uint64_t kMiB = 1 << 20;
// The most that goes with its command where there is no ring.
constexpr uint64_t kSmall = 64 << 10;

std::vector<uint8_t> Pattern(uint64_t size, uint32_t seed) {
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) {
    seed = seed * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(seed >> 24);
  }
  return bytes;
}

// A stream that stands still until the gate has 1, and a buffer of nines. The
// session has its ring.
struct Standstill {
  explicit Standstill(Session& session)
      : stream(*session.device(0).CreateStream()),
        buffer(*session.device(0).Allocate(2 * kMiB, stream)),
        gate(*session.device(0).CreateSemaphore()) {
    EXPECT_TRUE(buffer.Upload(std::vector<uint8_t>(2 * kMiB, 9), stream).ok());
    EXPECT_TRUE(gate.Wait(1, stream).ok());
  }

  Stream stream;
  Buffer buffer;
  Semaphore gate;
};

class StagedCopyTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Session> Open(const std::string& address) {
    auto session = Session::Open({.address = address, .transfer_calls = 4});
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

// On every path; the parameter is the one that large copies take.
class CopyTest : public StagedCopyTest,
                 public ::testing::WithParamInterface<v1::CopyPath> {
 protected:
  std::unique_ptr<Session> Open() const {
    return StagedCopyTest::Open(GetParam() == v1::COPY_PATH_STAGED
                                    ? daemon_.address()
                                    : daemon_.tcp_address());
  }
};

INSTANTIATE_TEST_SUITE_P(Paths, CopyTest,
                         ::testing::Values(v1::COPY_PATH_STAGED,
                                           v1::COPY_PATH_STREAM),
                         [](const auto& info) {
                           return info.param == v1::COPY_PATH_STAGED
                                      ? "SharedMemory"
                                      : "Messages";
                         });

TEST_P(CopyTest, BytesOfAnySizeComeBackAsTheyWent) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  constexpr uint64_t kLargest = 40 * kMiB + 3;
  const Buffer buffer = *session->device(0).Allocate(kLargest + 7, stream);
  uint64_t copied = 0;
  for (const uint64_t size :
       {kMiB, kMiB - 1, 2 * kMiB + 1, 16 * kMiB - 1, 16 * kMiB, 17 * kMiB + 5,
        kLargest, uint64_t{65536}, uint64_t{65537}, uint64_t{300001}}) {
    const std::vector<uint8_t> bytes =
        Pattern(size, static_cast<uint32_t>(size));
    ASSERT_TRUE(buffer.Upload(bytes.data(), size, stream, 7).ok()) << size;
    std::vector<uint8_t> back(size);
    ASSERT_TRUE(buffer.Download(back.data(), size, stream, 7).ok()) << size;
    ASSERT_TRUE(back == bytes) << size;
    if (size > kMiB) copied += 2 * size;
  }
  // Smaller ones may go with their commands.
  EXPECT_GE(Bytes(*session, GetParam()), copied);
  EXPECT_EQ(Bytes(*session, GetParam() == v1::COPY_PATH_STAGED
                                ? v1::COPY_PATH_STREAM
                                : v1::COPY_PATH_STAGED),
            0u);
}

// Small ones go through the ring once it is there, as far as it has slots for
// them.
TEST_F(StagedCopyTest, SmallOnesKeepTheOrderOfTheirStreamToo) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(kMiB, stream);
  std::vector<uint8_t> model = Pattern(kMiB, 1);
  ASSERT_TRUE(buffer.Upload(model, stream).ok());  // makes the ring
  const uint64_t before = Bytes(*session, v1::COPY_PATH_STAGED);
  std::minstd_rand random(1);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t size = 1 + random() % 65536;
    const uint64_t at = random() % (kMiB - size);
    if (random() % 4 > 0) {
      const std::vector<uint8_t> bytes = Pattern(size, i);
      ASSERT_TRUE(buffer.Upload(bytes.data(), size, stream, at).ok());
      std::copy(bytes.begin(), bytes.end(), &model[at]);
    } else {
      std::vector<uint8_t> bytes(size);
      ASSERT_TRUE(buffer.Download(bytes.data(), size, stream, at).ok());
      ASSERT_TRUE(std::memcmp(bytes.data(), &model[at], size) == 0) << i;
    }
  }
  EXPECT_GT(Bytes(*session, v1::COPY_PATH_STAGED), before + 2 * kMiB);
  std::vector<uint8_t> back(kMiB);
  ASSERT_TRUE(buffer.Download(back, stream).ok());
  EXPECT_TRUE(back == model);
}

TEST_F(StagedCopyTest, ManySmallOnesMakeTheRing) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(kMiB, stream);
  std::vector<uint8_t> bytes(kSmall);
  const auto copy = [&](uint64_t size) {
    for (uint64_t copied = 0; copied < size; copied += kSmall) {
      ASSERT_TRUE(buffer.Download(bytes.data(), kSmall, stream).ok());
    }
  };
  copy(4 * kMiB);
  EXPECT_EQ(Bytes(*session, v1::COPY_PATH_STAGED), 0u);
  // They do not wait for it: it is made beside them.
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (Bytes(*session, v1::COPY_PATH_STAGED) < kMiB) {
    ASSERT_LT(absl::Now(), deadline);
    copy(4 * kMiB);
  }
}

// There is room for the ring once the device has done with an arena that was
// freed, which here is never.
TEST(StagedCopyEndTest, TheEndOfASessionDoesNotWaitForARingThatIsBeingMade) {
  const DaemonProcess daemon{{"--arena-memory=40M"}};
  auto session = *Session::Open({.address = daemon.address()});
  const Stream still = *session->device(0).CreateStream();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(kMiB, stream);
  const Semaphore gate = *session->device(0).CreateSemaphore();
  ASSERT_TRUE(gate.Wait(1, still).ok());
  {
    const auto arena = *session->CreateArena(30 * kMiB);
    const ArenaSpan span = *arena->Allocate(kMiB);
    ASSERT_TRUE(buffer.CopyFrom(span, still).ok());
  }
  std::vector<uint8_t> bytes(kSmall);
  for (uint64_t copied = 0; copied < 9 * kMiB; copied += kSmall) {
    ASSERT_TRUE(buffer.Download(bytes.data(), kSmall, stream).ok());
  }
  EXPECT_TRUE(session->Close().ok());
}

// The bytes are taken when the call returns, though the stream stands still,
// and however many there are.
TEST_F(StagedCopyTest, SmallOnesInWaitForNoDevice) {
  const auto session = Open();
  const Standstill still(*session);
  const Stream& stream = still.stream;
  const Buffer& buffer = still.buffer;
  std::vector<uint8_t> bytes(2 * kMiB);
  for (uint8_t i = 0; i < 32; ++i) {
    std::memset(bytes.data(), i, kSmall);
    ASSERT_TRUE(buffer.Upload(bytes.data(), kSmall, stream, i * kSmall).ok());
  }
  ASSERT_TRUE(still.gate.Signal(1).ok());
  ASSERT_TRUE(buffer.Download(bytes, stream).ok());
  for (uint8_t i = 0; i < 32; ++i) {
    const uint8_t* const begin = &bytes[i * kSmall];
    EXPECT_TRUE(std::count(begin, begin + kSmall, i) == kSmall) << int{i};
  }
}

// However many threads copy little memory to a stream that stands still.
TEST_F(StagedCopyTest, SmallOnesLeaveSlotsToLargeOnes) {
  const auto session = Open();
  const Standstill still(*session);
  const Stream& stream = still.stream;
  const Buffer& buffer = still.buffer;
  const Stream other = *session->device(0).CreateStream();
  const std::vector<uint8_t> bytes(2 * kMiB, 9);
  std::vector<std::thread> threads;
  for (int i = 0; i < 24; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 4; ++j) {
        EXPECT_TRUE(buffer.Upload(bytes.data(), kSmall, stream).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Buffer others = *session->device(0).Allocate(2 * kMiB, other);
  EXPECT_TRUE(others.Upload(bytes, other).ok());
  ASSERT_TRUE(still.gate.Signal(1).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
}

TEST_F(StagedCopyTest, AFailureOfASmallOneIsToldByTheNextWait) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(2 * kMiB, stream);
  std::vector<uint8_t> bytes(2 * kMiB, 9);
  ASSERT_TRUE(buffer.Upload(bytes, stream).ok());
  const auto no_memory = absl::StatusCode::kResourceExhausted;
  const Buffer unmade = *session->device(0).Allocate(uint64_t{1} << 60, stream);
  EXPECT_EQ(stream.Synchronize().code(), no_memory);
  for (int i = 0; i < 20; ++i) {  // More than the ring keeps slots for.
    ASSERT_TRUE(unmade.Upload(bytes.data(), kSmall, stream).ok());
    EXPECT_EQ(stream.Synchronize().code(), no_memory);
    EXPECT_TRUE(stream.Synchronize().ok());
    EXPECT_EQ(unmade.Download(bytes.data(), kSmall, stream).code(), no_memory);
    EXPECT_TRUE(stream.Synchronize().ok());
  }
}

// Its slot is not used again before the device has written to it.
TEST_F(StagedCopyTest, AnInterruptedSmallOneDisturbsNoOther) {
  const auto session = Open();
  const Standstill still(*session);
  const Stream& stream = still.stream;
  const Buffer& buffer = still.buffer;
  std::vector<uint8_t> bytes(2 * kMiB);
  SetWaitHook([] { return false; });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(buffer.Download(bytes.data(), kSmall, stream).code(),
              absl::StatusCode::kCancelled);
  }
  SetWaitHook(nullptr);
  const Stream other = *session->device(0).CreateStream();
  const Buffer others = *session->device(0).Allocate(kSmall, other);
  std::vector<uint8_t> sent(kSmall, 5), back(kSmall);
  ASSERT_TRUE(others.Upload(sent, other).ok());
  ASSERT_TRUE(others.Download(back, other).ok());
  EXPECT_TRUE(back == sent);
  ASSERT_TRUE(still.gate.Signal(1).ok());
  ASSERT_TRUE(buffer.Download(back.data(), kSmall, stream).ok());
  EXPECT_TRUE(back == std::vector<uint8_t>(kSmall, 9));
}

// A local session that has as many arenas as it may have: there is no room for
// the ring.
class RingLessCopyTest : public StagedCopyTest {
 protected:
  RingLessCopyTest() {
    for (auto arena = session_->CreateArena(4096); arena.ok();
         arena = session_->CreateArena(4096)) {
      arenas_.push_back(*arena);
    }
    EXPECT_FALSE(arenas_.empty());
  }

  const std::unique_ptr<Session> session_ = Open();
  std::vector<std::shared_ptr<Arena>> arenas_;
  const Stream stream_ = *session_->device(0).CreateStream();
};

TEST_F(RingLessCopyTest, BytesOfAnySizeGoWithCommands) {
  constexpr uint64_t kLargest = 20 * kMiB + 3;
  const Buffer buffer = *session_->device(0).Allocate(kLargest + 7, stream_);
  uint64_t copied = 0;
  for (const uint64_t size : {2 * kMiB, kMiB + 1, kMiB - 1, kLargest}) {
    const std::vector<uint8_t> bytes = Pattern(size, 1);
    ASSERT_TRUE(buffer.Upload(bytes.data(), size, stream_, 7).ok()) << size;
    std::vector<uint8_t> back(size);
    ASSERT_TRUE(buffer.Download(back.data(), size, stream_, 7).ok()) << size;
    EXPECT_TRUE(back == bytes) << size;
    copied += 2 * size;
  }
  EXPECT_EQ(Bytes(*session_, v1::COPY_PATH_INLINE), copied);
}

TEST_F(RingLessCopyTest, AFailureIsToldAndNothingIsCopiedBeyondTheEnd) {
  std::vector<uint8_t> bytes(4 * kMiB + 1, 9);
  const Buffer buffer = *session_->device(0).Allocate(4 * kMiB, stream_);
  ASSERT_TRUE(buffer.Fill(uint8_t{5}, stream_).ok());
  EXPECT_EQ(buffer.Upload(bytes, stream_).code(),
            absl::StatusCode::kOutOfRange);
  std::vector<uint8_t> back(4 * kMiB);
  ASSERT_TRUE(buffer.Download(back, stream_).ok());
  EXPECT_TRUE(back == std::vector<uint8_t>(4 * kMiB, 5));
  const Buffer unmade =
      *session_->device(0).Allocate(uint64_t{1} << 60, stream_);
  const auto no_memory = absl::StatusCode::kResourceExhausted;
  EXPECT_EQ(unmade.Upload(bytes, stream_).code(), no_memory);
  EXPECT_EQ(unmade.Download(bytes, stream_).code(), no_memory);
}

// More bytes than may wait for the device, in sum.
TEST_F(RingLessCopyTest, AStreamThatStandsStillHoldsUpNoOther) {
  constexpr uint64_t kSize = 40 * kMiB;
  const Buffer buffer = *session_->device(0).Allocate(kSize, stream_);
  const Semaphore gate = *session_->device(0).CreateSemaphore();
  ASSERT_TRUE(gate.Wait(1, stream_).ok());
  const std::vector<uint8_t> bytes = Pattern(kSize, 2);
  std::thread upload([&] { EXPECT_TRUE(buffer.Upload(bytes, stream_).ok()); });
  const Stream other = *session_->device(0).CreateStream();
  const Buffer others = *session_->device(0).Allocate(2 * kMiB, other);
  std::vector<uint8_t> back(2 * kMiB);
  EXPECT_TRUE(others.Upload(bytes.data(), 2 * kMiB, other).ok());
  EXPECT_TRUE(others.Download(back, other).ok());
  EXPECT_TRUE(std::memcmp(back.data(), bytes.data(), 2 * kMiB) == 0);
  ASSERT_TRUE(gate.Signal(1).ok());
  upload.join();
  back.resize(kSize);
  ASSERT_TRUE(buffer.Download(back, stream_).ok());
  EXPECT_TRUE(back == bytes);
}

TEST_P(CopyTest, TheyKeepTheOrderOfTheirStream) {
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

// More than there are slots for; and calls, as many as a daemon lets a session
// have.
TEST_P(CopyTest, ManyAtOnceAllComeThrough) {
  const auto session = Open();
  constexpr uint64_t kSize = 20 * kMiB + 1;
  const uint32_t count = GetParam() == v1::COPY_PATH_STAGED ? 12 : 6;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i) {
    threads.emplace_back([&session, i] {
      const Stream stream = *session->device(0).CreateStream();
      const Buffer buffer = *session->device(0).Allocate(kSize, stream);
      const std::vector<uint8_t> bytes = Pattern(kSize, i);
      std::vector<uint8_t> back(kSize);
      EXPECT_EQ(buffer.Upload(bytes, stream), absl::OkStatus());
      EXPECT_EQ(buffer.Download(back, stream), absl::OkStatus());
      EXPECT_TRUE(back == bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(CopyTest, NothingIsCopiedBeyondTheEndOfABuffer) {
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

TEST_P(CopyTest, ADownloadTellsTheFailuresOfTheCommandsBefore) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(4 * kMiB, stream);
  std::vector<uint8_t> bytes(4 * kMiB);
  ASSERT_TRUE(buffer.Upload(bytes, stream).ok());
  const Buffer unmade = *session->device(0).Allocate(uint64_t{1} << 60, stream);
  ASSERT_TRUE(unmade.Fill(uint8_t{1}, stream).ok());
  EXPECT_EQ(buffer.Download(bytes, stream).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(buffer.Download(bytes, stream).ok());
}

TEST_P(CopyTest, ABufferThatCouldNotBeMadeTellsItsCause) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(uint64_t{1} << 60, stream);
  std::vector<uint8_t> bytes(4 * kMiB);
  EXPECT_EQ(buffer.Upload(bytes, stream).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_P(CopyTest, AfterTheSessionTheyFail) {
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
