// SPDX-License-Identifier: Apache-2.0
//
// A test of one source of cu/:
//
//   TEST_F(Streaming, Saxpy) {
//     Load("saxpy");
//     const std::vector<float> x = Random<float>(kCount), ...
//     Array<float> y = Upload(...);
//     Launch("saxpy", {blocks}, {256}, Upload(x), y, 2.5f, kCount);
//     ExpectBits(y, expected);
//   }
//
// Outputs are compared with a reference on the host and, where the bits are
// defined, with what a GPU computed (goldens.h).
#ifndef HOLDFAST_TESTS_KERNELS_KERNEL_TEST_H_
#define HOLDFAST_TESTS_KERNELS_KERNEL_TEST_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda.h"
#include "gtest/gtest.h"
#include "tests/kernels/array.h"
#include "tests/kernels/goldens.h"
#include "tests/kernels/machine.h"

namespace holdfast::kernels {

class KernelTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (library_ != nullptr) Cuda().cuLibraryUnload(library_);
  }

  void Load(const std::string& name) {
    const std::string ptx = CompileToPtx(name);
    std::vector<char> log(8192);
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    Cuda();
    const CUresult result = Cuda().cuLibraryLoadData(
        &library_, ptx.c_str(), options, values, 2, nullptr, nullptr, 0);
    ASSERT_EQ(result, CUDA_SUCCESS) << name << ": " << log.data();
  }

  // Set attributes of the next launch only.
  void SetDynamicShared(unsigned bytes) { shared_ = bytes; }
  void SetCooperative() { cooperative_ = true; }

  // Launches the kernel and waits. Passes the address of an Array, and any
  // other argument by value.
  template <typename... Args>
  void Launch(const char* entry, Dim grid, Dim block, const Args&... args) {
    if (library_ == nullptr) return;  // Load has failed the test
    void* values[] = {Argument(args)..., nullptr};
    CUkernel kernel;
    ASSERT_EQ(Cuda().cuLibraryGetKernel(&kernel, library_, entry), CUDA_SUCCESS)
        << entry;
    CUlaunchConfig config{grid.x,  grid.y,  grid.z,  block.x, block.y,
                          block.z, shared_, nullptr, nullptr, 0};
    CUlaunchAttribute cooperative{};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    if (std::exchange(cooperative_, false)) {
      config.attrs = &cooperative;
      config.numAttrs = 1;
    }
    shared_ = 0;
    ASSERT_EQ(
        Cuda().cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel),
                                values, nullptr),
        CUDA_SUCCESS)
        << entry;
    Require(Cuda().cuCtxSynchronize(), entry);
  }

  // Writes the module's variable.
  template <typename T>
  void SetGlobal(const char* name, const std::vector<T>& values) {
    if (library_ == nullptr) return;
    CUdeviceptr address;
    size_t size;
    ASSERT_EQ(Cuda().cuLibraryGetGlobal(&address, &size, library_, name),
              CUDA_SUCCESS);
    ASSERT_GE(size, values.size() * sizeof(T));
    Require(Cuda().cuMemcpyHtoDAsync(address, values.data(),
                                     values.size() * sizeof(T), nullptr),
            "cuMemcpyHtoDAsync");
    Require(Cuda().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  }

  // Expects equal bits, where all NaNs are equal. Also compares the bits with
  // the recorded result of a GPU, if there is one.
  template <typename T>
  void ExpectBits(const Array<T>& actual, const std::vector<T>& expected) {
    if (library_ == nullptr) return;
    std::vector<T> got = actual.Download();
    std::vector<T> wanted = expected;
    Canonicalise(got);
    Canonicalise(wanted);
    ASSERT_EQ(got.size(), wanted.size());
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      if (memcmp(&got[i], &wanted[i], sizeof(T)) == 0) continue;
      if (++wrong <= 3)
        ADD_FAILURE() << "[" << i << "]: " << Show(got[i]) << ", not "
                      << Show(wanted[i]);
    }
    EXPECT_EQ(wrong, 0u) << "of " << got.size();
    CheckGolden(got.data(), got.size() * sizeof(T));
  }

  // Expects |error| <= tolerance * max(1, |expected|): for approximations, and
  // for sums in an unspecified order.
  template <typename T>
  void ExpectNear(const Array<T>& actual, const std::vector<T>& expected,
                  double tolerance) {
    if (library_ == nullptr) return;
    const std::vector<T> got = actual.Download();
    ASSERT_EQ(got.size(), expected.size());
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double wanted = expected[i];
      const double limit = tolerance * std::max(1.0, std::abs(wanted));
      if (std::abs(got[i] - wanted) <= limit) continue;
      if (++wrong <= 3)
        ADD_FAILURE() << "[" << i << "]: " << got[i] << ", not " << expected[i];
    }
    EXPECT_EQ(wrong, 0u) << "of " << got.size();
  }

 private:
  template <typename T>
  static void Canonicalise(std::vector<T>& values) {
    if constexpr (std::is_floating_point_v<T>) {
      for (T& value : values) {
        if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
      }
    }
  }
  template <typename T>
  static std::string Show(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return testing::PrintToString(+value);
    } else {
      return testing::PrintToString(value);
    }
  }

  CUlibrary library_ = nullptr;
  unsigned shared_ = 0;
  bool cooperative_ = false;
};

}  // namespace holdfast::kernels

#endif  // HOLDFAST_TESTS_KERNELS_KERNEL_TEST_H_
