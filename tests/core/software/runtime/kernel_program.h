// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CORE_SOFTWARE_RUNTIME_KERNEL_PROGRAM_H_
#define HOLDFAST_TESTS_CORE_SOFTWARE_RUNTIME_KERNEL_PROGRAM_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/software/runtime/executable.h"
#include "gtest/gtest.h"

namespace holdfast::software {

// CUDA C++ compiled by NVRTC to PTX and loaded by the software driver's engine.
// A failure ends the test with the compiler's log.
class KernelProgram {
 public:
  // `options` are further options of NVRTC.
  explicit KernelProgram(const std::string& source,
                         const std::vector<std::string>& options = {});

  // Runs the only kernel of the source. Each argument is copied into the
  // parameter block at its own alignment, so its type must be the parameter's.
  template <typename... Args>
  LaunchOutcome Run(const LaunchGeometry& geometry, const Args&... args) {
    std::vector<unsigned char> block;
    (Append(block, args), ...);
    return executable_->Launch(0, geometry, block.data(), nullptr);
  }

  const Executable& executable() const { return *executable_; }
  const std::string& ptx() const { return ptx_; }

 private:
  template <typename T>
  static void Append(std::vector<unsigned char>& block, const T& value) {
    block.resize((block.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    block.resize(block.size() + sizeof(T));
    std::memcpy(block.data() + block.size() - sizeof(T), &value, sizeof(T));
  }

  std::string ptx_;
  std::unique_ptr<Executable> executable_;
};

// Returns a one-dimensional grid of blocks of x * y threads.
inline LaunchGeometry Geometry(uint32_t grid, uint32_t x, uint32_t y = 1) {
  LaunchGeometry geometry;
  geometry.grid[0] = grid;
  geometry.block[0] = x;
  geometry.block[1] = y;
  return geometry;
}

inline void ExpectSuccess(const LaunchOutcome& outcome) {
  ASSERT_EQ(outcome.result, CUDA_SUCCESS) << outcome.message;
}

// Returns a hash of `i`, as deterministic test data.
inline uint32_t Bits(uint32_t i) {
  i = (i ^ (i >> 16)) * 0x45d9f3bu;
  i = (i ^ (i >> 16)) * 0x45d9f3bu;
  return i ^ (i >> 16);
}

}  // namespace holdfast::software

#endif  // HOLDFAST_TESTS_CORE_SOFTWARE_RUNTIME_KERNEL_PROGRAM_H_
