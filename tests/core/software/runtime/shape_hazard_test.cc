// SPDX-License-Identifier: Apache-2.0
//
// Where a warp's values only look like base + lane * stride: what is assumed of
// them has to be checked when the kernel runs.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

LaunchGeometry Warps(uint32_t count) {
  LaunchGeometry geometry;
  geometry.block[0] = 32 * count;
  return geometry;
}

void ExpectSuccess(const LaunchOutcome& outcome) {
  ASSERT_EQ(outcome.result, CUDA_SUCCESS) << outcome.message;
}

// At the n-th lane the index becomes 0, or the most negative number.
TEST(WrapTest, AnIndexThatWrapsInsideAWarpIsWidenedLaneByLane) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned long long* out, unsigned first,
                             unsigned first_signed) {
  unsigned t = threadIdx.x;
  out[2 * t] = (unsigned long long)(first + t) * 4;
  out[2 * t + 1] = (long long)(int)(first_signed + t) * 4;
})");
  for (uint32_t n = 0; n <= 65; ++n) {
    const uint32_t first = 0u - n;
    const uint32_t first_signed = 0x80000000u - n;
    std::vector<uint64_t> out(2 * 64, 1);
    ExpectSuccess(program.Run(Warps(2), out.data(), first, first_signed));
    for (uint32_t t = 0; t < 64; ++t) {
      EXPECT_EQ(out[2 * t], uint64_t{first + t} * 4) << n << ", lane " << t;
      const int64_t index = static_cast<int32_t>(first_signed + t);
      EXPECT_EQ(static_cast<int64_t>(out[2 * t + 1]), index * 4)
          << n << ", lane " << t;
    }
  }
}

TEST(WrapTest, AnIndexThatWrapsInACodeOfSomeLanesIsWidenedLaneByLane) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned long long* out, unsigned first,
                             const unsigned* chosen) {
  unsigned t = threadIdx.x;
  unsigned long long value = 7;
  if (chosen[t]) {
    value = (unsigned long long)(first + t) * 4;
    if (value == 12345) value = chosen[first & 31];
  }
  out[t] = value;
})");
  for (uint32_t n = 1; n < 32; ++n) {
    std::vector<uint32_t> chosen(32);
    for (uint32_t t = 0; t < 32; ++t) chosen[t] = (t ^ n) % 3 != 0;
    std::vector<uint64_t> out(32, 1);
    const uint32_t first = 0u - n;
    ExpectSuccess(program.Run(Warps(1), out.data(), first, chosen.data()));
    for (uint32_t t = 0; t < 32; ++t) {
      EXPECT_EQ(out[t], chosen[t] ? uint64_t{first + t} * 4 : 7)
          << n << ", lane " << t;
    }
  }
}

// Code for lanes that part does not have the block in front of the loop; what
// goes on where a value has wrapped does. Warps come to either from the same
// full code, and from the loop to both in turns.
TEST(WrapTest, AnIndexThatWrapsInFrontOfWhereLanesPartOrBetween) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned long long* out, unsigned first,
                             unsigned second, const unsigned* rounds) {
  unsigned t = threadIdx.x;
  unsigned long long sum = (unsigned long long)(first + t) * 4;
  for (unsigned r = 0; r < 3; ++r) {
    for (unsigned i = 0; i < rounds[(t + r) & 31]; ++i) {
      sum = sum * 3 + rounds[(sum + i) & 31];
    }
    __syncwarp();
    sum += (unsigned long long)(second + r + t) * 5;
  }
  out[t] = sum;
})");
  std::vector<uint32_t> parting(32), together(32, 2);
  for (uint32_t t = 0; t < 32; ++t) parting[t] = t * 7 % 5;
  for (const std::vector<uint32_t>& rounds : {parting, together}) {
    for (const uint32_t first : {5u, 0u - 9, 0u - 40}) {
      for (const uint32_t second : {5u, 0u - 1, 0u - 33, 0u - 48}) {
        std::vector<uint64_t> out(64, 1);
        ExpectSuccess(
            program.Run(Warps(2), out.data(), first, second, rounds.data()));
        for (uint32_t t = 0; t < 64; ++t) {
          uint64_t sum = uint64_t{first + t} * 4;
          for (uint32_t r = 0; r < 3; ++r) {
            for (uint32_t i = 0; i < rounds[(t + r) & 31]; ++i) {
              sum = sum * 3 + rounds[(sum + i) & 31];
            }
            sum += uint64_t{second + r + t} * 5;
          }
          EXPECT_EQ(out[t], sum) << first << ", " << second << ", thread " << t;
        }
      }
    }
  }
}

// After the loop, `n` is one number for all that go round together, and
// another for each that leaves alone.
TEST(MeetingTest, ACounterOfALoopThatLanesLeaveOneByOneIsEachLanesOwn) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, const int* limit) {
  int t = threadIdx.x;
  int n = 0;
  while (n < limit[t]) {
    ++n;
    if (out[t] == -5) break;
  }
  __syncwarp();
  out[t] = n * 3 + 1;
  __syncthreads();
  out[t] += n;
})");
  for (int kind = 0; kind < 4; ++kind) {
    std::vector<int> limit(64), out(64, 0);
    for (int t = 0; t < 64; ++t) {
      limit[t] = kind == 0 ? t : kind == 1 ? 5 : kind == 2 ? t % 7 : t / 32;
    }
    ExpectSuccess(program.Run(Warps(2), out.data(), limit.data()));
    for (int t = 0; t < 64; ++t) {
      EXPECT_EQ(out[t], limit[t] * 4 + 1) << kind << ", thread " << t;
    }
  }
}

// Both sides give one number for all who take it.
TEST(MeetingTest, ValuesThatTwoSidesOfABranchGiveStayApart) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, const int* side, int a, int b) {
  int t = threadIdx.x;
  int x, y;
  if (side[t] > 0) {
    x = a * 3 + side[t] % 2;
    y = t + a;
    while (y < 0) y += side[t];
  } else {
    x = b * 5;
    y = t * 4 + b;
    while (x < 0) x -= side[t];
  }
  __syncwarp();
  out[2 * t] = x;
  out[2 * t + 1] = y;
})");
  for (uint32_t pattern : {0u, ~0u, 1u, 0x80000000u, 0xffffu, 0x55555555u}) {
    std::vector<int> side(32), out(64, 0);
    for (int t = 0; t < 32; ++t) side[t] = pattern >> t & 1 ? 2 : -2;
    ExpectSuccess(program.Run(Warps(1), out.data(), side.data(), 10, 20));
    for (int t = 0; t < 32; ++t) {
      EXPECT_EQ(out[2 * t], side[t] > 0 ? 30 : 100) << pattern << ", " << t;
      EXPECT_EQ(out[2 * t + 1], side[t] > 0 ? t + 10 : t * 4 + 20)
          << pattern << ", " << t;
    }
  }
}

// HEAD comes before both sides: lanes on the short one go round and round while
// those on the other wait, so that all meet at HEAD in different rounds.
constexpr char kRounds[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p_out, .param .u64 p_slow) {
  .reg .pred %p<3>;
  .reg .b32 %r<9>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [p_out];
  ld.param.u64 %d2, [p_slow];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d3, %r1, 4;
  add.u64 %d4, %d2, %d3;
  add.u64 %d5, %d1, %d3;
  ld.global.u32 %r2, [%d4];
  mov.u32 %r3, 0;
  mov.u32 %r4, 1;
HEAD:
  add.u32 %r3, %r3, 1;
  setp.gt.u32 %p1, %r3, 20;
  @%p1 bra DONE;
  shr.u32 %r5, %r2, %r3;
  and.b32 %r6, %r5, 1;
  setp.ne.u32 %p2, %r6, 0;
  @%p2 bra SLOW;
  add.u32 %r4, %r4, 1;
  bra HEAD;
SLOW:
  mad.lo.u32 %r4, %r4, 3, %r3;
  bra HEAD;
DONE:
  st.global.u32 [%d5], %r4;
  ret;
}
)";

uint32_t Rounds(uint32_t slow) {
  uint32_t value = 1;
  for (uint32_t round = 1; round <= 20; ++round) {
    value = slow >> round & 1 ? value * 3 + round : value + 1;
  }
  return value;
}

TEST(MeetingTest, LanesThatMeetInDifferentRoundsOfALoopKeepTheirOwn) {
  std::unique_ptr<Executable> executable;
  std::string log;
  ASSERT_EQ(Executable::Load(kRounds, &executable, &log), CUDA_SUCCESS) << log;
  std::vector<uint32_t> slow(32), out(32, 0);
  for (uint32_t t = 0; t < 32; ++t) {
    slow[t] = 1u << (1 + t % 3) | 1u << (6 + t % 5) | (t % 2 << 14);
  }
  const uint32_t* arguments[] = {out.data(), slow.data()};
  ExpectSuccess(executable->Launch(0, Warps(1), arguments, nullptr));
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(out[t], Rounds(slow[t])) << "lane " << t;
  }
}

}  // namespace
}  // namespace holdfast::software
