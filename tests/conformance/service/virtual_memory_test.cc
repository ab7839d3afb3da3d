// SPDX-License-Identifier: Apache-2.0
//
// Reserved addresses, memory that is mapped there, and the executor's death
// between. Also exports of memory that shares its chunk.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cpp/value_batch.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

using absl::StatusCode;
using ::holdfast::testing::StatusIs;

constexpr uint64_t kChunk = 2 << 20;

class VirtualMemoryTest : public ServiceTest {
 protected:
  struct Side {
    std::unique_ptr<Session> session;
    Stream stream;
    Device device() const { return session->device(0); }
  };
  static absl::StatusOr<Side> Open(
      RecoveryPolicy recover = RecoveryPolicy::kAlways) {
    HOLDFAST_ASSIGN_OR_RETURN(auto session, OpenSession({.recover = recover}));
    HOLDFAST_ASSIGN_OR_RETURN(Stream stream, session->device(0).CreateStream());
    return Side{std::move(session), std::move(stream)};
  }
  // The first word at an offset.
  static absl::StatusOr<uint32_t> Read(const Buffer& buffer, uint64_t offset,
                                       const Stream& stream) {
    uint32_t word = 0;
    HOLDFAST_RETURN_IF_ERROR(
        buffer.Download(&word, sizeof word, stream, offset));
    return word;
  }
  // A refusal is told once more, by the next call that waits.
  static void TakeFailure(const Side& side) {
    side.session->Synchronize().IgnoreError();
  }
  // Bytes in the session's buffers.
  static uint64_t UsedBytes(const Side& side) {
    const auto sessions = daemon().Sessions();
    EXPECT_OK(sessions);
    for (const v1::SessionInfo& info : *sessions) {
      if (info.session_id() == side.session->id()) {
        return info.usage().device_bytes().used();
      }
    }
    return 0;
  }
};

TEST_F(VirtualMemoryTest, NeighboursAreOneRangeAndMemoryIsOneAtTwoAddresses) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer addresses,
                       side.device().ReserveAddresses(3 * kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer a, side.device().AllocateShared(kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer b, side.device().AllocateShared(kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer first, addresses.MapAt(0, a, kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer second, addresses.MapAt(kChunk, b, kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer third,
                       addresses.MapAt(2 * kChunk, a, kChunk));
  std::vector<uint32_t> words(2 * kChunk / 4, 0x1234);
  ASSERT_OK(addresses.Upload(words, side.stream));
  EXPECT_EQ(*Read(b, kChunk - 4, side.stream), 0x1234u);
  EXPECT_EQ(*Read(addresses, 2 * kChunk, side.stream), 0x1234u);
  EXPECT_EQ(*second.address(), *addresses.address() + kChunk);
}

TEST_F(VirtualMemoryTest, WhatIsNotMappedFailsAndMayBeMappedAgain) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer addresses,
                       side.device().ReserveAddresses(2 * kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer memory,
                       side.device().AllocateShared(kChunk));
  ASSERT_OK(memory.Fill(uint32_t{5}, side.stream));
  ASSERT_OK(addresses.Fill(uint32_t{1}, side.stream));
  EXPECT_FALSE(side.stream.Synchronize().ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const Buffer mapped,
                         addresses.MapAt(kChunk, memory, kChunk));
    EXPECT_EQ(*Read(addresses, kChunk, side.stream), 5u);
    ASSERT_OK_AND_ASSIGN(const Buffer twice,
                         addresses.MapAt(kChunk, memory, kChunk));
    EXPECT_THAT(twice.address().status(),
                StatusIs(StatusCode::kAlreadyExists, "in use"));
    TakeFailure(side);
  }
  EXPECT_FALSE(Read(addresses, kChunk, side.stream).ok());
}

TEST_F(VirtualMemoryTest, AMappingKeepsTheMemoryAndItsCharge) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer addresses,
                       side.device().ReserveAddresses(kChunk));
  std::optional<Buffer> mapped;
  {
    ASSERT_OK_AND_ASSIGN(const Buffer memory,
                         side.device().AllocateShared(kChunk));
    ASSERT_OK(memory.Fill(uint32_t{8}, side.stream));
    ASSERT_OK_AND_ASSIGN(mapped, addresses.MapAt(0, memory, kChunk));
  }
  EXPECT_EQ(*Read(addresses, 64, side.stream), 8u);
  EXPECT_EQ(UsedBytes(side), kChunk);
  mapped.reset();
  ASSERT_OK(side.session->Synchronize());
  EXPECT_EQ(UsedBytes(side), 0u);
}

TEST_F(VirtualMemoryTest, ADeadExecutorsAddressesAndBytesComeBack) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer addresses,
                       side.device().ReserveAddresses(4 * kChunk));
  ASSERT_OK_AND_ASSIGN(const uint64_t address, addresses.address());
  ASSERT_OK_AND_ASSIGN(const Buffer first,
                       side.device().AllocateShared(kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer mapped, addresses.MapAt(0, first, kChunk));
  std::optional<Buffer> kept;
  {
    // Freed, and kept by its mapping.
    ASSERT_OK_AND_ASSIGN(const Buffer second,
                         side.device().AllocateShared(kChunk));
    ASSERT_OK_AND_ASSIGN(kept, addresses.MapAt(2 * kChunk, second, kChunk));
  }
  ASSERT_OK(addresses.Fill(uint32_t{21}, 0, kChunk, side.stream));
  ASSERT_OK(addresses.Fill(uint32_t{22}, 2 * kChunk, kChunk, side.stream));
  ASSERT_OK(side.session->Synchronize());
  KillExecutor(*side.session);
  EXPECT_EQ(side.session->Synchronize().code(), StatusCode::kAborted);
  ASSERT_OK_AND_ASSIGN(const Buffer part, addresses.Sub(0, kChunk));
  EXPECT_EQ(*part.address(), address);
  EXPECT_EQ(*Read(addresses, 0, side.stream), 21u);
  EXPECT_EQ(*Read(addresses, 2 * kChunk, side.stream), 22u);
  EXPECT_EQ(*Read(first, 0, side.stream), 21u);
}

TEST_F(VirtualMemoryTest, MemoryOfAnotherSessionIsMappedWithItsRights) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side user, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer made,
                       maker.device().AllocateShared(kChunk));
  ASSERT_OK(made.Fill(uint32_t{3}, maker.stream));
  ASSERT_OK(maker.stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const std::string read, made.Export());
  ASSERT_OK_AND_ASSIGN(const std::string write,
                       made.Export({.rights = Rights::kReadWrite}));
  ASSERT_OK_AND_ASSIGN(const Buffer seen, user.device().Import(read));
  ASSERT_OK_AND_ASSIGN(const Buffer shared, user.device().Import(write));
  ASSERT_OK_AND_ASSIGN(const Buffer addresses,
                       user.device().ReserveAddresses(2 * kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer refused, addresses.MapAt(0, seen, kChunk));
  EXPECT_THAT(refused.address().status(),
              StatusIs(StatusCode::kPermissionDenied, "reading"));
  TakeFailure(user);
  ASSERT_OK_AND_ASSIGN(const Buffer mapped, addresses.MapAt(0, shared, kChunk));
  ASSERT_OK(mapped.Fill(uint32_t{4}, user.stream));
  ASSERT_OK(user.stream.Synchronize());
  EXPECT_EQ(*Read(made, 0, maker.stream), 4u);
}

TEST_F(VirtualMemoryTest, WhatCannotBeMappedIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  const auto reason = [&](const absl::StatusOr<Buffer>& buffer) {
    return buffer.ok() ? buffer->address().status() : buffer.status();
  };
  EXPECT_THAT(reason(side.device().ReserveAddresses(kChunk + 1)),
              StatusIs(StatusCode::kInvalidArgument, "multiple"));
  EXPECT_THAT(reason(side.device().ReserveAddresses(0)),
              StatusIs(StatusCode::kInvalidArgument, ""));
  EXPECT_THAT(reason(side.device().ReserveAddresses(UINT64_MAX - kChunk + 1)),
              StatusIs(StatusCode::kResourceExhausted, "addresses"));
  ASSERT_OK_AND_ASSIGN(const Buffer addresses,
                       side.device().ReserveAddresses(2 * kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer plain, side.device().Allocate(kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer memory,
                       side.device().AllocateShared(kChunk));
  EXPECT_THAT(reason(addresses.MapAt(0, plain, kChunk)),
              StatusIs(StatusCode::kFailedPrecondition, "SHARING_EXPORT"));
  EXPECT_THAT(reason(memory.MapAt(0, memory, kChunk)),
              StatusIs(StatusCode::kFailedPrecondition, "reservation"));
  EXPECT_THAT(reason(addresses.MapAt(512, memory, kChunk)),
              StatusIs(StatusCode::kInvalidArgument, "offset"));
  EXPECT_THAT(reason(addresses.MapAt(0, memory, 2 * kChunk)),
              StatusIs(StatusCode::kOutOfRange, ""));
  EXPECT_THAT(addresses.MapAt(kChunk, memory, 2 * kChunk).status(),
              StatusIs(StatusCode::kOutOfRange, ""));
}

// The stream would wait for ever if the mapping's end waited for the device.
TEST_F(VirtualMemoryTest, AMappingMayEndWhileAStreamWaits) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK_AND_ASSIGN(const Stream other, side.device().CreateStream());
  ASSERT_OK_AND_ASSIGN(const Buffer value, side.device().Allocate(64));
  ASSERT_OK(value.Fill(uint32_t{0}, other));
  ASSERT_OK(other.Synchronize());
  ASSERT_OK_AND_ASSIGN(const Buffer memory,
                       side.device().AllocateShared(kChunk));
  ASSERT_OK_AND_ASSIGN(const Buffer addresses,
                       side.device().ReserveAddresses(kChunk));
  const ValueOperation wait = {
      .kind = ValueKind::kWaitEqual, .place = value, .value = 1};
  const ValueOperation write = {.place = value, .value = 1};
  {
    ASSERT_OK_AND_ASSIGN(const Buffer mapped,
                         addresses.MapAt(0, memory, kChunk));
    ASSERT_OK(BatchValues({&wait, 1}, side.stream));
  }
  ASSERT_OK(BatchValues({&write, 1}, other));
  EXPECT_OK(side.session->Synchronize());
}

// cuIpcGetMemHandle exports memory with its neighbours.
TEST_F(VirtualMemoryTest, MemoryWithNeighboursIsExportedOnlyIfItsMakerSaysSo) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side user, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer neighbour, maker.device().Allocate(4096));
  ASSERT_OK_AND_ASSIGN(const Buffer made, maker.device().Allocate(4096));
  ASSERT_OK(neighbour.Fill(uint32_t{1}, maker.stream));
  ASSERT_OK(made.Fill(uint32_t{2}, maker.stream));
  ASSERT_OK(maker.stream.Synchronize());
  EXPECT_THAT(made.Export(),
              StatusIs(StatusCode::kFailedPrecondition, "SHARING_EXPORT"));
  ASSERT_OK_AND_ASSIGN(
      const std::string token,
      made.Export({.rights = Rights::kReadWrite, .with_neighbours = true}));
  ASSERT_OK_AND_ASSIGN(const Buffer seen, user.device().Import(token));
  EXPECT_EQ(seen.size(), 4096u);
  EXPECT_EQ(*Read(seen, 0, user.stream), 2u);
  ASSERT_OK(seen.Fill(uint32_t{9}, user.stream));
  ASSERT_OK(user.stream.Synchronize());
  EXPECT_EQ(*Read(made, 4092, maker.stream), 9u);
  EXPECT_EQ(*Read(neighbour, 4092, maker.stream), 1u);
  KillExecutor(*maker.session);
  EXPECT_EQ(maker.session->Synchronize().code(), StatusCode::kAborted);
  ASSERT_OK(made.Fill(uint32_t{10}, maker.stream));
  ASSERT_OK(maker.stream.Synchronize());
  EXPECT_EQ(*Read(seen, 0, user.stream), 10u);
  ASSERT_OK(maker.session->Close());
  EXPECT_EQ(*Read(seen, 0, user.stream), 10u);
}

}  // namespace
}  // namespace holdfast::conformance
