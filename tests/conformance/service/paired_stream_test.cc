// SPDX-License-Identifier: Apache-2.0
//
// A stream of a session and a CUstream of this process, as one stream.
#include "client/cpp/local/paired_stream.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "client/cpp/semaphore.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

using absl::StatusCode;
using ::holdfast::testing::StatusIs;

constexpr uint64_t kCount = 1 << 16;
constexpr uint64_t kBytes = kCount * sizeof(uint32_t);

// Two buffers of the session, of which this process has mapped both.
class PairedStreamTest : public ServiceTest {
 protected:
  void SetUp() override {
    const Address::Kind kind = daemon().address().kind;
    if (kind != Address::Kind::kUnix && kind != Address::Kind::kEmbedded) {
      GTEST_SKIP() << "the daemon may be on another machine";
    }
  }

  struct Shared {
    Buffer buffer;
    std::unique_ptr<LocalMapping> mapping;
  };

  absl::StatusOr<Shared> Share(uint64_t size) {
    auto buffer = session().device(0).AllocateShared(size);
    if (!buffer.ok()) return buffer.status();
    const auto memory = buffer->ExportLocal({.rights = Rights::kReadWrite});
    if (!memory.ok()) return memory.status();
    auto mapping = LocalMapping::Map(*memory, Options());
    if (!mapping.ok()) return mapping.status();
    return Shared{*std::move(buffer), *std::move(mapping)};
  }

  static LocalMappingOptions Options() { return {.driver = driver_path()}; }
  static CUstream ToStream(uint64_t handle) {
    return reinterpret_cast<CUstream>(static_cast<uintptr_t>(handle));
  }
  static std::vector<uint32_t> Read(CUdeviceptr address, CUstream stream) {
    std::vector<uint32_t> values(kCount);
    EXPECT_EQ(
        driver().cuMemcpyDtoHAsync(values.data(), address, kBytes, stream),
        CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
    return values;
  }
};

// The CUstream stands still at first: without the order, the session's copy
// would be done long before.
TEST_F(PairedStreamTest, EachSideSeesWhatTheOtherDidBefore) {
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(const Shared x, Share(kBytes));
  ASSERT_OK_AND_ASSIGN(const Shared y, Share(kBytes));
  ASSERT_OK_AND_ASSIGN(const Shared gate, Share(64));
  ASSERT_OK(gate.buffer.Fill(uint32_t{0}, stream));
  ASSERT_OK(stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const uint64_t handle,
                       PairStream(stream, std::nullopt, Options()));
  const CUstream own = ToStream(handle);
  ASSERT_EQ(driver().cuStreamWaitValue64(own, gate.mapping->pointer(), 1,
                                         CU_STREAM_WAIT_VALUE_GEQ),
            CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemsetD32Async(x.mapping->pointer(), 7, kCount, own),
            CUDA_SUCCESS);
  ASSERT_OK(y.buffer.CopyFrom(x.buffer, stream));
  EXPECT_FALSE(*stream.IsDone());
  ASSERT_EQ(driver().cuStreamWriteValue64(nullptr, gate.mapping->pointer(), 1,
                                          CU_STREAM_WRITE_VALUE_DEFAULT),
            CUDA_SUCCESS);
  EXPECT_EQ(Read(y.mapping->pointer(), own), std::vector<uint32_t>(kCount, 7));
}

TEST_F(PairedStreamTest, AStreamOfThisProcessCanBePaired) {
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(const Shared x, Share(kBytes));
  ASSERT_OK_AND_ASSIGN(const Shared y, Share(kBytes));
  CUstream own = nullptr;
  ASSERT_EQ(
      driver().cuStreamCreateWithPriority(&own, CU_STREAM_NON_BLOCKING, 0),
      CUDA_SUCCESS);
  {
    const Stream paired = std::move(*session().device(0).CreateStream());
    ASSERT_OK_AND_ASSIGN(
        const uint64_t handle,
        PairStream(paired, reinterpret_cast<uintptr_t>(own), Options()));
    EXPECT_EQ(ToStream(handle), own);
    EXPECT_THAT(PairStream(paired, std::nullopt, Options()).status(),
                StatusIs(StatusCode::kAlreadyExists, "already"));
    for (uint32_t i = 1; i <= 50; ++i) {
      ASSERT_EQ(driver().cuMemsetD32Async(x.mapping->pointer(), i, kCount, own),
                CUDA_SUCCESS);
      ASSERT_OK(y.buffer.CopyFrom(x.buffer, paired));
      ASSERT_EQ(Read(y.mapping->pointer(), own),
                std::vector<uint32_t>(kCount, i));
    }
    // Ordinary memory of this process, too.
    std::vector<uint32_t> values(kCount, 51);
    ASSERT_OK(x.buffer.Upload(values, paired));
    EXPECT_EQ(Read(x.mapping->pointer(), own), values);
    ASSERT_EQ(driver().cuMemsetD32Async(x.mapping->pointer(), 52, kCount, own),
              CUDA_SUCCESS);
    ASSERT_OK(x.buffer.Download(values, paired));
    EXPECT_EQ(values, std::vector<uint32_t>(kCount, 52));
  }
  // It is this process's own, and goes on without the session's stream.
  EXPECT_EQ(driver().cuStreamSynchronize(own), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamDestroy(own), CUDA_SUCCESS);
}

// The session's stream waits for ever, so its signal is never given.
TEST_F(PairedStreamTest, ASessionThatEndsLeavesNoWaitBehind) {
  CUstream own = nullptr;
  ASSERT_EQ(
      driver().cuStreamCreateWithPriority(&own, CU_STREAM_NON_BLOCKING, 0),
      CUDA_SUCCESS);
  {
    auto other = OpenSession();
    ASSERT_OK(other);
    ASSERT_OK_AND_ASSIGN(const Stream stream,
                         (*other)->device(0).CreateStream());
    ASSERT_OK_AND_ASSIGN(const Semaphore never,
                         (*other)->device(0).CreateSemaphore());
    ASSERT_OK(PairStream(stream, reinterpret_cast<uintptr_t>(own), Options()));
    ASSERT_OK(never.Wait(1, stream));
    EXPECT_EQ(driver().cuStreamQuery(own), CUDA_ERROR_NOT_READY);
    ASSERT_OK((*other)->Close());
  }
  EXPECT_EQ(driver().cuStreamSynchronize(own), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamDestroy(own), CUDA_SUCCESS);
}

TEST_F(PairedStreamTest, ADriverThatIsNotThereIsNamed) {
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  EXPECT_THAT(
      PairStream(stream, std::nullopt, {.driver = "libnone.so"}).status(),
      StatusIs(StatusCode::kUnavailable, "libnone.so"));
}

}  // namespace
}  // namespace holdfast::conformance
