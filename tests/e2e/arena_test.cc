// SPDX-License-Identifier: Apache-2.0
//
// Memory that a client shares with its executor, through the library.
#include "client/cpp/transfer/arena.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/session.h"
#include "core/base/memfd.h"
#include "core/base/sanitizer.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr uint64_t kSize = 1 << 20;

class ArenaTest : public ::testing::Test {
 protected:
  std::unique_ptr<Session> Open() {
    auto session = Session::Open({.address = daemon_.address()});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  static std::shared_ptr<Arena> Make(const Session& session,
                                     uint64_t size = kSize) {
    auto arena = session.CreateArena(size);
    EXPECT_TRUE(arena.ok()) << arena.status();
    return arena.ok() ? *std::move(arena) : nullptr;
  }

  static void Produce(std::span<uint8_t> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(i * 131 + i / 997);
    }
  }

  DaemonProcess daemon_;
};

TEST_F(ArenaTest, BytesGoInAndOut) {
  const auto session = Open();
  const auto arena = Make(*session, 2 * kSize);
  const ArenaSpan in = *arena->Allocate(kSize - 8);
  const ArenaSpan out = *arena->Allocate(kSize);
  Produce(in.As<uint8_t>());
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(kSize, stream);
  ASSERT_TRUE(buffer.Fill(uint8_t{7}, stream).ok());
  ASSERT_TRUE(buffer.CopyFrom(in, stream, 3).ok());
  ASSERT_TRUE(buffer.CopyTo(out, stream).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  const auto bytes = out.As<uint8_t>();
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.begin() + 3,
                          [](uint8_t b) { return b == 7; }));
  EXPECT_EQ(std::memcmp(&bytes[3], in.data(), in.size()), 0);
  EXPECT_EQ(bytes[kSize - 1], 7);
  // A range of each; and what ordinary memory sees is the same.
  ASSERT_TRUE(buffer.CopyFrom(in, 100, 5, 50, stream).ok());
  ASSERT_TRUE(buffer.CopyTo(out, 1000, 5, 50, stream).ok());
  std::vector<uint8_t> back(50);
  ASSERT_TRUE(buffer.Download(back.data(), back.size(), stream, 5).ok());
  EXPECT_EQ(std::memcmp(back.data(), &in.As<uint8_t>()[100], 50), 0);
  EXPECT_EQ(std::memcmp(&bytes[1000], &in.As<uint8_t>()[100], 50), 0);
}

TEST_F(ArenaTest, WhatReachesBeyondTheSpanOrTheBufferIsRefused) {
  const auto session = Open();
  const auto arena = Make(*session);
  const ArenaSpan span = *arena->Allocate(1000);
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(2000, stream);
  EXPECT_TRUE(buffer.CopyFrom(span, 500, 0, 500, stream).ok());
  EXPECT_EQ(buffer.CopyFrom(span, 500, 0, 501, stream).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(buffer.CopyFrom(span, UINT64_MAX, 0, 2, stream).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(buffer.CopyTo(span, stream, 1001).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(stream.Synchronize().ok());
}

TEST_F(ArenaTest, SpansDoNotOverlapAndAreGivenBack) {
  const auto session = Open();
  const auto arena = Make(*session);
  {
    std::vector<ArenaSpan> spans;
    for (int i = 0; i < 4; ++i) spans.push_back(*arena->Allocate(kSize / 4));
    for (uint8_t i = 0; i < 4; ++i) {
      std::memset(spans[i].data(), i, spans[i].size());
    }
    for (uint8_t i = 0; i < 4; ++i) {
      EXPECT_EQ(spans[i].As<uint8_t>().front(), i);
      EXPECT_EQ(spans[i].As<uint8_t>().back(), i);
    }
    EXPECT_EQ(arena->Allocate(1).status().code(),
              absl::StatusCode::kResourceExhausted);
    spans.erase(spans.begin() + 1);
    EXPECT_TRUE(arena->Allocate(kSize / 4).ok());
  }
  EXPECT_TRUE(arena->Allocate(kSize).ok());
  EXPECT_EQ(arena->Allocate(0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arena->Allocate(UINT64_MAX).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(ArenaTest, ASpanKeepsItsArena) {
  const auto session = Open();
  auto arena = Make(*session);
  const ArenaSpan span = *arena->Allocate(kSize);
  arena.reset();
  Produce(span.As<uint8_t>());
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(kSize, stream);
  EXPECT_TRUE(buffer.CopyFrom(span, stream).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
}

TEST_F(ArenaTest, AnArenaIsOfOneSession) {
  const auto owner = Open();
  const auto other = Open();
  const auto arena = Make(*owner);
  const ArenaSpan span = *arena->Allocate(kSize);
  const Stream stream = *other->device(0).CreateStream();
  const Buffer buffer = *other->device(0).Allocate(kSize, stream);
  EXPECT_EQ(buffer.CopyFrom(span, stream).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(buffer.CopyTo(span, stream).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ArenaTest, DataCanBeMadeWhileTheExecutorPageLocksTheMemory) {
  const auto session = Open();
  const auto arena = session->CreateArena(64 * kSize, {.in_background = true});
  ASSERT_TRUE(arena.ok()) << arena.status();
  const ArenaSpan in = *(*arena)->Allocate(40 * kSize);
  const ArenaSpan out = *(*arena)->Allocate(20 * kSize);
  Produce(in.As<uint8_t>());
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(40 * kSize, stream);
  ASSERT_TRUE(buffer.CopyFrom(in, stream).ok());
  ASSERT_TRUE(buffer.CopyTo(out, stream, 7).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(std::memcmp(out.data(), &in.As<uint8_t>()[7], out.size()), 0);
  // One that is given up at once.
  EXPECT_TRUE(session->CreateArena(kSize, {.in_background = true}).ok());
}

TEST_F(ArenaTest, OneThatThereCannotBeIsToldOfWhereItIsUsed) {
#ifdef HOLDFAST_TSAN
  GTEST_SKIP() << "ThreadSanitizer leaves no room for its addresses";
#endif
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(kSize, stream);
  const auto huge =
      session->CreateArena(uint64_t{1} << 46, {.in_background = true});
  ASSERT_TRUE(huge.ok()) << huge.status();
  const ArenaSpan span = *(*huge)->Allocate(100);
  EXPECT_EQ(buffer.CopyFrom(span, stream).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ((*huge)->Ready().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ArenaTest, SessionsHaveArenasOfTheSameMemory) {
  const auto memory = CreateFixedMemfd("shared", kSize);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const ArenaOptions of_memory = {.memory = memory->get()};
  const auto maker = Open(), reader = Open();
  const auto made = maker->CreateArena(kSize, of_memory);
  const auto seen = reader->CreateArena(kSize, of_memory);
  ASSERT_TRUE(made.ok() && seen.ok()) << made.status() << seen.status();
  const ArenaSpan first = *(*made)->Allocate(100);
  const ArenaSpan span = *(*made)->Allocate(kSize / 2);
  Produce(span.As<uint8_t>());
  {
    const auto there = (*seen)->SpanAt(span.offset(), span.size());
    ASSERT_TRUE(there.ok()) << there.status();
    EXPECT_EQ(std::memcmp(there->data(), span.data(), span.size()), 0);
    const Stream stream = *reader->device(0).CreateStream();
    const Buffer buffer = *reader->device(0).Allocate(span.size(), stream);
    ASSERT_TRUE(buffer.Fill(uint8_t{9}, stream).ok());
    ASSERT_TRUE(buffer.CopyTo(*there, stream).ok());
    ASSERT_TRUE(stream.Synchronize().ok());
  }
  EXPECT_EQ(span.As<uint8_t>()[kSize / 2 - 1], 9);
  // What another process has taken is not given back here.
  EXPECT_TRUE((*seen)->Allocate(kSize).ok());
  EXPECT_EQ((*seen)->SpanAt(kSize - 1, 2).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST_F(ArenaTest, MemoryThatCouldShrinkIsRefused) {
  const auto session = Open();
  const auto unsealed = CreateMemfd("unsealed", kSize);
  const auto other = CreateFixedMemfd("small", kSize / 2);
  ASSERT_TRUE(unsealed.ok() && other.ok());
  for (const int memory : {unsealed->get(), other->get(), STDIN_FILENO}) {
    EXPECT_EQ(session->CreateArena(kSize, {.memory = memory}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(ArenaTest, ATcpClientIsToldThatItSharesNoMemory) {
  const auto session = Session::Open({.address = daemon_.tcp_address()});
  ASSERT_TRUE(session.ok()) << session.status();
  const absl::Status status = (*session)->CreateArena(kSize).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "shares no memory"))
      << status;
}

TEST_F(ArenaTest, ASizeOfNothingOrTooMuchIsRefused) {
  const auto session = Open();
  EXPECT_EQ(session->CreateArena(0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session->CreateArena(UINT64_MAX).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session->CreateArena(uint64_t{1} << 46).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(session->CreateArena(1).ok());
}

TEST_F(ArenaTest, ManyAfterEachOtherUseTheSamePlaces) {
  const auto session = Open();
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(kSize, stream);
  for (int i = 0; i < 100; ++i) {
    const auto arena = Make(*session);
    ASSERT_NE(arena, nullptr) << i;
    const ArenaSpan span = *arena->Allocate(kSize);
    std::memset(span.data(), i, kSize);
    ASSERT_TRUE(buffer.CopyFrom(span, stream).ok());
  }
  std::vector<uint8_t> back(kSize);
  ASSERT_TRUE(buffer.Download(back, stream).ok());
  EXPECT_TRUE(
      std::all_of(back.begin(), back.end(), [](uint8_t b) { return b == 99; }));
}

TEST_F(ArenaTest, TheDaemonKnowsWhatIsSharedAndCopied) {
  const auto session = Open();
  const auto arena = Make(*session);
  const ArenaSpan span = *arena->Allocate(1000);
  const Stream stream = *session->device(0).CreateStream();
  const Buffer buffer = *session->device(0).Allocate(kSize, stream);
  ASSERT_TRUE(buffer.CopyFrom(span, stream).ok());
  ASSERT_TRUE(buffer.CopyTo(span, stream).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  const auto sessions = session->daemon().Sessions();
  ASSERT_TRUE(sessions.ok());
  ASSERT_EQ(sessions->size(), 1u);
  const v1::SessionInfo& info = sessions->front();
  EXPECT_EQ(info.arena_bytes(), kSize);
  ASSERT_EQ(info.copies_size(), 1);
  EXPECT_EQ(info.copies(0).path(), v1::COPY_PATH_ARENA);
  EXPECT_EQ(info.copies(0).copies(), 2u);
  EXPECT_EQ(info.copies(0).bytes(), 2000u);
}

TEST_F(ArenaTest, AClientThatIsKilledWithAnArenaHarmsNobodyElse) {
  Process killed({ProgramPath("HOLDING_CLIENT"), daemon_.address()});
  ASSERT_NE(killed.ReadLine(), "");
  const auto survivor = Open();
  const auto arena = Make(*survivor);
  const ArenaSpan span = *arena->Allocate(kSize);
  killed.Signal(SIGKILL);
  ASSERT_TRUE(
      Eventually([&] { return survivor->daemon().Sessions()->size() == 1; }));
  const Stream stream = *survivor->device(0).CreateStream();
  const Buffer buffer = *survivor->device(0).Allocate(kSize, stream);
  ASSERT_TRUE(buffer.Fill(uint8_t{42}, stream).ok());
  ASSERT_TRUE(buffer.CopyTo(span, stream).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(span.As<uint8_t>().back(), 42);
}

}  // namespace
}  // namespace holdfast::e2e
