// SPDX-License-Identifier: Apache-2.0
//
// What a driver without core dumps does otherwise than a GPU's. The rest is in
// tests/conformance/driver.
#include "core/cuda/coredump_settings.h"

#include <string>

#include "gtest/gtest.h"

namespace holdfast::cuda {
namespace {

TEST(CoredumpSettingsTest, DumpsCannotBeSwitchedOn) {
  CoredumpSettings settings;
  bool value = true;
  size_t size = sizeof value;
  for (const CUcoredumpSettings attribute :
       {CU_COREDUMP_ENABLE_ON_EXCEPTION, CU_COREDUMP_ENABLE_USER_TRIGGER}) {
    EXPECT_EQ(settings.Set(attribute, &value, &size), CUDA_ERROR_NOT_SUPPORTED);
  }
}

TEST(CoredumpSettingsTest, ATextHasALimit) {
  CoredumpSettings settings;
  const std::string most(CoredumpSettings::kMaxText, 'x');
  size_t size = most.size();
  EXPECT_EQ(settings.Set(CU_COREDUMP_FILE, most.c_str(), &size), CUDA_SUCCESS);
  size = most.size() + 1;
  EXPECT_EQ(settings.Set(CU_COREDUMP_FILE, (most + "x").c_str(), &size),
            CUDA_ERROR_INVALID_VALUE);
  std::string found(CoredumpSettings::kMaxText + 1, '\0');
  size = found.size();
  EXPECT_EQ(settings.Get(CU_COREDUMP_FILE, found.data(), &size), CUDA_SUCCESS);
  EXPECT_STREQ(found.c_str(), most.c_str());
  for (size = 0; size <= most.size(); size += 341) {
    EXPECT_EQ(settings.Get(CU_COREDUMP_FILE, found.data(), &size),
              CUDA_ERROR_INVALID_VALUE)
        << size;
  }
}

}  // namespace
}  // namespace holdfast::cuda
