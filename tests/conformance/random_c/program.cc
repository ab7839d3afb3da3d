// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random_c/program.h"

namespace holdfast::random_c {
namespace {

void Print(const Node& node, const std::set<int>& without, std::string* text) {
  if (without.count(node.number) != 0) return;
  *text += node.text;
  for (const Node& inner : node.inner) Print(inner, without, text);
  *text += node.end;
}

}  // namespace

std::string DeviceTextOf(const Program& program, const std::set<int>& without) {
  std::string text;
  Print(program.device, without, &text);
  return text;
}

// Signed arithmetic that C leaves open, and conversions of what is out of
// range, are given a meaning; a NaN is one NaN where its bits can be seen.
const char kPrelude[] = R"C(
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#ifdef __CUDACC__
#define DEVICE __device__
#define NOINLINE __device__ __noinline__
#define INLINE __device__ __forceinline__
#define CONSTANT __constant__
#define KERNEL extern "C" __global__ void
#define SHARED __shared__
#define SYNC() __syncthreads()
#define SYNC_WARP() __syncwarp()
INLINE u32 bits_of(f32 f) { return f != f ? 0x7FFFFFFFu : __float_as_uint(f); }
INLINE u64 bits_of(f64 f) {
  return f != f ? ~0ull >> 1 : (u64)__double_as_longlong(f);
}
INLINE f32 canon(f32 f) { return __uint_as_float(bits_of(f)); }
INLINE f64 canon(f64 f) { return __longlong_as_double((i64)bits_of(f)); }
INLINE u64 high(u64 a, u64 b) { return __umul64hi(a, b); }
#else
#include <math.h>
#include <string.h>
#define DEVICE static
#define NOINLINE static __attribute__((noinline))
#define INLINE static inline
#define CONSTANT static
#define KERNEL static void
#define SHARED static
#define SYNC()
#define SYNC_WARP()
struct Index { u32 x, y, z; };
static Index threadIdx, blockIdx, blockDim, gridDim;
INLINE u32 bits_of(f32 f) {
  u32 bits = 0x7FFFFFFFu;
  if (f == f) memcpy(&bits, &f, 4);
  return bits;
}
INLINE u64 bits_of(f64 f) {
  u64 bits = ~0ull >> 1;
  if (f == f) memcpy(&bits, &f, 8);
  return bits;
}
INLINE f32 canon(f32 f) {
  const u32 bits = bits_of(f);
  memcpy(&f, &bits, 4);
  return f;
}
INLINE f64 canon(f64 f) {
  const u64 bits = bits_of(f);
  memcpy(&f, &bits, 8);
  return f;
}
INLINE u64 high(u64 a, u64 b) {
  return (u64)((unsigned __int128)a * b >> 64);
}
INLINE u32 atomicAdd(u32* to, u32 by) { const u32 old = *to; *to += by; return old; }
INLINE u32 atomicXor(u32* to, u32 by) { const u32 old = *to; *to ^= by; return old; }
INLINE u32 atomicMax(u32* to, u32 by) { const u32 old = *to; if (by > old) *to = by; return old; }
INLINE u32 atomicExch(u32* to, u32 by) { const u32 old = *to; *to = by; return old; }
#endif

INLINE i32 divide(i32 a, i32 b) { return b == 0 || b == -1 ? a : a / b; }
INLINE u32 divide(u32 a, u32 b) { return b == 0 ? a : a / b; }
INLINE i64 divide(i64 a, i64 b) { return b == 0 || b == -1 ? a : a / b; }
INLINE u64 divide(u64 a, u64 b) { return b == 0 ? a : a / b; }
INLINE i32 remainder_of(i32 a, i32 b) { return b == 0 || b == -1 ? a : a % b; }
INLINE u32 remainder_of(u32 a, u32 b) { return b == 0 ? a : a % b; }
INLINE i64 remainder_of(i64 a, i64 b) { return b == 0 || b == -1 ? a : a % b; }
INLINE u64 remainder_of(u64 a, u64 b) { return b == 0 ? a : a % b; }
NOINLINE u64 wide(u64 a, u64 b, u64 c, u64 d) {
  typedef unsigned __int128 u128;
  const u128 x = (u128)a << 64 | b;
  const u128 y = (u128)(d & 2 ? c : d & 4 ? c >> 40 : 0) << 64 | d | 1;
  const u128 quotient = x / y;
  const u128 rest = x - quotient * y;
  return (u64)quotient ^ (u64)(quotient >> 64) * 3 ^ (u64)rest * 5 ^ (u64)(rest >> 64) * 7;
}
INLINE i64 whole(f64 f) { return f >= -9e18 && f <= 9e18 ? (i64)f : 7; }
INLINE u64 mix(u64 h, u64 value) { return (h ^ value) * 0x9E3779B97F4A7C15ull + (h >> 29); }
INLINE u64 hash(u64 h, f32 value) { return mix(h, bits_of(value)); }
INLINE u64 hash(u64 h, f64 value) { return mix(h, bits_of(value)); }
template <typename T> INLINE u64 hash(u64 h, T value) { return mix(h, (u64)value); }
)C";

}  // namespace holdfast::random_c
