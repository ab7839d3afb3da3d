// SPDX-License-Identifier: Apache-2.0
//
// Shuffles, votes, matches and reductions over the lanes of a warp, and atomic
// operations, in full warps, in the last, partial one, and in diverged code.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

TEST(ShuffleTest, EveryKindEveryWidthEveryDistance) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, int by) {
  int t = threadIdx.x, v = 100 + t;
  const unsigned all = 0xffffffffu;
  int* o = out + t * 12;
  o[0] = __shfl_sync(all, v, by);
  o[1] = __shfl_up_sync(all, v, by);
  o[2] = __shfl_down_sync(all, v, by);
  o[3] = __shfl_xor_sync(all, v, by);
  o[4] = __shfl_sync(all, v, by, 8);
  o[5] = __shfl_up_sync(all, v, by, 8);
  o[6] = __shfl_down_sync(all, v, by, 8);
  o[7] = __shfl_xor_sync(all, v, by, 8);
  o[8] = __shfl_sync(all, v, t * by);
  o[9] = __shfl_up_sync(all, v, 1);
  o[10] = __shfl_down_sync(all, v, 16);
  o[11] = __shfl_xor_sync(all, v, 4, 16);
})");
  for (int by = 0; by < 32; ++by) {
    std::vector<int> out(32 * 12, 0);
    ExpectSuccess(program.Run(Geometry(1, 32), out.data(), by));
    for (int t = 0; t < 32; ++t) {
      auto idx = [&](int from, int width) {
        return 100 + (t / width * width) + from % width;
      };
      auto up = [&](int d, int width) {
        return 100 + (t - d >= t / width * width ? t - d : t);
      };
      auto down = [&](int d, int width) {
        return 100 + (t % width + d < width ? t + d : t);
      };
      auto bfly = [&](int d, int width) {
        return 100 + ((t ^ d) < (t / width + 1) * width ? (t ^ d) : t);
      };
      const int expected[12] = {
          idx(by, 32),          up(by, 32), down(by, 32), bfly(by, 32),
          idx(by, 8),           up(by, 8),  down(by, 8),  bfly(by, 8),
          idx(t * by % 32, 32), up(1, 32),  down(16, 32), bfly(4, 16)};
      for (int i = 0; i < 12; ++i) {
        EXPECT_EQ(out[t * 12 + i], expected[i])
            << "kind " << i << ", lane " << t << ", by " << by;
      }
    }
  }
}

TEST(ShuffleTest, ReductionOfAnArrayIsTheSumOfItsElements) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* in, int* out, int n) {
  __shared__ int warps[32];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) sum += in[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
})");
  const int n = 100003;
  std::vector<int> in(n);
  int expected = 0;
  for (int i = 0; i < n; ++i) expected += in[i] = i % 1013 - 500;
  int out = 0;
  ExpectSuccess(program.Run(Geometry(37, 256), in.data(), &out, n));
  EXPECT_EQ(out, expected);
}

TEST(VoteTest, BallotAnyAllUniAndActivemask) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out, int limit) {
  int t = threadIdx.x;
  unsigned* o = out + t * 4;
  unsigned members = __ballot_sync(~0u, 1);
  o[0] = __ballot_sync(members, t < limit);
  o[1] = __any_sync(members, t == limit);
  o[2] = __all_sync(members, t <= limit);
  o[3] = __activemask();
})");
  for (const uint32_t block : {32u, 20u}) {
    for (const int limit : {0, 7, 19, 31, 40}) {
      std::vector<uint32_t> out(32 * 4, 99);
      ExpectSuccess(program.Run(Geometry(1, block), out.data(), limit));
      const uint32_t all = block == 32 ? ~0u : (1u << block) - 1;
      const int last = static_cast<int>(block) - 1;
      for (uint32_t t = 0; t < block; ++t) {
        EXPECT_EQ(out[t * 4], all & (limit > 31 ? ~0u : (1u << limit) - 1));
        EXPECT_EQ(out[t * 4 + 1], limit <= last) << limit;
        EXPECT_EQ(out[t * 4 + 2], last <= limit) << limit;
        EXPECT_EQ(out[t * 4 + 3], all);
      }
    }
  }
}

TEST(VoteTest, DivergedHalvesVoteAmongThemselves) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out) {
  int t = threadIdx.x;
  if (t % 2) {
    out[t] = __ballot_sync(0xaaaaaaaau, t > 16);
  } else {
    out[t] = __ballot_sync(0x55555555u, t > 16);
  }
})");
  std::vector<uint32_t> out(32, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), out.data()));
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(out[t], (t % 2 ? 0xaaaaaaaau : 0x55555555u) & 0xfffe0000u);
  }
}

TEST(MatchTest, AnyAndAllInThirtyTwoAndSixtyFourBits) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out) {
  int t = threadIdx.x;
  unsigned* o = out + t * 5;
  int p = 0, q = 0;
  o[0] = __match_any_sync(~0u, t % 5);
  o[1] = __match_any_sync(~0u, (unsigned long long)(t / 7) << 40);
  o[2] = __match_all_sync(~0u, 9, &p);
  o[3] = p;
  __match_all_sync(~0u, t, &q);
  o[4] = q;
})");
  std::vector<uint32_t> out(32 * 5, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), out.data()));
  for (uint32_t t = 0; t < 32; ++t) {
    uint32_t fifth = 0, seventh = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      fifth |= uint32_t{i % 5 == t % 5} << i;
      seventh |= uint32_t{i / 7 == t / 7} << i;
    }
    EXPECT_EQ(out[t * 5], fifth);
    EXPECT_EQ(out[t * 5 + 1], seventh);
    EXPECT_EQ(out[t * 5 + 2], ~0u);
    EXPECT_EQ(out[t * 5 + 3], 1u);
    EXPECT_EQ(out[t * 5 + 4], 0u);
  }
}

TEST(ReduxTest, SignedUnsignedAndLogicOverMembers) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* in, int* out) {
  int t = threadIdx.x, v = in[t];
  int* o = out + t * 8;
  o[0] = __reduce_add_sync(~0u, v);
  o[1] = __reduce_min_sync(~0u, v);
  o[2] = __reduce_max_sync(~0u, v);
  o[3] = __reduce_min_sync(~0u, (unsigned)v);
  o[4] = __reduce_max_sync(~0u, (unsigned)v);
  o[5] = __reduce_and_sync(~0u, (unsigned)v);
  o[6] = __reduce_or_sync(~0u, (unsigned)v);
  o[7] = __reduce_xor_sync(~0u, (unsigned)v);
})");
  // Numbers of both signs, negative ones alone, and none that is negative.
  for (const auto& [keep, set] : {std::pair{~0u, 0u}, std::pair{~0u, 1u << 31},
                                  std::pair{~0u >> 1, 0u}}) {
    std::vector<int> in(32), out(32 * 8, 0);
    for (uint32_t i = 0; i < 32; ++i) {
      in[i] = static_cast<int>(((Bits(i) | 8) & keep) | set);
    }
    ExpectSuccess(program.Run(Geometry(1, 32), in.data(), out.data()));
    uint32_t sum = 0, low = ~0u, high = 0, all = ~0u, any = 0, odd = 0;
    for (const int v : in) {
      const auto u = static_cast<uint32_t>(v);
      sum += u, low = std::min(low, u), high = std::max(high, u);
      all &= u, any |= u, odd ^= u;
    }
    const int expected[8] = {static_cast<int>(sum),
                             *std::min_element(in.begin(), in.end()),
                             *std::max_element(in.begin(), in.end()),
                             static_cast<int>(low),
                             static_cast<int>(high),
                             static_cast<int>(all),
                             static_cast<int>(any),
                             static_cast<int>(odd)};
    for (int i = 0; i < 32 * 8; ++i) EXPECT_EQ(out[i], expected[i % 8]) << i;
  }
}

TEST(ReduxTest, LanesThatAreNotThereDoNotCount) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* in, int* out) {
  int t = threadIdx.x, v = in[t];
  if (t % 3 == 0) {
    out[t] = __reduce_max_sync(0x49249249u, v);
  } else {
    out[t] = __reduce_min_sync(~0x49249249u, v);
  }
})");
  for (const uint32_t sign : {0u, 1u << 31}) {
    std::vector<int> in(32), out(32, 0);
    int most = INT32_MIN, least = INT32_MAX;
    for (uint32_t i = 0; i < 32; ++i) {
      in[i] = static_cast<int>((Bits(i) & ~(1u << 31)) | sign);
      if (i % 3 == 0) most = std::max(most, in[i]);
      if (i % 3 != 0) least = std::min(least, in[i]);
    }
    ExpectSuccess(program.Run(Geometry(1, 32), in.data(), out.data()));
    for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], i % 3 ? least : most) << i;
  }
}

// Groups with masks of their own split the warp twice, and then all lanes meet:
// a group that is there as a whole goes on, and no lane is left out.
TEST(GroupTest, AllLanesMeetAfterGroupsWithMasksOfTheirOwn) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out, unsigned all) {
  const unsigned t = threadIdx.x;
  unsigned* o = out + t * 6;
  const unsigned tile = 0xffu << (t & 24);
  const unsigned group = __match_any_sync(tile, t % 3 == 0);
  o[0] = __reduce_add_sync(group, t);
  o[1] = __match_any_sync(all, t % 5);
  o[2] = __reduce_add_sync(o[1], 1);
  o[3] = __ballot_sync(all, t % 7 == 0);
  o[4] = __shfl_sync(group, t, __ffs(group) - 1);
  o[5] = __reduce_max_sync(all, t);
})");
  std::vector<unsigned> out(32 * 6, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), out.data(), ~0u));
  for (unsigned t = 0; t < 32; ++t) {
    unsigned sum = 0, first = 32, fifth = 0, seventh = 0;
    for (unsigned i = 0; i < 32; ++i) {
      if (i / 8 == t / 8 && (i % 3 == 0) == (t % 3 == 0)) {
        sum += i;
        first = std::min(first, i);
      }
      if (i % 5 == t % 5) fifth |= 1u << i;
      if (i % 7 == 0) seventh |= 1u << i;
    }
    const unsigned* o = &out[t * 6];
    EXPECT_EQ(o[0], sum) << t;
    EXPECT_EQ(o[1], fifth) << t;
    EXPECT_EQ(o[2], static_cast<unsigned>(std::popcount(fifth))) << t;
    EXPECT_EQ(o[3], seventh) << t;
    EXPECT_EQ(o[4], first) << t;
    EXPECT_EQ(o[5], 31u) << t;
  }
}

TEST(GroupTest, GroupsGoAroundLoopsOfTheirOwnLengths) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  const int t = threadIdx.x;
  const unsigned group = 0xfu << (t & 28);
  int sum = t;
  for (int i = 0; i <= t / 4 * 3; ++i) {
    sum = __shfl_sync(group, sum, (t & 28) + ((t + 1) & 3)) + i;
    __syncwarp(group);
  }
  out[t] = sum + 1000 * __popc(__ballot_sync(0xffffffffu, sum & 1));
})");
  std::vector<int> out(32, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), out.data()));
  int sums[32] = {}, odd = 0;
  for (int t = 0; t < 32; ++t) {
    const int rounds = t / 4 * 3 + 1;
    sums[t] = (t & 28) + ((t + rounds) & 3) + rounds * (rounds - 1) / 2;
    odd += sums[t] & 1;
  }
  for (int t = 0; t < 32; ++t) EXPECT_EQ(out[t], sums[t] + 1000 * odd) << t;
}

// As on GPUs, the two sides of a branch wait for each other at points of their
// own, round after round.
TEST(GroupTest, BothSidesOfABranchMeetAtPointsOfTheirOwn) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  __shared__ int value[32];
  const int t = threadIdx.x;
  value[t] = t;
  __syncwarp();
  for (int i = 0; i < 10; ++i) {
    if (t < 16) {
      const int other = value[t + 16];
      __syncwarp();
      value[t] = 3 * other + i;
      __syncwarp();
    } else {
      const int other = value[t - 16];
      __syncwarp();
      value[t] = other + 1;
      __syncwarp();
    }
  }
  out[t] = value[t];
})");
  std::vector<int> out(32, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), out.data()));
  for (int t = 0; t < 16; ++t) {
    int low = t, high = t + 16;
    for (int i = 0; i < 10; ++i) {
      const int old = low;
      low = 3 * high + i;
      high = old + 1;
    }
    EXPECT_EQ(out[t], low) << t;
    EXPECT_EQ(out[t + 16], high) << t;
  }
}

// Lanes of several calls are at one point then, each call with its own mask.
TEST(GroupTest, LanesOfARecursionWaitForTheirOwnCall) {
  KernelProgram program(R"(
__device__ __noinline__ int depth(int left, int value) {
  if (left == 0) return value;
  const unsigned mask = __activemask();
  const int result = depth(left - 1, value + 1);
  __syncwarp(mask);
  return result * 2 + 1;
}
extern "C" __global__ void k(int* out) {
  const int t = threadIdx.x;
  out[t] = depth(t % 5, t);
  out[32 + t] = __ballot_sync(0xffffffffu, t & 1);
})");
  std::vector<int> out(64, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), out.data()));
  for (int t = 0; t < 32; ++t) {
    int result = t + t % 5;
    for (int i = 0; i < t % 5; ++i) result = result * 2 + 1;
    EXPECT_EQ(out[t], result) << t;
    EXPECT_EQ(static_cast<unsigned>(out[32 + t]), 0xaaaaaaaau) << t;
  }
}

// The lanes that wait for their warp stay until the other lanes have come from
// a barrier with another warp, which comes late.
TEST(GroupTest, LanesWaitForLanesAtABarrierWithAnotherWarp) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  __shared__ int value[64];
  const int t = threadIdx.x;
  value[t] = 0;
  __syncthreads();
  if (t % 32 < 16) {
    if (t >= 32) value[t] = t;
    asm volatile("barrier.sync 1, 32;" ::: "memory");
    if (t < 32) value[t] = value[t + 32] + 1000;
  }
  __syncwarp();
  out[t] = value[t ^ 16];
})");
  std::vector<int> out(64, 0);
  ExpectSuccess(program.Run(Geometry(1, 64), out.data()));
  for (int t = 16; t < 32; ++t) {
    EXPECT_EQ(out[t], (t ^ 16) + 32 + 1000) << t;
    EXPECT_EQ(out[t + 32], (t ^ 16) + 32) << t;
  }
}

TEST(GroupTest, LanesThatEndAreNotWaitedForByGroupsFurtherOn) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out) {
  const unsigned t = threadIdx.x;
  const unsigned upper = 0xfffe0000u, lower = 0x0001ffffu;
  if (t == 16) {
    for (unsigned i = 0; i < 50; ++i) out[64 + i] = i;
    return;
  }
  unsigned seen;
  if (t > 16) {
    seen = __ballot_sync(upper, t & 1);
  } else {
    seen = __ballot_sync(lower, t & 1);
  }
  out[t] = seen;
  out[32 + t] = __ballot_sync(0xffffffffu, t % 3 == 0);
})");
  std::vector<unsigned> out(128, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), out.data()));
  for (unsigned t = 0; t < 32; ++t) {
    if (t == 16) continue;
    EXPECT_EQ(out[t], t > 16 ? 0xaaaa0000u : 0x0000aaaau) << t;
    EXPECT_EQ(out[32 + t], 0x49249249u) << t;
  }
}

TEST(AtomicTest, HistogramInSharedAndGlobalMemoryCountsEverything) {
  KernelProgram program(R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  __shared__ unsigned bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i] % 64], 1u);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
})");
  const int n = 50021;
  std::vector<uint32_t> in(n), out(64, 0), expected(64, 0);
  for (int i = 0; i < n; ++i) ++expected[(in[i] = Bits(i)) % 64];
  ExpectSuccess(program.Run(Geometry(13, 128), in.data(), out.data(), n));
  EXPECT_EQ(out, expected);
}

TEST(AtomicTest, OnePlaceCountsTheLanesThatAreThere) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out) {
  unsigned t = threadIdx.x;
  if (t % 3 == 0) atomicAdd(out, 5u);
  for (unsigned i = 0; i < t % 4; ++i) atomicMax(out + 1, t);
  if (t % 5 == 1) atomicXor(out + 2, 1u << t);
})");
  std::vector<uint32_t> out(3, 0);
  ExpectSuccess(program.Run(Geometry(1, 29), out.data()));
  uint32_t bits = 0;
  for (uint32_t t = 1; t < 29; t += 5) bits |= 1u << t;
  EXPECT_EQ(out[0], 10u * 5);
  EXPECT_EQ(out[1], 27u);
  EXPECT_EQ(out[2], bits);
}

TEST(AtomicTest, EveryOperationReturnsWhatWasThere) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, int* place, unsigned* wrap, float* f,
                             double* d, unsigned long long* wide) {
  int t = threadIdx.x;
  out[t] = atomicAdd(place, 1);
  atomicMax(place + 1, t * 7 % 32 - 10);
  atomicMin(place + 2, t * 7 % 32 - 10);
  atomicAnd(place + 3, ~t);
  atomicOr(place + 4, t);
  atomicXor(place + 5, 3 * t);
  atomicInc(wrap, 9);
  atomicDec(wrap + 1, 9);
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
  atomicAdd(wide, 1ull << 33);
  atomicExch(place + 6, t);
  int old = place[7], seen;
  do { seen = old; old = atomicCAS(place + 7, seen, seen + t); } while (old != seen);
})");
  std::vector<int> out(64, -1), place = {0, -100, 100, -1, 0, 0, -1, 5};
  std::vector<uint32_t> wrap = {0, 0};
  float f = 1;
  double d = 1;
  uint64_t wide = 1;
  ExpectSuccess(program.Run(Geometry(1, 64), out.data(), place.data(),
                            wrap.data(), &f, &d, &wide));
  std::sort(out.begin(), out.end());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], i);
  EXPECT_EQ(place[0], 64);
  EXPECT_EQ(place[1], 21);
  EXPECT_EQ(place[2], -10);
  EXPECT_EQ(place[3], ~63);
  EXPECT_EQ(place[4], 63);
  uint32_t x = 0;
  for (int t = 0; t < 64; ++t) x ^= 3u * t;
  EXPECT_EQ(static_cast<uint32_t>(place[5]), x);
  EXPECT_GE(place[6], 0);
  EXPECT_EQ(place[7], 5 + 63 * 64 / 2);
  EXPECT_EQ(wrap[0], 64u % 10);
  EXPECT_EQ(wrap[1], (10 - 64 % 10) % 10u);
  EXPECT_EQ(f, 33.0f);
  EXPECT_EQ(d, 17.0);
  EXPECT_EQ(wide, 1 + (uint64_t{64} << 33));
}

TEST(SpinTest, LanesOfOneWarpTakeALockInTurn) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* lock, int* count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int*)count = *(volatile int*)count + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
})");
  int lock = 0, count = 0;
  ExpectSuccess(program.Run(Geometry(4, 96), &lock, &count));
  EXPECT_EQ(count, 4 * 96);
}

TEST(SpecialRegisterTest, LanemasksSplitTheWarpAtEachLane) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out) {
  unsigned t = threadIdx.x, r;
  unsigned* o = out + t * 5;
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(r)); o[0] = r;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(r)); o[1] = r;
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(r)); o[2] = r;
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(r)); o[3] = r;
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(r)); o[4] = r;
})");
  std::vector<uint32_t> out(64 * 5, 0);
  ExpectSuccess(program.Run(Geometry(1, 64), out.data()));
  for (uint32_t t = 0; t < 64; ++t) {
    const uint32_t equal = 1u << (t % 32);
    const uint32_t expected[5] = {equal, equal - 1, equal | (equal - 1),
                                  ~(equal - 1), ~(equal | (equal - 1))};
    for (int i = 0; i < 5; ++i) EXPECT_EQ(out[t * 5 + i], expected[i]) << t;
  }
}

TEST(TrapTest, TrapEndsTheLaunch) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  if (threadIdx.x == 3) __trap();
  out[threadIdx.x] = 1;
})");
  std::vector<int> out(32, 0);
  EXPECT_EQ(program.Run(Geometry(1, 32), out.data()).result,
            CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace holdfast::software
