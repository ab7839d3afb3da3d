// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/service/direct_kernel.h"

#include <gtest/gtest.h>

namespace holdfast::conformance {
namespace {

struct NamedAttribute {
  const char* name;
  CUfunction_attribute attribute;
};

constexpr NamedAttribute kAttributes[] = {
    {"max_threads_per_block", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {"shared_size_bytes", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
    {"const_size_bytes", CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES},
    {"local_size_bytes", CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
    {"num_regs", CU_FUNC_ATTRIBUTE_NUM_REGS},
    {"ptx_version", CU_FUNC_ATTRIBUTE_PTX_VERSION},
    {"binary_version", CU_FUNC_ATTRIBUTE_BINARY_VERSION},
    {"cache_mode_ca", CU_FUNC_ATTRIBUTE_CACHE_MODE_CA},
    {"max_dynamic_shared_size_bytes",
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
    {"preferred_shared_memory_carveout",
     CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT},
    {"cluster_size_must_be_set", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET},
    {"required_cluster_width", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH},
    {"required_cluster_height", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT},
    {"required_cluster_depth", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH},
    {"non_portable_cluster_size_allowed",
     CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED},
    {"cluster_scheduling_policy_preference",
     CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE}};

void Check(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }

template <typename T>
DirectKernel::Number Answer(CUresult result, T value) {
  if (result != CUDA_SUCCESS) return std::nullopt;
  return static_cast<uint64_t>(value);
}

// 64 blocks of so many threads.
CUlaunchConfig Config(unsigned threads) {
  CUlaunchConfig config{};
  config.gridDimX = 64;
  config.blockDimX = threads;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  return config;
}

}  // namespace

DirectKernel::DirectKernel(const cuda::DriverApi& api, const std::string& image,
                           const std::string& name)
    : api_(api) {
  Check(api_.cuLibraryLoadData(&library_, image.c_str(), nullptr, nullptr, 0,
                               nullptr, nullptr, 0));
  Check(api_.cuLibraryGetKernel(&kernel_, library_, name.c_str()));
  Check(api_.cuKernelGetFunction(&function_, kernel_));
}

DirectKernel::~DirectKernel() { Check(api_.cuLibraryUnload(library_)); }

std::map<std::string, int64_t> DirectKernel::Attributes() const {
  std::map<std::string, int64_t> attributes;
  for (const NamedAttribute& named : kAttributes) {
    int value = 0;
    Check(api_.cuFuncGetAttribute(&value, named.attribute, function_));
    attributes[named.name] = value;
  }
  return attributes;
}

std::vector<std::pair<uint64_t, uint64_t>> DirectKernel::Parameters() const {
  std::vector<std::pair<uint64_t, uint64_t>> parameters;
  size_t offset = 0;
  size_t size = 0;
  while (api_.cuKernelGetParamInfo(kernel_, parameters.size(), &offset,
                                   &size) == CUDA_SUCCESS) {
    parameters.emplace_back(offset, size);
  }
  return parameters;
}

void DirectKernel::SetAttribute(CUfunction_attribute attribute,
                                int value) const {
  Check(api_.cuKernelSetAttribute(attribute, value, kernel_, 0));
}

DirectKernel::Number DirectKernel::ActiveBlocks(
    int threads, size_t dynamic_shared_bytes) const {
  int blocks = 0;
  const CUresult result = api_.cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function_, threads, dynamic_shared_bytes);
  return Answer(result, blocks);
}

std::pair<uint64_t, uint64_t> DirectKernel::PotentialBlockSize(
    size_t dynamic_shared_bytes, int max_threads) const {
  int blocks = 0;
  int threads = 0;
  Check(api_.cuOccupancyMaxPotentialBlockSize(&blocks, &threads, function_,
                                              nullptr, dynamic_shared_bytes,
                                              max_threads));
  return {threads, blocks};
}

DirectKernel::Number DirectKernel::AvailableDynamicShared(int blocks,
                                                          int threads) const {
  size_t bytes = 0;
  const CUresult result = api_.cuOccupancyAvailableDynamicSMemPerBlock(
      &bytes, function_, blocks, threads);
  return Answer(result, bytes);
}

DirectKernel::Number DirectKernel::PotentialClusterSize(
    unsigned threads) const {
  int size = 0;
  const CUlaunchConfig config = Config(threads);
  const CUresult result =
      api_.cuOccupancyMaxPotentialClusterSize(&size, function_, &config);
  return Answer(result, size);
}

DirectKernel::Number DirectKernel::ActiveClusters(unsigned threads,
                                                  unsigned cluster) const {
  CUlaunchConfig config = Config(threads);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {cluster, 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  const CUresult result =
      api_.cuOccupancyMaxActiveClusters(&clusters, function_, &config);
  return Answer(result, clusters);
}

}  // namespace holdfast::conformance
