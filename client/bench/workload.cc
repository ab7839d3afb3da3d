// SPDX-License-Identifier: Apache-2.0
#include "client/bench/workload.h"

#include "absl/strings/str_cat.h"
#include "client/bench/kernels.h"

namespace holdfast::bench {

std::vector<uint64_t> CopySizes(bool quick) {
  std::vector<uint64_t> sizes = {4 << 10, 64 << 10, 1 << 20, 16 << 20};
  if (quick) return sizes;
  for (const uint64_t mebibytes : {64, 256, 1024}) {
    sizes.push_back(mebibytes << 20);
  }
  return sizes;
}

std::string NewSource(int number) {
  return absl::StrCat(kSaxpySource, "__device__ int number_", number, ";\n");
}

std::vector<uint64_t> NetworkSizes(bool quick) {
  if (quick) return {1 << 20, 64 << 20};
  return {1 << 20, 16 << 20, 64 << 20, 512 << 20};
}

void MakeSaxpyData(float* x, float* y) {
  for (size_t i = 0; i < kSaxpyN; ++i) {
    x[i] = static_cast<float>(i % 1021);
    y[i] = static_cast<float>(i % 509);
  }
}

absl::Status CheckSaxpy(const float* x, const float* y, const float* out) {
  size_t wrong = 0;
  for (size_t i = 0; i < kSaxpyN; ++i) wrong += out[i] != kSaxpyA * x[i] + y[i];
  if (wrong == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(wrong, " of ", kSaxpyN, " elements are wrong"));
}

}  // namespace holdfast::bench
