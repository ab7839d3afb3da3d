// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include "tests/conformance/driver/api.h"
#include "tests/conformance/driver/kernels.h"

namespace holdfast::conformance {
namespace {

class LaunchTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_OK(Cuda().cuModuleLoadData(&module_, kPtx));
    ASSERT_OK(Cuda().cuModuleGetFunction(&scale_, module_, "scale"));
    ASSERT_OK(Cuda().cuModuleGetFunction(&empty_, module_, "empty"));
    ASSERT_OK(Cuda().cuModuleGetFunction(&store_, module_, "store"));
    ASSERT_OK(Cuda().cuMemAlloc_v2(&memory_, kCount * sizeof(float)));
  }
  void TearDown() override {
    EXPECT_OK(Cuda().cuMemFree_v2(memory_));
    EXPECT_OK(Cuda().cuModuleUnload(module_));
    ContextTest::TearDown();
  }

  CUresult LaunchEmpty(unsigned x, unsigned y, unsigned z, unsigned bx,
                       unsigned by, unsigned bz) {
    return Cuda().cuLaunchKernel(empty_, x, y, z, bx, by, bz, 0, nullptr,
                                 nullptr, nullptr);
  }

  std::vector<float> Values() {
    std::vector<float> values(kCount);
    EXPECT_OK(
        Cuda().cuMemcpyDtoH_v2(values.data(), memory_, kCount * sizeof(float)));
    return values;
  }

  void Upload() {
    std::vector<float> values(kCount);
    for (unsigned i = 0; i < kCount; ++i) values[i] = static_cast<float>(i);
    ASSERT_OK(
        Cuda().cuMemcpyHtoD_v2(memory_, values.data(), kCount * sizeof(float)));
  }

  // Odd on purpose: the last block is not full.
  static constexpr unsigned kCount = 100'003;
  CUmodule module_ = nullptr;
  CUfunction scale_ = nullptr, empty_ = nullptr, store_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(LaunchTest, KernelSeesItsParametersAndEveryThreadRuns) {
  Upload();
  float factor = 3;
  unsigned count = kCount;
  void* values[] = {&memory_, &factor, &count};
  ASSERT_OK(Cuda().cuLaunchKernel(scale_, (kCount + 255) / 256, 1, 1, 256, 1, 1,
                                  0, nullptr, values, nullptr));
  const std::vector<float> result = Values();
  for (unsigned i = 0; i < kCount; ++i) {
    ASSERT_EQ(result[i], 3.0f * static_cast<float>(i)) << i;
  }
}

TEST_F(LaunchTest, ParametersAreCopiedAtTheLaunch) {
  Upload();
  float factor = 2;
  unsigned count = kCount;
  void* values[] = {&memory_, &factor, &count};
  CUstream stream = nullptr;
  ASSERT_OK(Cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  {
    Gate gate;
    gate.Block(stream);
    ASSERT_OK(Cuda().cuLaunchKernel(scale_, (kCount + 63) / 64, 1, 1, 64, 1, 1,
                                    0, stream, values, nullptr));
    factor = 100;
    count = 0;
  }
  ASSERT_OK(Cuda().cuStreamSynchronize(stream));
  EXPECT_EQ(Values()[kCount - 1], 2.0f * (kCount - 1));
  EXPECT_OK(Cuda().cuStreamDestroy_v2(stream));
}

TEST_F(LaunchTest, OneBufferMayHoldAllParameters) {
  Upload();
  struct {
    CUdeviceptr data;
    float factor;
    unsigned count;
  } parameters{memory_, 5, kCount};
  size_t size = sizeof(parameters);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  ASSERT_OK(Cuda().cuLaunchKernel(scale_, (kCount + 127) / 128, 1, 1, 128, 1, 1,
                                  0, nullptr, nullptr, extra));
  EXPECT_EQ(Values()[10], 50.0f);
}

TEST_F(LaunchTest, AModulesKernelRunsInItsContextOnly) {
  CUcontext other = nullptr;
  ASSERT_OK(Cuda().cuCtxCreate_v4(&other, nullptr, 0, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, LaunchEmpty(1, 1, 1, 1, 1, 1));
  EXPECT_OK(Cuda().cuCtxDestroy_v2(other));
  EXPECT_OK(LaunchEmpty(1, 1, 1, 1, 1, 1));
}

// What the H200's driver makes of buffers of other sizes.
TEST_F(LaunchTest, AParameterBufferMayEndEarlyAndNotLate) {
  struct {
    CUdeviceptr data;
    float factor;
    unsigned count;
  } parameters{memory_, 5, kCount};
  size_t size = sizeof(parameters) - sizeof(parameters.count);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  const auto launch = [&] {
    return Cuda().cuLaunchKernel(scale_, 1, 1, 1, 128, 1, 1, 0, nullptr,
                                 nullptr, extra);
  };
  EXPECT_OK(launch());  // the count is not given
  size = sizeof(parameters) + 1;
  EXPECT_CUDA(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, launch());
  size = 4096;
  EXPECT_CUDA(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, launch());
}

TEST_F(LaunchTest, AParameterBufferHasNoPaddingAtItsEnd) {
  CUmodule module = nullptr;
  ASSERT_OK(Cuda().cuModuleLoadData(
      &module,
      ".version 8.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry k(.param .u64 p, .param .u32 q) { ret; }\n"));
  CUfunction kernel = nullptr;
  ASSERT_OK(Cuda().cuModuleGetFunction(&kernel, module, "k"));
  struct {
    CUdeviceptr p = 0;
    unsigned q = 0;
  } parameters;
  size_t size = sizeof(parameters.p) + sizeof(parameters.q);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  const auto launch = [&] {
    return Cuda().cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                                 extra);
  };
  EXPECT_OK(launch());
  size = sizeof(parameters);
  EXPECT_CUDA(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, launch());
  EXPECT_OK(Cuda().cuCtxSynchronize_v2(context_));
  EXPECT_OK(Cuda().cuModuleUnload(module));
}

TEST_F(LaunchTest, GeometryOutsideTheLimitsIsRefused) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, LaunchEmpty(0, 1, 1, 1, 1, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, LaunchEmpty(1, 0, 1, 1, 1, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, LaunchEmpty(1, 1, 1, 1, 1, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, LaunchEmpty(1, 65536, 1, 1, 1, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, LaunchEmpty(1, 1, 65536, 1, 1, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              LaunchEmpty(0x80000000u, 1, 1, 1, 1, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, LaunchEmpty(1, 1, 1, 1025, 1, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, LaunchEmpty(1, 1, 1, 1, 1, 65));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, LaunchEmpty(1, 1, 1, 32, 33, 1));
  EXPECT_OK(LaunchEmpty(3, 5, 7, 4, 4, 64));
  EXPECT_OK(Cuda().cuCtxSynchronize_v2(context_));
}

TEST_F(LaunchTest, ABlockBeyondLaunchBoundsIsRefusedAtTheCall) {
  CUmodule module = nullptr;
  ASSERT_OK(Cuda().cuModuleLoadData(&module,
                                    ".version 8.0\n.target sm_80\n"
                                    ".address_size 64\n"
                                    ".visible .entry bounded()\n"
                                    ".maxntid 128\n{ ret; }\n"));
  CUfunction bounded = nullptr;
  ASSERT_OK(Cuda().cuModuleGetFunction(&bounded, module, "bounded"));
  const auto launch = [&](unsigned x, unsigned y) {
    return Cuda().cuLaunchKernel(bounded, 1, 1, 1, x, y, 1, 0, nullptr, nullptr,
                                 nullptr);
  };
  EXPECT_OK(launch(128, 1));
  EXPECT_OK(launch(32, 4));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch(129, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch(32, 8));
  EXPECT_OK(Cuda().cuCtxSynchronize_v2(context_));
  EXPECT_OK(Cuda().cuModuleUnload(module));
}

TEST_F(LaunchTest, MissingParametersAreRefused) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuLaunchKernel(scale_, 1, 1, 1, 1, 1, 1, 0, nullptr,
                                    nullptr, nullptr));
}

TEST_F(LaunchTest, LaunchesOfOneStreamFollowEachOther) {
  CUstream stream = nullptr;
  ASSERT_OK(Cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (unsigned i = 0; i < 200; ++i) {
    void* values[] = {&memory_, &i};
    ASSERT_OK(Cuda().cuLaunchKernel(store_, 1, 1, 1, 1, 1, 1, 0, stream, values,
                                    nullptr));
  }
  uint32_t last = 0;
  ASSERT_OK(Cuda().cuMemcpyDtoHAsync_v2(&last, memory_, 4, stream));
  ASSERT_OK(Cuda().cuStreamSynchronize(stream));
  EXPECT_EQ(last, 199u);
  EXPECT_OK(Cuda().cuStreamDestroy_v2(stream));
}

TEST_F(LaunchTest, CooperativeGridMustFitTheDevice) {
  if (Attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) == 0) {
    GTEST_SKIP() << "no cooperative launch";
  }
  int blocks = 0;
  ASSERT_OK(Cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty_,
                                                               256, 0));
  const unsigned fitting =
      blocks * Attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  const auto launch = [&](unsigned grid) {
    return Cuda().cuLaunchCooperativeKernel(empty_, grid, 1, 1, 256, 1, 1, 0,
                                            nullptr, nullptr);
  };
  EXPECT_OK(launch(fitting));
  EXPECT_CUDA(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, launch(fitting + 1));
  EXPECT_OK(Cuda().cuCtxSynchronize_v2(context_));
}

TEST_F(LaunchTest, AttributesOfALaunchAreAccepted) {
  CUlaunchAttribute attributes[4] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[0].value.priority = 0;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_IGNORE;
  attributes[2].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
  attributes[2].value.clusterSchedulingPolicyPreference =
      CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
  attributes[3].id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
  attributes[3].value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.attrs = attributes;
  config.numAttrs = 4;
  EXPECT_OK(Cuda().cuLaunchKernelEx(&config, empty_, nullptr, nullptr));
  EXPECT_OK(Cuda().cuCtxSynchronize_v2(context_));
}

TEST_F(LaunchTest, AnAttributeOfStreamsIsNoneOfLaunches) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
  attribute.value.syncPolicy = CU_SYNC_POLICY_SPIN;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const CUresult result =
      Cuda().cuLaunchKernelEx(&config, empty_, nullptr, nullptr);
  EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE) << Name(result);
}

TEST_F(LaunchTest, ClusterAttributeFollowsTheDevicesCapability) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {2, 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = 2;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const CUresult result =
      Cuda().cuLaunchKernelEx(&config, empty_, nullptr, nullptr);
  const bool supported = Attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0;
  EXPECT_EQ(result == CUDA_SUCCESS, supported) << Name(result);
  EXPECT_OK(Cuda().cuCtxSynchronize_v2(context_));
}

TEST_F(LaunchTest, KernelHandleCanBeLaunchedWithoutAFunction) {
  CUlibrary library = nullptr;
  ASSERT_OK(Cuda().cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0,
                                     nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  ASSERT_OK(Cuda().cuLibraryGetKernel(&kernel, library, "store"));
  unsigned value = 77;
  void* values[] = {&memory_, &value};
  ASSERT_OK(Cuda().cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1,
                                  32, 1, 1, 0, nullptr, values, nullptr));
  uint32_t stored = 0;
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(&stored, memory_, 4));
  EXPECT_EQ(stored, 77u);
  EXPECT_OK(Cuda().cuLibraryUnload(library));
}

TEST_F(LaunchTest, EventsTimeAKernel) {
  CUevent start = nullptr, end = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(&start, CU_EVENT_DEFAULT));
  ASSERT_OK(Cuda().cuEventCreate(&end, CU_EVENT_DEFAULT));
  float factor = 1;
  unsigned count = kCount;
  void* values[] = {&memory_, &factor, &count};
  ASSERT_OK(Cuda().cuEventRecord(start, nullptr));
  ASSERT_OK(Cuda().cuLaunchKernel(scale_, (kCount + 255) / 256, 1, 1, 256, 1, 1,
                                  0, nullptr, values, nullptr));
  ASSERT_OK(Cuda().cuEventRecord(end, nullptr));
  ASSERT_OK(Cuda().cuEventSynchronize(end));
  float ms = 0;
  EXPECT_OK(Cuda().cuEventElapsedTime_v2(&ms, start, end));
  EXPECT_GT(ms, 0.0f);
  EXPECT_OK(Cuda().cuEventDestroy_v2(start));
  EXPECT_OK(Cuda().cuEventDestroy_v2(end));
}

}  // namespace
}  // namespace holdfast::conformance
