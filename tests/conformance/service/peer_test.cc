// SPDX-License-Identifier: Apache-2.0
//
// Copies between two devices. They are skipped where the daemon has one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "client/cpp/box_copy.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "client/cpp/occupancy.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/module_commands.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

class PeerTest : public ServiceTest {
 protected:
  static constexpr uint64_t kCount = 1 << 20;
  static constexpr uint64_t kBytes = kCount * sizeof(uint32_t);

  void SetUp() override {
    int devices = 0;
    ASSERT_EQ(driver().cuDeviceGetCount(&devices), CUDA_SUCCESS);
    if (devices < 2) GTEST_SKIP() << "this machine has one device";
    std::iota(numbers_.begin(), numbers_.end(), 1u);
  }

  // Bytes that this session has copied between devices.
  static uint64_t PeerBytes() {
    const auto sessions = daemon().Sessions();
    EXPECT_OK(sessions);
    for (const v1::SessionInfo& info : *sessions) {
      if (info.session_id() != session().id()) continue;
      for (const v1::CopyStatistics& copies : info.copies()) {
        if (copies.path() == v1::COPY_PATH_PEER) return copies.bytes();
      }
    }
    return 0;
  }

  struct Place {
    Stream stream;
    Buffer buffer;
  };
  static absl::StatusOr<Place> On(uint32_t ordinal) {
    const Device device = session().device(ordinal);
    HOLDFAST_ASSIGN_OR_RETURN(Stream stream, device.CreateStream());
    HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer, device.Allocate(kBytes, stream));
    return Place{std::move(stream), std::move(buffer)};
  }

  std::vector<uint32_t> numbers_ = std::vector<uint32_t>(kCount);
};

TEST_F(PeerTest, BytesGoThereAndBack) {
  ASSERT_OK_AND_ASSIGN(const Place here, On(0));
  ASSERT_OK_AND_ASSIGN(const Place there, On(1));
  ASSERT_OK_AND_ASSIGN(const Place back, On(0));
  const uint64_t before = PeerBytes();
  ASSERT_OK(here.buffer.Upload(numbers_, here.stream));
  ASSERT_OK(here.stream.Synchronize());
  ASSERT_OK(there.buffer.CopyFrom(here.buffer, there.stream));
  ASSERT_OK(there.stream.Synchronize());
  ASSERT_OK(back.buffer.CopyFrom(there.buffer, back.stream));
  std::vector<uint32_t> result(kCount);
  ASSERT_OK(back.buffer.Download(result, back.stream));
  EXPECT_EQ(result, numbers_);
  EXPECT_EQ(PeerBytes() - before, 2 * kBytes);
}

TEST_F(PeerTest, BoxesWithPitchesGoBetweenDevices) {
  ASSERT_OK_AND_ASSIGN(const Place here, On(0));
  ASSERT_OK_AND_ASSIGN(const Place there, On(1));
  ASSERT_OK(here.buffer.Upload(numbers_, here.stream));
  ASSERT_OK(there.buffer.Fill(uint32_t{0}, there.stream));
  ASSERT_OK(session().Synchronize());
  // 3 slices of 5 rows of 7 numbers, out of rows of 100 and into rows of 64.
  ASSERT_OK(CopyBox({.width = 28, .height = 5, .depth = 3},
                    {there.buffer, 4, 256, 2560}, {here.buffer, 8, 400, 4000},
                    there.stream));
  std::vector<uint32_t> result(kCount);
  ASSERT_OK(there.buffer.Download(result, there.stream));
  std::vector<uint32_t> expected(kCount, 0);
  for (int z = 0; z < 3; ++z) {
    for (int y = 0; y < 5; ++y) {
      for (int x = 0; x < 7; ++x) {
        expected[1 + 640 * z + 64 * y + x] =
            numbers_[2 + 1000 * z + 100 * y + x];
      }
    }
  }
  EXPECT_EQ(result, expected);
}

TEST_F(PeerTest, ABatchMayMixDevices) {
  ASSERT_OK_AND_ASSIGN(const Place here, On(0));
  ASSERT_OK_AND_ASSIGN(const Place there, On(1));
  ASSERT_OK(here.buffer.Upload(numbers_, here.stream));
  ASSERT_OK(there.buffer.Fill(uint32_t{0}, there.stream));
  ASSERT_OK(session().Synchronize());
  const RangeCopy copies[] = {{there.buffer, 0, here.buffer, 4096, 1024},
                              {there.buffer, 8192, here.buffer, 0, 4}};
  ASSERT_OK(CopyAll(copies, there.stream));
  std::vector<uint32_t> result(kCount);
  ASSERT_OK(there.buffer.Download(result, there.stream));
  EXPECT_EQ(result[0], numbers_[1024]);
  EXPECT_EQ(result[255], numbers_[1279]);
  EXPECT_EQ(result[256], 0u);
  EXPECT_EQ(result[2048], numbers_[0]);
}

TEST_F(PeerTest, AKernelRunsOnTheSecondDevice) {
  ASSERT_OK_AND_ASSIGN(const Place there, On(1));
  ASSERT_OK_AND_ASSIGN(
      const Compilation compiled,
      Program("extern \"C\" __global__ void twice(unsigned* x) {"
              "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;"
              "  x[i] *= 2; }")
          .Compile(daemon()));
  ASSERT_OK_AND_ASSIGN(const Module module, session().Load(compiled.object));
  ASSERT_OK_AND_ASSIGN(const Kernel kernel, module.GetKernel("twice"));
  ASSERT_OK(there.buffer.Upload(numbers_, there.stream));
  ASSERT_OK(Launch(there.stream, {.grid = kCount / 256, .block = 256}, kernel,
                   there.buffer));
  std::vector<uint32_t> result(kCount);
  ASSERT_OK(there.buffer.Download(result, there.stream));
  for (uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(result[i], 2 * numbers_[i]) << i;
  }
}

constexpr char kReverse[] = R"(
__device__ unsigned calls;
extern "C" __global__ void reverse(unsigned* x) {
  extern __shared__ unsigned tile[];
  if (threadIdx.x == 0) ++calls;
  tile[16384 + threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[16384 + blockDim.x - 1 - threadIdx.x];
}
)";
constexpr uint32_t kThreads = 256;
constexpr uint32_t kSharedBytes = (16384 + kThreads) * sizeof(uint32_t);

// Questions that name no device are about the session's first one.
TEST_F(PeerTest, SessionsOfAnySubsetInAnyOrderWorkInFull) {
  int count = 0;
  ASSERT_EQ(driver().cuDeviceGetCount(&count), CUDA_SUCCESS);
  const auto last = static_cast<uint32_t>(count - 1);
  for (const std::vector<uint32_t>& devices :
       {std::vector<uint32_t>{1}, std::vector<uint32_t>{last, 0}}) {
    ASSERT_OK_AND_ASSIGN(const auto other, OpenSession({.devices = devices}));
    EXPECT_EQ(other->devices(), devices);
    ASSERT_OK_AND_ASSIGN(const Compilation compiled,
                         Program(kReverse).Compile(daemon()));
    ASSERT_OK_AND_ASSIGN(const Module module, other->Load(compiled.object));
    ASSERT_OK_AND_ASSIGN(const Kernel kernel, module.GetKernel("reverse"));
    ASSERT_OK(
        kernel.SetAttribute("max_dynamic_shared_size_bytes", kSharedBytes));
    ASSERT_OK_AND_ASSIGN(const auto description, kernel.Describe());
    EXPECT_EQ(description.attributes().at("max_dynamic_shared_size_bytes"),
              kSharedBytes);
    ASSERT_OK_AND_ASSIGN(const auto size,
                         Occupancy(kernel).MaxPotentialBlockSize());
    EXPECT_GE(size.threads, kThreads);
    ASSERT_OK_AND_ASSIGN(const Buffer pinned,
                         other->AllocateHost(kThreads * sizeof(uint32_t)));
    for (const uint32_t ordinal : devices) {
      ASSERT_OK(kernel.SetAttribute("max_dynamic_shared_size_bytes",
                                    kSharedBytes, ordinal));
      ASSERT_OK_AND_ASSIGN(const Stream stream,
                           other->device(ordinal).CreateStream());
      ASSERT_OK_AND_ASSIGN(
          const Buffer buffer,
          other->device(ordinal).Allocate(kThreads * sizeof(uint32_t), stream));
      std::vector<uint32_t> values(numbers_.begin(),
                                   numbers_.begin() + kThreads);
      ASSERT_OK(pinned.Upload(values, stream));
      ASSERT_OK(buffer.CopyFrom(pinned, stream));
      ASSERT_OK(Launch(
          stream,
          {.grid = 1, .block = kThreads, .dynamic_shared_bytes = kSharedBytes},
          kernel, buffer));
      std::vector<uint32_t> result(kThreads);
      ASSERT_OK(buffer.Download(result, stream));
      std::reverse(values.begin(), values.end());
      EXPECT_EQ(result, values) << ordinal;
      ASSERT_OK_AND_ASSIGN(const Buffer calls,
                           module.GetGlobal("calls", ordinal));
      std::vector<uint32_t> times(1);
      ASSERT_OK(calls.Download(times, stream));
      EXPECT_EQ(times[0], 1u) << ordinal;
    }
    // The variable of the first device.
    ASSERT_OK(module.GetGlobal("calls"));
  }
}

}  // namespace
}  // namespace holdfast::conformance
