// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CONFORMANCE_SERVICE_DIRECT_KERNEL_H_
#define HOLDFAST_TESTS_CONFORMANCE_SERVICE_DIRECT_KERNEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/driver_api.h"

namespace holdfast::conformance {

// A kernel that the driver of this process has loaded. If the driver returns an
// error, methods that return a Number return nullopt, and other methods fail
// the test.
class DirectKernel {
 public:
  using Number = std::optional<uint64_t>;

  // `api` must outlive the kernel.
  DirectKernel(const cuda::DriverApi& api, const std::string& image,
               const std::string& name);
  ~DirectKernel();
  DirectKernel(const DirectKernel&) = delete;
  DirectKernel& operator=(const DirectKernel&) = delete;

  // Returns every attribute, by cuda.h's name in lower case.
  std::map<std::string, int64_t> Attributes() const;
  // Returns the offset and size of each parameter, in bytes.
  std::vector<std::pair<uint64_t, uint64_t>> Parameters() const;
  void SetAttribute(CUfunction_attribute attribute, int value) const;

  Number ActiveBlocks(int threads, size_t dynamic_shared_bytes) const;
  // Returns the numbers of threads and of blocks.
  std::pair<uint64_t, uint64_t> PotentialBlockSize(size_t dynamic_shared_bytes,
                                                   int max_threads) const;
  Number AvailableDynamicShared(int blocks, int threads) const;
  Number PotentialClusterSize(unsigned threads) const;
  Number ActiveClusters(unsigned threads, unsigned cluster) const;

 private:
  const cuda::DriverApi& api_;
  CUlibrary library_ = nullptr;
  CUkernel kernel_ = nullptr;
  CUfunction function_ = nullptr;
};

}  // namespace holdfast::conformance

#endif  // HOLDFAST_TESTS_CONFORMANCE_SERVICE_DIRECT_KERNEL_H_
