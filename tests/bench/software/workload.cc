// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/software/workload.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

#include "tests/bench/software/native.h"
#include "tests/bench/software/open_cl.h"
#include "tests/kernels/array.h"
#include "tests/kernels/library.h"
#include "tests/kernels/machine.h"

namespace holdfast::bench {
namespace {

using kernels::Array;
using kernels::BlocksFor;
using kernels::Dim;
using kernels::Library;
using kernels::Random;
using kernels::Upload;

template <typename T>
bool Same(const Array<T>& device, const std::vector<T>& native) {
  const std::vector<T> got = device.Download();
  return memcmp(got.data(), native.data(), native.size() * sizeof(T)) == 0;
}

template <typename T>
bool Near(const Array<T>& device, const std::vector<T>& native,
          double tolerance) {
  const std::vector<T> got = device.Download();
  for (size_t i = 0; i < native.size(); ++i) {
    const double wanted = native[i];
    if (!(std::abs(got[i] - wanted) <=
          tolerance * std::max(1.0, std::abs(wanted)))) {
      return false;
    }
  }
  return true;
}

// Compares OpenCL's results; its functions round in their own ways.
template <typename T>
bool Close(const std::vector<T>& got, const std::vector<T>& native) {
  for (size_t i = 0; i < native.size(); ++i) {
    const double wanted = native[i];
    if (!(std::abs(got[i] - wanted) <=
          1e-3 * std::max(1.0, std::abs(wanted)))) {
      return false;
    }
  }
  return true;
}

size_t Up(int count, int multiple) {
  return static_cast<size_t>((count + multiple - 1) / multiple) * multiple;
}

class VectorAdd : public Workload {
 public:
  explicit VectorAdd(bool tiny) : count_(tiny ? 1 << 10 : 1 << 24) {}
  void RunDevice() override {
    library_.Launch("vector_add", {BlocksFor(count_, 256)}, {256}, 0, x_, y_,
                    sum_, count_);
  }
  void RunNative() override {
    InParallel(0, count_, 64, [&](int begin, int end) {
      native::VectorAdd(a_.data(), b_.data(), native_.data(), begin, end);
    });
  }
  bool Equal() override { return Same(sum_, native_); }

  bool RunOpenCl() override {
    return open_cl_kernel_.Run({Up(count_, 256), 0}, {256, 0}, a_, b_, open_cl_,
                               count_);
  }
  bool OpenClEqual() override { return Close(open_cl_, native_); }

 private:
  const int count_;
  Library library_{"vector_add"};
  const std::vector<float> a_ = Random<float>(count_, 1),
                           b_ = Random<float>(count_, 2);
  std::vector<float> native_ = std::vector<float>(count_);
  const Array<float> x_ = Upload(a_), y_ = Upload(b_),
                     sum_ = Array<float>(count_);
  OpenClKernel open_cl_kernel_{"vector_add"};
  std::vector<float> open_cl_ = std::vector<float>(count_);
};

class Saxpy : public Workload {
 public:
  explicit Saxpy(bool tiny) : count_(tiny ? 1 << 10 : 1 << 24) {}
  // y is read and written: both sides run equally often.
  void RunDevice() override {
    library_.Launch("saxpy", {BlocksFor(count_, 256)}, {256}, 0, x_, y_, 0.5f,
                    count_);
  }
  void RunNative() override {
    InParallel(0, count_, 64, [&](int begin, int end) {
      native::Saxpy(a_.data(), native_.data(), 0.5f, begin, end);
    });
  }
  bool Equal() override { return Same(y_, native_); }

  bool RunOpenCl() override {
    return open_cl_kernel_.Run({Up(count_, 256), 0}, {256, 0}, a_, open_cl_,
                               0.5f, count_);
  }
  bool OpenClEqual() override { return Close(open_cl_, native_); }

 private:
  const int count_;
  Library library_{"saxpy"};
  const std::vector<float> a_ = Random<float>(count_, 1);
  std::vector<float> native_ = Random<float>(count_, 2);
  const Array<float> x_ = Upload(a_), y_ = Upload(native_);
  OpenClKernel open_cl_kernel_{"saxpy"};
  std::vector<float> open_cl_ = native_;
};

class Matmul : public Workload {
 public:
  explicit Matmul(bool tiny) : size_(tiny ? 16 : 512) {}
  void RunDevice() override {
    const unsigned tiles = static_cast<unsigned>(size_) / 16;
    library_.Launch("matmul_tiled", {tiles, tiles}, {16, 16}, 0, x_, y_, c_,
                    size_);
  }
  void RunNative() override {
    InParallel(0, size_, 1, [&](int begin, int end) {
      native::Matmul(a_.data(), b_.data(), native_.data(), size_, begin, end);
    });
  }
  bool Equal() override { return Same(c_, native_); }

  bool RunOpenCl() override {
    return open_cl_kernel_.Run({Up(size_, 16), Up(size_, 16)}, {16, 16}, a_, b_,
                               open_cl_, size_);
  }
  bool OpenClEqual() override { return Close(open_cl_, native_); }

 private:
  const int size_;
  Library library_{"matmul"};
  const std::vector<float> a_ = Random<float>(size_ * size_, 1),
                           b_ = Random<float>(size_ * size_, 2);
  std::vector<float> native_ = std::vector<float>(a_.size());
  const Array<float> x_ = Upload(a_), y_ = Upload(b_),
                     c_ = Array<float>(a_.size());
  OpenClKernel open_cl_kernel_{"matmul_tiled"};
  std::vector<float> open_cl_ = std::vector<float>(a_.size());
};

class Reduction : public Workload {
 public:
  explicit Reduction(bool tiny) : count_(tiny ? 1 << 10 : 1 << 24) {}
  void RunDevice() override {
    library_.Launch("reduce_shuffle", {kBlocks}, {256}, 0, x_, sums_, count_);
    library_.Launch("reduce_shuffle", {1}, {256}, 0, sums_, total_,
                    static_cast<int>(kBlocks));
  }
  void RunNative() override {
    std::vector<float> parts(count_ / kGrain + 1);
    InParallel(0, count_, kGrain, [&](int begin, int end) {
      parts[begin / kGrain] = native::Sum(a_.data(), begin, end);
    });
    native_[0] = std::accumulate(parts.begin(), parts.end(), 0.0f);
  }
  // In another order: the sums differ in their last bits.
  bool Equal() override { return Near(total_, native_, 2.0); }

 private:
  static constexpr unsigned kBlocks = 1024;
  static constexpr int kGrain = 1 << 10;
  const int count_;
  Library library_{"reduce"};
  const std::vector<float> a_ = Random<float>(count_, 1);
  std::vector<float> native_ = std::vector<float>(1);
  const Array<float> x_ = Upload(a_), sums_ = Array<float>(kBlocks),
                     total_ = Array<float>(1);
};

class Mandelbrot : public Workload {
 public:
  explicit Mandelbrot(bool tiny) : size_(tiny ? 16 : 1024) {}
  void RunDevice() override {
    const unsigned blocks = BlocksFor(size_, 16);
    library_.Launch("mandelbrot", {blocks, blocks}, {16, 16}, 0, rounds_, size_,
                    kLimit);
  }
  void RunNative() override {
    // In small parts, dealt out as they are done: rows differ in work.
    std::atomic<int> next{0};
    InParallel(0, Threads(), 1, [&](int, int) {
      for (int row = next++; row < size_; row = next++) {
        native::Mandelbrot(native_.data(), size_, kLimit, row, row + 1);
      }
    });
  }
  bool Equal() override { return Same(rounds_, native_); }

  bool RunOpenCl() override {
    return open_cl_kernel_.Run({Up(size_, 16), Up(size_, 16)}, {16, 16},
                               open_cl_, size_, kLimit);
  }
  bool OpenClEqual() override { return Close(open_cl_, native_); }

 private:
  static constexpr int kLimit = 256;
  const int size_;
  Library library_{"divergence"};
  std::vector<int> native_ = std::vector<int>(size_ * size_);
  const Array<int> rounds_ = Array<int>(native_.size());
  OpenClKernel open_cl_kernel_{"mandelbrot"};
  std::vector<int> open_cl_ = native_;
};

class Histogram : public Workload {
 public:
  explicit Histogram(bool tiny) : count_(tiny ? 1 << 10 : 1 << 24) {}
  void RunDevice() override {
    kernels::Require(
        kernels::Cuda().cuMemsetD32Async(bins_.address(), 0, 256, nullptr),
        "cuMemsetD32Async");
    library_.Launch("histogram_shared", {256}, {256}, 0, data_, bins_, count_);
  }
  void RunNative() override {
    std::vector<std::vector<uint32_t>> parts(Threads());
    std::atomic<int> next{0};
    InParallel(0, count_, 64, [&](int begin, int end) {
      std::vector<uint32_t>& mine = parts[next++];
      mine.assign(256, 0);
      native::Histogram(bytes_.data(), mine.data(), begin, end);
    });
    std::fill(native_.begin(), native_.end(), 0);
    for (const auto& part : parts) {
      for (size_t i = 0; i < part.size(); ++i) native_[i] += part[i];
    }
  }
  bool Equal() override { return Same(bins_, native_); }

  bool RunOpenCl() override {
    std::fill(open_cl_.begin(), open_cl_.end(), 0);
    return open_cl_kernel_.Run({256 * 256, 0}, {256, 0}, bytes_, open_cl_,
                               count_);
  }
  bool OpenClEqual() override { return Close(open_cl_, native_); }

 private:
  const int count_;
  Library library_{"histogram"};
  const std::vector<uint8_t> bytes_ = Random<uint8_t>(count_, 1);
  std::vector<uint32_t> native_ = std::vector<uint32_t>(256);
  const Array<uint8_t> data_ = Upload(bytes_);
  const Array<uint32_t> bins_ = Array<uint32_t>(256);
  OpenClKernel open_cl_kernel_{"histogram_shared"};
  std::vector<uint32_t> open_cl_ = native_;
};

class Stencil : public Workload {
 public:
  explicit Stencil(bool tiny) : size_(tiny ? 32 : 4096) {}
  void RunDevice() override {
    library_.Launch("stencil_2d", {BlocksFor(size_, 32), BlocksFor(size_, 8)},
                    {32, 8}, 0, x_, out_, size_, size_);
  }
  void RunNative() override {
    InParallel(1, size_ - 1, 1, [&](int begin, int end) {
      native::Stencil(in_.data(), native_.data(), size_, begin, end);
    });
  }
  bool Equal() override { return Same(out_, native_); }

  bool RunOpenCl() override {
    return open_cl_kernel_.Run({Up(size_, 32), Up(size_, 8)}, {32, 8}, in_,
                               open_cl_, size_, size_);
  }
  bool OpenClEqual() override { return Close(open_cl_, native_); }

 private:
  const int size_;
  Library library_{"stencil"};
  const std::vector<float> in_ = Random<float>(size_ * size_, 1);
  std::vector<float> native_ = std::vector<float>(in_.size());
  const Array<float> x_ = Upload(in_), out_ = Upload(native_);
  OpenClKernel open_cl_kernel_{"stencil_2d"};
  std::vector<float> open_cl_ = native_;
};

class BitonicSort : public Workload {
 public:
  explicit BitonicSort(bool tiny) : count_(tiny ? 1 << 9 : 1 << 18) {}
  void RunDevice() override {
    device_.Fill(keys_);
    ForEachStep([&](int stride, int size) {
      library_.Enqueue("bitonic_step", {BlocksFor(count_, 256)}, {256}, 0,
                       device_, stride, size);
    });
    library_.Synchronize();
  }
  void RunNative() override {
    native_ = keys_;
    ForEachStep([&](int stride, int size) {
      InParallel(0, count_, 2 * stride, [&](int begin, int end) {
        native::BitonicStep(native_.data(), stride, size, begin, end);
      });
    });
  }
  bool Equal() override { return Same(device_, native_); }

  bool RunOpenCl() override {
    std::copy(keys_.begin(), keys_.end(), open_cl_.begin());
    bool ran = false;
    ForEachStep([&](int stride, int size) {
      ran = open_cl_kernel_.Enqueue({Up(count_, 256), 0}, {256, 0}, open_cl_,
                                    stride, size);
    });
    if (ran) OpenClKernel::Finish();
    return ran;
  }
  bool OpenClEqual() override { return open_cl_ == native_; }

 private:
  template <typename Step>
  void ForEachStep(Step step) {
    for (int size = 2; size <= count_; size *= 2) {
      for (int stride = size / 2; stride > 0; stride /= 2) step(stride, size);
    }
  }

  const int count_;
  Library library_{"sort"};
  const std::vector<uint32_t> keys_ = Random<uint32_t>(count_, 1);
  std::vector<uint32_t> native_ = keys_;
  const Array<uint32_t> device_ = Array<uint32_t>(count_);
  OpenClKernel open_cl_kernel_{"bitonic_step"};
  std::vector<uint32_t> open_cl_ = keys_;
};

class Nbody : public Workload {
 public:
  explicit Nbody(bool tiny) : count_(tiny ? 64 : 8192) {}
  void RunDevice() override {
    library_.Launch("nbody", {BlocksFor(count_, 64)}, {64}, 0, device_, forces_,
                    count_);
  }
  void RunNative() override {
    InParallel(0, count_, 16, [&](int begin, int end) {
      native::Nbody(bodies_.data(), native_.data(), count_, begin, end);
    });
  }
  bool Equal() override { return Same(forces_, native_); }

  bool RunOpenCl() override {
    return open_cl_kernel_.Run({Up(count_, 64), 0}, {64, 0}, bodies_, open_cl_,
                               count_);
  }
  bool OpenClEqual() override { return Close(open_cl_, native_); }

 private:
  const int count_;
  Library library_{"nbody"};
  const std::vector<float> bodies_ = Random<float>(4 * count_, 1);
  std::vector<float> native_ = std::vector<float>(bodies_.size());
  const Array<float> device_ = Upload(bodies_),
                     forces_ = Array<float>(bodies_.size());
  OpenClKernel open_cl_kernel_{"nbody"};
  std::vector<float> open_cl_ = std::vector<float>(bodies_.size());
};

class Transpose : public Workload {
 public:
  explicit Transpose(bool tiny) : size_(tiny ? 32 : 4096) {}
  void RunDevice() override {
    const unsigned blocks = BlocksFor(size_, 32);
    library_.Launch("transpose_tiled", {blocks, blocks}, {32, 8}, 0, x_, out_,
                    size_, size_);
  }
  void RunNative() override {
    InParallel(0, size_, 32, [&](int begin, int end) {
      native::Transpose(in_.data(), native_.data(), size_, size_, begin, end);
    });
  }
  bool Equal() override { return Same(out_, native_); }

  bool RunOpenCl() override {
    return open_cl_kernel_.Run({Up(size_, 32), Up(size_, 32) / 4}, {32, 8}, in_,
                               open_cl_, size_, size_);
  }
  bool OpenClEqual() override { return Close(open_cl_, native_); }

 private:
  const int size_;
  Library library_{"transpose"};
  const std::vector<float> in_ = Random<float>(size_ * size_, 1);
  std::vector<float> native_ = std::vector<float>(in_.size());
  const Array<float> x_ = Upload(in_), out_ = Array<float>(in_.size());
  OpenClKernel open_cl_kernel_{"transpose_tiled"};
  std::vector<float> open_cl_ = std::vector<float>(in_.size());
};

class Scan : public Workload {
 public:
  explicit Scan(bool tiny) : count_(tiny ? 1 << 10 : 1 << 24) {}
  void RunDevice() override {
    const auto clear = [](CUdeviceptr address, size_t words) {
      kernels::Require(
          kernels::Cuda().cuMemsetD32Async(address, 0, words, nullptr),
          "cuMemsetD32Async");
    };
    clear(ticket_.address(), 1);
    clear(states_.address(), 2 * states_.size());
    library_.Launch("scan_lookback_wide", {BlocksFor(count_, 1024)}, {256}, 0,
                    x_, out_, count_ / 4, ticket_, states_);
  }
  // Twice over the data: sums of the parts, then the scan of each.
  void RunNative() override {
    std::vector<int> starts(count_ / kGrain + 1);
    InParallel(0, count_, kGrain, [&](int begin, int end) {
      starts[begin / kGrain] = native::SumOf(in_.data(), begin, end);
    });
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), 0);
    InParallel(0, count_, kGrain, [&](int begin, int end) {
      native::Scan(in_.data(), native_.data(), starts[begin / kGrain], begin,
                   end);
    });
  }
  bool Equal() override { return Same(out_, native_); }

 private:
  static constexpr int kGrain = 1 << 10;
  const int count_;
  Library library_{"scan"};
  const std::vector<int> in_ = kernels::RandomBelow(count_, 100);
  std::vector<int> native_ = std::vector<int>(count_);
  const Array<int> x_ = Upload(in_), out_ = Array<int>(count_);
  const Array<uint32_t> ticket_ = Array<uint32_t>(1);
  const Array<uint64_t> states_ = Array<uint64_t>(BlocksFor(count_, 1024));
};

class Spmv : public Workload {
 public:
  explicit Spmv(bool tiny) : rows_(tiny ? 64 : 1 << 17) {}
  void RunDevice() override {
    library_.Launch("spmv_csr", {BlocksFor(rows_, 128)}, {128}, 0, starts_,
                    columns_, values_, x_, y_, rows_);
  }
  void RunNative() override { RunNativeAs(native::Spmv); }
  bool Equal() override { return Same(y_, native_); }

  bool RunOpenCl() override {
    return open_cl_kernel_.Run({Up(rows_, 128), 0}, {128, 0}, start_, column_,
                               value_, in_, open_cl_, rows_);
  }
  bool OpenClEqual() override { return Close(open_cl_, native_); }

 protected:
  void RunNativeAs(decltype(native::Spmv)* spmv) {
    InParallel(0, rows_, 64, [&](int begin, int end) {
      spmv(start_.data(), column_.data(), value_.data(), in_.data(),
           native_.data(), begin, end);
    });
  }

 private:
  static std::vector<int> Starts(int rows) {
    std::vector<int> starts(rows + 1);
    const auto lengths = kernels::RandomBelow(rows, 64, 5);
    std::partial_sum(lengths.begin(), lengths.end(), starts.begin() + 1);
    return starts;
  }
  const int rows_;
  Library library_{"spmv"};
  const std::vector<int> start_ = Starts(rows_),
                         column_ = kernels::RandomBelow(start_.back(), rows_);
  const std::vector<float> value_ = Random<float>(start_.back(), 2),
                           in_ = Random<float>(rows_, 3);
  std::vector<float> native_ = std::vector<float>(rows_);
  const Array<int> starts_ = Upload(start_), columns_ = Upload(column_);
  const Array<float> values_ = Upload(value_), x_ = Upload(in_),
                     y_ = Array<float>(rows_);
  OpenClKernel open_cl_kernel_{"spmv_csr"};
  std::vector<float> open_cl_ = std::vector<float>(rows_);
};

// The counterpart of its PTX: NVRTC unrolls the loop, so that each
// row ends two, and a CPU foresees neither end. OpenCL's has one.
class SpmvUnrolled : public Spmv {
 public:
  using Spmv::Spmv;
  void RunNative() override { RunNativeAs(native::SpmvUnrolled); }
};

class BlackScholes : public Workload {
 public:
  explicit BlackScholes(bool tiny) : count_(tiny ? 1 << 10 : 1 << 21) {
    for (float& value : price_) value = 17.5f + 12.5f * value;
    for (float& value : strike_) value = 50.5f + 49.5f * value;
    for (float& value : years_) value = 5.125f + 4.875f * value;
    device_price_.Fill(price_);
    device_strike_.Fill(strike_);
    device_years_.Fill(years_);
  }
  void RunDevice() override {
    library_.Launch("black_scholes", {BlocksFor(count_, 128)}, {128}, 0,
                    device_price_, device_strike_, device_years_, device_call_,
                    device_put_, 0.02f, 0.3f, count_);
  }
  void RunNative() override {
    InParallel(0, count_, 64, [&](int begin, int end) {
      native::BlackScholes(price_.data(), strike_.data(), years_.data(),
                           call_.data(), put_.data(), 0.02f, 0.3f, begin, end);
    });
  }
  bool Equal() override {
    return Near(device_call_, call_, 1e-4) && Near(device_put_, put_, 1e-4);
  }

  bool RunOpenCl() override {
    return open_cl_kernel_.Run({Up(count_, 128), 0}, {128, 0}, price_, strike_,
                               years_, open_cl_call_, open_cl_put_, 0.02f, 0.3f,
                               count_);
  }
  bool OpenClEqual() override {
    return Close(open_cl_call_, call_) && Close(open_cl_put_, put_);
  }

 private:
  const int count_;
  Library library_{"finance"};
  std::vector<float> price_ = Random<float>(count_, 1),
                     strike_ = Random<float>(count_, 2),
                     years_ = Random<float>(count_, 3);
  std::vector<float> call_ = std::vector<float>(count_), put_ = call_;
  const Array<float> device_price_ = Array<float>(count_),
                     device_strike_ = Array<float>(count_),
                     device_years_ = Array<float>(count_),
                     device_call_ = Array<float>(count_),
                     device_put_ = Array<float>(count_);
  OpenClKernel open_cl_kernel_{"black_scholes"};
  std::vector<float> open_cl_call_ = call_, open_cl_put_ = call_;
};

template <typename T>
WorkloadEntry Entry(const char* name, double bar) {
  return {name, bar, [](bool tiny) { return std::make_unique<T>(tiny); }};
}

}  // namespace

int Threads() {
  static const int threads = [] {
    const char* setting = getenv("HOLDFAST_SOFTWARE_THREADS");
    if (setting != nullptr && atoi(setting) > 0) return atoi(setting);
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }();
  return threads;
}

void InParallel(int begin, int end, int grain,
                const std::function<void(int, int)>& part) {
  const int parts = (end - begin + grain - 1) / grain;
  const int each = (parts + Threads() - 1) / Threads() * grain;
  std::vector<std::thread> threads;
  for (int at = begin + each; at < end; at += each) {
    threads.emplace_back(part, at, std::min(at + each, end));
  }
  if (begin < end) part(begin, std::min(begin + each, end));
  for (std::thread& thread : threads) thread.join();
}

const std::vector<WorkloadEntry>& Workloads() {
  static const auto& workloads = *new std::vector<WorkloadEntry>{
      Entry<VectorAdd>("vector add, 2^24", 1.1),
      Entry<Saxpy>("SAXPY, 2^24", 1.1),
      Entry<Matmul>("tiled matmul, 512^3", 1.2),
      Entry<Reduction>("shuffle reduction, 2^24", 2.5),
      Entry<Mandelbrot>("Mandelbrot, 1024^2", 0.5),
      Entry<Histogram>("histogram, 2^24 bytes", 2),
      Entry<Stencil>("2D stencil, 4096^2", 2),
      Entry<BitonicSort>("bitonic sort, 2^18", 2),
      Entry<Nbody>("n-body, 8192", 2),
      Entry<Transpose>("transpose, 4096^2", 2),
      Entry<Scan>("scan with look-back, 2^24", 2),
      Entry<Spmv>("SpMV in CSR, 2^17 rows", 2),
      Entry<SpmvUnrolled>("SpMV, C++ unrolled alike", 2),
      Entry<BlackScholes>("Black-Scholes, 2^21", 2),
  };
  return workloads;
}

}  // namespace holdfast::bench
