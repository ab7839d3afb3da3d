// SPDX-License-Identifier: Apache-2.0
//
// Buffers that one session exports and another imports: what either sees, what
// the importer may not do, and who may die first.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

using absl::StatusCode;
using ::holdfast::testing::StatusIs;

constexpr uint64_t kCount = 1000;
constexpr uint64_t kBytes = kCount * sizeof(uint32_t);

class SharingTest : public ServiceTest {
 protected:
  // A session that dies for good with its executor.
  static absl::StatusOr<Side> Open() {
    return ServiceTest::Open({.recover = RecoveryPolicy::kNever});
  }

  void SetUp() override {
    std::iota(numbers_.begin(), numbers_.end(), 1u);
    before_ = ReservedBytes();
  }

  // A buffer of `side`'s that holds the numbers.
  absl::StatusOr<Buffer> Make(const Side& side) const {
    HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer,
                              side.session->device(0).AllocateShared(kBytes));
    HOLDFAST_RETURN_IF_ERROR(buffer.Upload(numbers_, side.stream));
    HOLDFAST_RETURN_IF_ERROR(side.stream.Synchronize());
    return buffer;
  }

  static absl::StatusOr<std::vector<uint32_t>> Read(const Buffer& buffer,
                                                    const Stream& stream) {
    std::vector<uint32_t> values(buffer.size() / sizeof(uint32_t));
    HOLDFAST_RETURN_IF_ERROR(buffer.Download(values, stream));
    return values;
  }

  static absl::StatusOr<Kernel> Increment(const Session& session) {
    HOLDFAST_ASSIGN_OR_RETURN(
        const Compilation compiled,
        Program("extern \"C\" __global__ void increment(unsigned* x) {"
                "  ++x[threadIdx.x]; }")
            .Compile(daemon()));
    HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                              session.Load(compiled.object));
    return module.GetKernel("increment");
  }

  std::vector<uint32_t> numbers_ = std::vector<uint32_t>(kCount);
  uint64_t before_ = 0;
};

TEST_F(SharingTest, AnImporterSeesTheBytesAndWhatComesLater) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer made, Make(maker));
  ASSERT_OK_AND_ASSIGN(const std::string token, made.Export());
  EXPECT_EQ(token.size(), 16u);
  ASSERT_OK_AND_ASSIGN(const Buffer read,
                       reader.session->device(0).Import(token));
  EXPECT_EQ(read.size(), kBytes);
  EXPECT_EQ(*Read(read, reader.stream), numbers_);
  ASSERT_OK(made.Fill(uint32_t{7}, maker.stream));
  ASSERT_OK(maker.stream.Synchronize());
  EXPECT_EQ(*Read(read, reader.stream), std::vector<uint32_t>(kCount, 7));
}

TEST_F(SharingTest, AnImporterThatMayWriteIsSeenByTheMaker) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer made, Make(maker));
  ASSERT_OK_AND_ASSIGN(const std::string token,
                       made.Export({.rights = Rights::kReadWrite}));
  ASSERT_OK_AND_ASSIGN(const Buffer written,
                       writer.session->device(0).Import(token));
  ASSERT_OK_AND_ASSIGN(const Kernel kernel, Increment(*writer.session));
  ASSERT_OK(
      Launch(writer.stream, {.grid = 1, .block = kCount}, kernel, written));
  ASSERT_OK(writer.stream.Synchronize());
  std::vector<uint32_t> expected = numbers_;
  for (uint32_t& value : expected) ++value;
  EXPECT_EQ(*Read(made, maker.stream), expected);
}

TEST_F(SharingTest, EveryCommandThatWritesRefusesWhatWasImportedForReading) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer made, Make(maker));
  ASSERT_OK_AND_ASSIGN(const std::string token, made.Export());
  ASSERT_OK_AND_ASSIGN(const Buffer read,
                       reader.session->device(0).Import(token));
  ASSERT_OK_AND_ASSIGN(const Buffer part, read.Sub(0, 64));
  ASSERT_OK_AND_ASSIGN(const Buffer own,
                       reader.session->device(0).Allocate(kBytes));
  const std::vector<uint8_t> large(1 << 20);
  ASSERT_OK_AND_ASSIGN(const auto arena, reader.session->CreateArena(kBytes));
  ASSERT_OK_AND_ASSIGN(const ArenaSpan span, arena->Allocate(kBytes));
  const auto refused = [&](const absl::Status& status) {
    absl::Status all = status;
    all.Update(reader.stream.Synchronize());
    EXPECT_THAT(all, StatusIs(StatusCode::kPermissionDenied,
                              "was imported with RIGHTS_READ"));
  };
  refused(read.Fill(uint32_t{1}, reader.stream));
  refused(part.Fill(uint32_t{1}, reader.stream));
  refused(read.Upload(numbers_, reader.stream));
  refused(read.CopyFrom(own, reader.stream));
  refused(read.CopyFrom(span, reader.stream));
  ASSERT_OK(own.CopyFrom(read, reader.stream));
  EXPECT_EQ(*Read(own, reader.stream), numbers_);
  EXPECT_EQ(*Read(made, maker.stream), numbers_);
}

TEST_F(SharingTest, AKernelThatStoresWithoutTheRightFaultsAlone) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer made, Make(maker));
  ASSERT_OK_AND_ASSIGN(const std::string token, made.Export());
  ASSERT_OK_AND_ASSIGN(const Buffer read,
                       reader.session->device(0).Import(token));
  ASSERT_OK_AND_ASSIGN(const Kernel kernel, Increment(*reader.session));
  ASSERT_OK(Launch(reader.stream, {.grid = 1, .block = 32}, kernel, read));
  const absl::Status fault = reader.stream.Synchronize();
  EXPECT_FALSE(fault.ok());
  EXPECT_TRUE(absl::StrContains(fault.message(), "ILLEGAL_ADDRESS")) << fault;
  if (!IsGpu()) {
    EXPECT_TRUE(absl::StrContains(fault.message(), "increment")) << fault;
  }
  EXPECT_EQ(*Read(made, maker.stream), numbers_);
  ASSERT_OK_AND_ASSIGN(const Kernel own, Increment(*maker.session));
  ASSERT_OK(Launch(maker.stream, {.grid = 1, .block = 32}, own, made));
  EXPECT_OK(maker.stream.Synchronize());
}

TEST_F(SharingTest, ARangeIsAllThatTheImporterCanName) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer made, Make(maker));
  ASSERT_OK_AND_ASSIGN(const Buffer part, made.Sub(400, 400));
  ASSERT_OK_AND_ASSIGN(const std::string token,
                       part.Export({.offset = 40, .size = 80}));
  ASSERT_OK_AND_ASSIGN(const Buffer read,
                       reader.session->device(0).Import(token));
  EXPECT_EQ(
      *Read(read, reader.stream),
      std::vector<uint32_t>(numbers_.begin() + 110, numbers_.begin() + 130));
  std::vector<uint32_t> more(21);
  EXPECT_THAT(read.Download(more, reader.stream),
              StatusIs(StatusCode::kOutOfRange, ""));
  EXPECT_THAT(part.Export({.offset = 0, .size = 401}).status(),
              StatusIs(StatusCode::kOutOfRange, "401"));
}

TEST_F(SharingTest, WhatIsNotMadeForItIsNotExported) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer plain,
                       maker.session->device(0).Allocate(kBytes));
  EXPECT_THAT(plain.Export().status(),
              StatusIs(StatusCode::kFailedPrecondition,
                       "was not allocated with SHARING_EXPORT, as "
                       "Device::AllocateShared"));
  ASSERT_OK_AND_ASSIGN(const Buffer host, maker.session->AllocateHost(64));
  EXPECT_THAT(host.Export().status(),
              StatusIs(StatusCode::kFailedPrecondition, "SHARING_EXPORT"));
  ASSERT_OK_AND_ASSIGN(const Buffer made, Make(maker));
  ASSERT_OK_AND_ASSIGN(const std::string token, made.Export());
  ASSERT_OK_AND_ASSIGN(const Buffer read,
                       reader.session->device(0).Import(token));
  EXPECT_THAT(read.Export().status(),
              StatusIs(StatusCode::kFailedPrecondition, "was imported"));
}

TEST_F(SharingTest, ATokenEndsAsItsTermsSay) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer made, Make(maker));
  const Device device = reader.session->device(0);
  const auto gone = StatusIs(StatusCode::kNotFound, "no export has this token");

  EXPECT_THAT(device.Import("0123456789abcdef").status(), gone);
  EXPECT_THAT(device.Import("short").status(),
              StatusIs(StatusCode::kInvalidArgument, "5 bytes, not 16"));

  ASSERT_OK_AND_ASSIGN(const std::string twice,
                       made.Export({.max_imports = 2}));
  ASSERT_OK_AND_ASSIGN(const Buffer first, device.Import(twice));
  ASSERT_OK_AND_ASSIGN(const Buffer second, device.Import(twice));
  EXPECT_THAT(device.Import(twice).status(), gone);

  ASSERT_OK_AND_ASSIGN(const std::string revoked, made.Export());
  EXPECT_THAT(reader.session->RevokeExport(revoked),
              StatusIs(StatusCode::kNotFound, "of this session"));
  ASSERT_OK(maker.session->RevokeExport(revoked));
  ASSERT_OK(maker.session->RevokeExport(revoked));
  EXPECT_THAT(device.Import(revoked).status(), gone);
  EXPECT_EQ(*Read(second, reader.stream), numbers_);

  ASSERT_OK_AND_ASSIGN(const std::string bound,
                       made.Export({.session_id = maker.session->id()}));
  EXPECT_THAT(device.Import(bound).status(),
              StatusIs(StatusCode::kPermissionDenied, maker.session->id()));
  ASSERT_OK_AND_ASSIGN(const Buffer own,
                       maker.session->device(0).Import(bound));
  EXPECT_EQ(*Read(own, maker.stream), numbers_);

  ASSERT_OK_AND_ASSIGN(const std::string brief,
                       made.Export({.lifetime = absl::Milliseconds(1)}));
  absl::SleepFor(absl::Milliseconds(2));
  EXPECT_THAT(device.Import(brief).status(), gone);
  EXPECT_THAT(made.Export({.lifetime = absl::Hours(25)}).status(),
              StatusIs(StatusCode::kInvalidArgument, "25h"));

  ASSERT_OK_AND_ASSIGN(const std::string last, made.Export());
  EXPECT_TRUE(Eventually(
      [&] { return Info(*maker.session).usage().exports().used() == 1; }));
  ASSERT_OK(maker.session->Close());
  EXPECT_THAT(device.Import(last).status(), gone);
}

TEST_F(SharingTest, AnExportKeepsFreedMemoryUntilItsTime) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  std::string token;
  {
    ASSERT_OK_AND_ASSIGN(const Buffer made, Make(maker));
    ASSERT_OK_AND_ASSIGN(token, made.Export());
  }
  ASSERT_OK(maker.session->Synchronize());
  EXPECT_GT(ReservedBytes(), before_);
  EXPECT_GT(Info(*maker.session).usage().reserved_bytes().used(), 0u);
  {
    ASSERT_OK_AND_ASSIGN(const Buffer read,
                         reader.session->device(0).Import(token));
    EXPECT_EQ(*Read(read, reader.stream), numbers_);
  }
  ASSERT_OK(reader.session->Synchronize());
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() == before_; }));

  ASSERT_OK_AND_ASSIGN(Buffer brief, Make(maker));
  ASSERT_OK(brief.Export({.lifetime = absl::Milliseconds(50)}));
  brief.Free(maker.stream);
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() == before_; }));
}

// How the maker of shared memory ends.
enum class End { kClosed, kKilled };
class SharedMemoryOutlivesTest : public SharingTest,
                                 public ::testing::WithParamInterface<End> {
 protected:
  static void EndIt(Side& side) {
    if (GetParam() == End::kClosed) {
      ASSERT_OK(side.session->Close());
    } else {
      KillExecutor(*side.session);
      EXPECT_TRUE(Eventually([&] { return !side.stream.Synchronize().ok(); }));
    }
  }
};

TEST_P(SharedMemoryOutlivesTest, ItsMaker) {
  ASSERT_OK_AND_ASSIGN(Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer made, Make(maker));
  ASSERT_OK_AND_ASSIGN(const std::string token, made.Export());
  {
    ASSERT_OK_AND_ASSIGN(const Buffer read,
                         reader.session->device(0).Import(token));
    EXPECT_EQ(OrphanedBytes(), 0u);
    EndIt(maker);
    EXPECT_TRUE(Eventually([&] { return OrphanedBytes() > 0; }));
    EXPECT_EQ(ReservedBytes() - before_, OrphanedBytes());
    EXPECT_EQ(*Read(read, reader.stream), numbers_);
    const v1::SessionUsage usage = Info(*reader.session).usage();
    EXPECT_EQ(usage.imports().used(), 1u);
    EXPECT_EQ(usage.imported_bytes(), OrphanedBytes());
    EXPECT_EQ(usage.reserved_bytes().used(), 0u);
  }
  ASSERT_OK(reader.session->Synchronize());
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() == before_; }));
  EXPECT_EQ(OrphanedBytes(), 0u);
}

TEST_P(SharedMemoryOutlivesTest, ItsImporter) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(Side reader, Open());
  ASSERT_OK_AND_ASSIGN(Buffer made, Make(maker));
  ASSERT_OK_AND_ASSIGN(const std::string token, made.Export());
  ASSERT_OK_AND_ASSIGN(const Buffer read,
                       reader.session->device(0).Import(token));
  const uint64_t shared = ReservedBytes();
  EndIt(reader);
  EXPECT_EQ(*Read(made, maker.stream), numbers_);
  EXPECT_EQ(ReservedBytes(), shared);
  made.Free(maker.stream);
  ASSERT_OK(maker.session->Synchronize());
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() == before_; }));
}

INSTANTIATE_TEST_SUITE_P(, SharedMemoryOutlivesTest,
                         ::testing::Values(End::kClosed, End::kKilled),
                         [](const auto& info) {
                           return info.param == End::kClosed ? "WhenClosed"
                                                             : "WhenKilled";
                         });

TEST_F(SharingTest, AnotherDeviceImportsWhatItCanReach) {
  if (session().devices().size() < 2) GTEST_SKIP() << "one device";
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer made, Make(maker));
  ASSERT_OK_AND_ASSIGN(const std::string token,
                       made.Export({.rights = Rights::kReadWrite}));
  ASSERT_OK_AND_ASSIGN(const bool can, reader.session->device(1).CanAccessPeer(
                                           reader.session->device(0)));
  const auto read = reader.session->device(1).Import(token);
  if (!can) {
    EXPECT_THAT(read.status(), StatusIs(StatusCode::kFailedPrecondition,
                                        "which device 1 cannot access"));
    return;
  }
  ASSERT_OK(read);
  ASSERT_OK_AND_ASSIGN(const Stream stream,
                       reader.session->device(1).CreateStream());
  EXPECT_EQ(*Read(*read, stream), numbers_);
  ASSERT_OK_AND_ASSIGN(const Kernel kernel, Increment(*reader.session));
  ASSERT_OK(Launch(stream, {.grid = 1, .block = kCount}, kernel, *read));
  ASSERT_OK(stream.Synchronize());
  EXPECT_EQ((*Read(made, maker.stream))[0], 2u);
}

// Sessions that export, import and end at random leave nothing behind, and
// nobody ever sees other bytes than the maker wrote.
TEST_F(SharingTest, AStormOfSessionsLeavesNothingBehind) {
  unsigned seed = 1;
  const auto random = [&](unsigned limit) {
    seed = seed * 1103515245 + 12345;
    return seed / 65536 % limit;
  };
  for (int round = 0; round < 8; ++round) {
    ASSERT_OK_AND_ASSIGN(Side maker, Open());
    std::vector<Side> readers;
    std::vector<Buffer> made, read;
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK_AND_ASSIGN(Side reader, Open());
      readers.push_back(std::move(reader));
    }
    for (unsigned i = 0; i < 6; ++i) {
      ASSERT_OK_AND_ASSIGN(Buffer buffer, Make(maker));
      ASSERT_OK_AND_ASSIGN(const std::string token,
                           buffer.Export({.max_imports = 1 + random(3)}));
      ASSERT_OK_AND_ASSIGN(Buffer imported,
                           readers[i % 2].session->device(0).Import(token));
      made.push_back(std::move(buffer));
      read.push_back(std::move(imported));
    }
    const unsigned victim = random(4);
    if (victim == 0) KillExecutor(*maker.session);
    if (victim == 1) {
      ASSERT_OK(maker.session->Close());
    }
    if (victim == 2) KillExecutor(*readers[1].session);
    if (random(2) == 0) made.clear();
    for (unsigned i = 0; i < read.size(); i += 2) {
      EXPECT_EQ(*Read(read[i], readers[0].stream), numbers_);
    }
  }
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() == before_; }))
      << ReservedBytes() << " bytes are left of " << before_;
  EXPECT_EQ(OrphanedBytes(), 0u);
}

}  // namespace
}  // namespace holdfast::conformance
