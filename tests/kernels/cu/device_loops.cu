// SPDX-License-Identifier: Apache-2.0
// Loops over iterators and functors, as libraries of algorithms write them.
template <typename T>
struct Counting {
  T start;
  __device__ T operator[](int i) const { return start + i; }
};

template <typename In, typename F>
struct Mapped {
  In in;
  F f;
  __device__ auto operator[](int i) const { return f(in[i]); }
};

struct Cube {
  __device__ long long operator()(int x) const { return (long long)x * x * x; }
};
struct Odd {
  __device__ bool operator()(long long x) const { return x & 1; }
};

template <typename In, typename Out, typename Predicate>
__device__ void CopyIf(In in, Out* out, int n, Predicate keep) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    out[i] = keep(in[i]) ? in[i] : Out(-1);
  }
}

extern "C" __global__ void mapped_copy(long long* out, int n) {
  const Mapped<Counting<int>, Cube> cubes{{-50}, {}};
  CopyIf(cubes, out, n, Odd{});
}

// A heap of the smallest eight of a strided sequence, in registers.
extern "C" __global__ void smallest(const float* in, float* out, int n) {
  float best[8];
  for (int k = 0; k < 8; ++k) best[k] = __int_as_float(0x7f800000);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float value = in[i];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float least = fminf(best[k], value);
      value = fmaxf(best[k], value);
      best[k] = least;
    }
  }
  for (int k = 0; k < 8; ++k) out[threadIdx.x * 8 + k] = best[k];
}

// Warp-wide votes and reductions.
extern "C" __global__ void votes(const int* in, int* out) {
  const int t = threadIdx.x;
  const int value = in[t];
  int result = __all_sync(0xffffffffu, value > -1000000000);
  result = result * 2 + __any_sync(0xffffffffu, value > 1000000000);
  result = result * 2 + __all_sync(0xffffffffu, value > 0);
  result ^= __ballot_sync(0xffffffffu, value & 1);
  result += __shfl_sync(0xffffffffu, value, (t * 7) & 31);
  result ^= __shfl_xor_sync(0xffffffffu, value, 5, 8);
  result += __shfl_down_sync(0xffffffffu, value, 3, 16);
  out[t] = result;
#if __CUDA_ARCH__ >= 800
  out[t] ^= __reduce_add_sync(0xffffffffu, value & 255);
#else
  int sum = value & 255;
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, o);
  out[t] ^= sum;
#endif
}
