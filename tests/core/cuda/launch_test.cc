// SPDX-License-Identifier: Apache-2.0
//
// Modules, kernels and launches, on PTX that needs no compiler.
#include "core/cuda/launch.h"

#include <cstring>
#include <memory>
#include <string>

#include "core/base/error_detail.h"
#include "core/cuda/copy.h"
#include "core/cuda/host_memory.h"
#include "core/cuda/kernel.h"
#include "core/cuda/module.h"
#include "tests/testing/kernels.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::cuda {
namespace {

using holdfast::testing::SoftwareContext;
using holdfast::testing::StatusIs;

class LaunchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(stream_, Stream::Create(context_, {}));
    ASSERT_OK_AND_ASSIGN(
        module_,
        Module::Load(context_,
                     test_ptx::kModule<test_ptx::kScale, test_ptx::kBump>));
    ASSERT_OK_AND_ASSIGN(kernel_, Kernel::Find(module_, "scale"));
  }

  absl::Status LaunchWith(const LaunchConfig& config) {
    const CUdeviceptr null = 0;
    const float factor = 2;
    const uint32_t count = 0;
    const KernelArgument arguments[] = {KernelArgument::Of(null),
                                        KernelArgument::Of(factor),
                                        KernelArgument::Of(count)};
    return Launch(*stream_, config, *kernel_, arguments);
  }

  std::shared_ptr<const Context> context_ = SoftwareContext();
  std::unique_ptr<Stream> stream_;
  std::shared_ptr<const Module> module_;
  std::shared_ptr<const Kernel> kernel_;
};

TEST_F(LaunchTest, RunsAndTouchesOnlyItsRange) {
  constexpr uint32_t kCount = 1000;
  ASSERT_OK_AND_ASSIGN(auto memory,
                       HostMemory::Allocate(context_, 4 * (kCount + 24)));
  auto* data = reinterpret_cast<float*>(memory->data());
  for (uint32_t i = 0; i < kCount + 24; ++i) data[i] = static_cast<float>(i);
  const CUdeviceptr address = memory->device_address();
  const float factor = 0.5f;
  const uint32_t count = kCount;
  const KernelArgument arguments[] = {KernelArgument::Of(address),
                                      KernelArgument::Of(factor),
                                      KernelArgument::Of(count)};
  ASSERT_OK(
      Launch(*stream_, {.grid = {4}, .block = {256}}, *kernel_, arguments));
  ASSERT_OK(stream_->Synchronize());
  for (uint32_t i = 0; i < kCount + 24; ++i) {
    const float expected = static_cast<float>(i) * (i < kCount ? 0.5f : 1.0f);
    ASSERT_EQ(data[i], expected) << i;
  }
}

TEST_F(LaunchTest, ParametersAreKnown) {
  ASSERT_EQ(kernel_->parameters().size(), 3u);
  EXPECT_EQ(kernel_->parameters()[0].size, 8u);
  EXPECT_EQ(kernel_->parameters()[1].offset, 8u);
  EXPECT_EQ(kernel_->parameters()[2].offset, 12u);
}

TEST_F(LaunchTest, WrongArgumentsNameCountOrSize) {
  const CUdeviceptr address = 0;
  const double wide = 2;
  const uint32_t count = 0;
  const auto invalid = absl::StatusCode::kInvalidArgument;
  const KernelArgument wrong[] = {KernelArgument::Of(address),
                                  KernelArgument::Of(wide),
                                  KernelArgument::Of(count)};
  EXPECT_THAT(
      Launch(*stream_, {}, *kernel_, wrong),
      StatusIs(invalid,
               "argument 1 of kernel scale has 8 bytes, its parameter has 4"));
  EXPECT_THAT(Launch(*stream_, {}, *kernel_, {}),
              StatusIs(invalid, "takes 3 arguments, 0 were given"));
}

TEST_F(LaunchTest, GeometryOverALimitNamesIt) {
  EXPECT_THAT(LaunchWith({.grid = {0}, .block = {32}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "grid (0, 1, 1)"));
  EXPECT_THAT(LaunchWith({.grid = {1}, .block = {1, 0, 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "block (1, 0, 1)"));
  EXPECT_THAT(LaunchWith({.grid = {1, 1u << 20}, .block = {32}}),
              StatusIs(absl::StatusCode::kOutOfRange, "65535"));
  EXPECT_THAT(LaunchWith({.grid = {1}, .block = {1024, 2}}),
              StatusIs(absl::StatusCode::kOutOfRange, "2048 threads"));
  EXPECT_THAT(LaunchWith({.grid = {1}, .block = {1, 1, 1024}}),
              StatusIs(absl::StatusCode::kOutOfRange, "(1024, 1024, 64)"));
}

TEST_F(LaunchTest, SharedMemoryAboveTheDefaultIsAllowedUpToTheDevicesLimit) {
  EXPECT_OK(LaunchWith({.block = {32}, .dynamic_shared_bytes = 64 * 1024}));
  const uint32_t limit = context_->limits().shared_bytes_per_block_optin;
  EXPECT_OK(LaunchWith({.block = {32}, .dynamic_shared_bytes = limit}));
  EXPECT_THAT(LaunchWith({.block = {32}, .dynamic_shared_bytes = limit + 1}),
              StatusIs(absl::StatusCode::kOutOfRange, std::to_string(limit)));
  EXPECT_THAT(LaunchWith({.block = {32}, .dynamic_shared_bytes = ~0u}),
              StatusIs(absl::StatusCode::kOutOfRange, "4294967295"));
}

TEST_F(LaunchTest, ACooperativeGridThatDoesNotFitNamesHowManyBlocksDo) {
  if (!context_->limits().cooperative_launch) GTEST_SKIP();
  EXPECT_OK(LaunchWith({.block = {32}, .cooperative = true}));
  EXPECT_THAT(
      LaunchWith({.grid = {1u << 30}, .block = {1024}, .cooperative = true}),
      StatusIs(absl::StatusCode::kOutOfRange, "1073741824 blocks"));
}

TEST_F(LaunchTest, ABlockThatTheKernelDoesNotTakeNamesTheOneThatItTakes) {
  ASSERT_OK_AND_ASSIGN(const auto module, Module::Load(context_, R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry fixed() .reqntid 8, 4 { ret; }
)"));
  ASSERT_OK_AND_ASSIGN(const auto fixed, Kernel::Find(module, "fixed"));
  ASSERT_OK(Launch(*stream_, {.grid = {1}, .block = {8, 4}}, *fixed, {}));
  for (const Dim3 block : {Dim3{8, 2}, Dim3{4, 8}, Dim3{32}}) {
    const absl::Status status =
        Launch(*stream_, {.grid = {1}, .block = block}, *fixed, {});
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 "kernel fixed requires blocks of (8, 4, 1) "
                                 "threads (.reqntid)"));
  }
}

// A kernel that needs what the device lacks leaves the others alone.
TEST_F(LaunchTest, OfAModuleTheKernelsThatTheDeviceServesRun) {
  ASSERT_OK_AND_ASSIGN(const auto module, Module::Load(context_, R"(
.version 8.0
.target sm_90a
.address_size 64
.func multiply() {
  wgmma.fence.sync.aligned;
  ret;
}
.visible .entry product() { call multiply; ret; }
.visible .entry other() { ret; }
)"));
  ASSERT_OK_AND_ASSIGN(const auto other, Kernel::Find(module, "other"));
  ASSERT_OK(Launch(*stream_, {.grid = {1}, .block = {32}}, *other, {}));
  ASSERT_OK(stream_->Synchronize());
  EXPECT_THAT(Kernel::Find(module, "product"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "kernel product at 6:3: 'wgmma.fence.sync.aligned' is "
                       "not served: the software device has no matrices of a "
                       "warp group, in function multiply"));
}

TEST_F(LaunchTest, AClusterMustDivideTheGrid) {
  const absl::Status status =
      LaunchWith({.grid = {3}, .block = {32}, .cluster = Dim3{2}});
  if (context_->limits().cluster_launch) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument, "(2, 1, 1)"));
  } else {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 ") has no thread block clusters; they need "
                                 "compute capability 9.0 or higher"));
  }
}

TEST_F(LaunchTest, KernelsAreListedWhenANameIsWrong) {
  EXPECT_THAT(Kernel::Find(module_, "skale"),
              StatusIs(absl::StatusCode::kNotFound,
                       "no kernel is named \"skale\"; the module has bump, "
                       "scale"));
}

TEST_F(LaunchTest, GlobalsCanBeFoundAndRead) {
  ASSERT_OK_AND_ASSIGN(const Module::Global global,
                       module_->FindGlobal("counter", *context_));
  EXPECT_EQ(global.size, 4u);
  ASSERT_OK_AND_ASSIGN(auto memory, HostMemory::Allocate(context_, 4));
  ASSERT_OK(CopyAsync(*stream_, memory->device_address(), global.address, 4));
  ASSERT_OK(stream_->Synchronize());
  uint32_t counter = 0;
  std::memcpy(&counter, memory->data(), 4);
  EXPECT_EQ(counter, 7u);
  EXPECT_THAT(module_->FindGlobal("question", *context_),
              StatusIs(absl::StatusCode::kNotFound, "\"question\""));
}

TEST_F(LaunchTest, AttributesHaveNamesAndSomeCanBeSet) {
  ASSERT_OK_AND_ASSIGN(const auto attributes, kernel_->Attributes());
  EXPECT_GE(attributes.size(), 10u);
  EXPECT_OK(kernel_->SetAttribute("max_dynamic_shared_size_bytes", 1024));
  EXPECT_THAT(kernel_->SetAttribute("num_regs", 1),
              StatusIs(absl::StatusCode::kInvalidArgument, "cannot be set"));
  EXPECT_THAT(kernel_->SetAttribute("no_such", 1),
              StatusIs(absl::StatusCode::kInvalidArgument, "\"no_such\""));
}

TEST_F(LaunchTest, KernelsKeepTheirModule) {
  module_.reset();
  EXPECT_OK(LaunchWith({.block = {32}}));
  EXPECT_OK(stream_->Synchronize());
}

TEST_F(LaunchTest, BadPtxCarriesTheDriversLog) {
  const auto module = Module::Load(context_, ".version 8.0\nnonsense here;\n");
  ASSERT_THAT(module, StatusIs(absl::StatusCode::kInvalidArgument,
                               "cuLibraryLoadData"));
  EXPECT_FALSE(GetErrorDetail(module.status())->log.empty());
}

}  // namespace
}  // namespace holdfast::cuda
