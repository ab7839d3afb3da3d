// SPDX-License-Identifier: Apache-2.0
//
// Data for kernels: arrays on the device, and values that are the same on
// every machine.
#ifndef HOLDFAST_TESTS_KERNELS_ARRAY_H_
#define HOLDFAST_TESTS_KERNELS_ARRAY_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda.h"
#include "tests/kernels/machine.h"

namespace holdfast::kernels {

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

// Device memory for `size` elements, freed with the object.
template <typename T>
class Array {
 public:
  explicit Array(size_t size) : size_(size) {
    Require(Cuda().cuMemAlloc(&address_, std::max<size_t>(1, bytes())),
            "cuMemAlloc");
  }
  Array(Array&& other) noexcept
      : address_(std::exchange(other.address_, 0)), size_(other.size_) {}
  Array& operator=(Array&&) = delete;
  ~Array() {
    if (address_ != 0) Cuda().cuMemFree(address_);
  }

  CUdeviceptr address() const { return address_; }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }

  // Replaces the contents.
  void Fill(const std::vector<T>& values) const {
    Require(Cuda().cuMemcpyHtoDAsync(address_, values.data(), bytes(), nullptr),
            "cuMemcpyHtoDAsync");
    Require(Cuda().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  }

  // Waits for all work, and returns the elements. Ends the process on a fault,
  // because no later test could pass.
  std::vector<T> Download() const {
    std::vector<T> values(size_);
    Require(Cuda().cuCtxSynchronize(), "cuCtxSynchronize");
    Require(Cuda().cuMemcpyDtoHAsync(values.data(), address_, bytes(), nullptr),
            "cuMemcpyDtoHAsync");
    Require(Cuda().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    return values;
  }

 private:
  CUdeviceptr address_ = 0;
  const size_t size_;
};

template <typename T>
Array<T> Upload(const std::vector<T>& values) {
  Array<T> array(values.size());
  array.Fill(values);
  return array;
}

template <typename T>
Array<T> Zeros(size_t size) {
  return Upload(std::vector<T>(size));
}

// Returns random values, which are equal on every machine: floats in [-1, 1),
// integers of their whole range.
template <typename T>
std::vector<T> Random(size_t size, unsigned seed = 1) {
  std::mt19937_64 engine(seed);
  std::vector<T> values(size);
  for (T& value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      value =
          static_cast<T>(static_cast<double>(engine() >> 40) / (1 << 23) - 1);
    } else {
      value = static_cast<T>(engine() >> 16);
    }
  }
  return values;
}

// Returns random values in [0, limit).
inline std::vector<int> RandomBelow(size_t size, int limit, unsigned seed = 1) {
  std::vector<int> values(size);
  const auto bits = Random<uint32_t>(size, seed);
  for (size_t i = 0; i < size; ++i)
    values[i] = static_cast<int>(bits[i] % limit);
  return values;
}

constexpr unsigned BlocksFor(size_t threads, size_t block) {
  return static_cast<unsigned>((threads + block - 1) / block);
}

// Returns the pointer to a kernel argument for cuLaunchKernel: to the address
// of an Array, or to any other value itself.
template <typename T>
void* Argument(const T& value) {
  return const_cast<T*>(&value);
}
template <typename T>
void* Argument(const Array<T>& array) {
  // The address is the object's first member.
  static_assert(std::is_standard_layout_v<Array<T>>);
  return const_cast<Array<T>*>(&array);
}

}  // namespace holdfast::kernels

#endif  // HOLDFAST_TESTS_KERNELS_ARRAY_H_
