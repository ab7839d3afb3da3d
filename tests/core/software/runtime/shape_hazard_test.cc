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

TEST(WideningTest, AnIndexThatWrapsForEveryBaseIsEachLanesOwn) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned long long* out) {
  const unsigned t = threadIdx.x;
  const unsigned hash = t * 2654435761u;
  out[t] = (unsigned long long)hash * 3;
  out[64 + t] = (long long)(int)(t * 0x40000000);
  out[128 + t] = (unsigned long long)(t << 28) + hash;
})");
  std::vector<uint64_t> out(192, 0);
  ExpectSuccess(program.Run(Geometry(1, 64), out.data()));
  for (uint32_t t = 0; t < 64; ++t) {
    const uint32_t hash = t * 2654435761u;
    EXPECT_EQ(out[t], uint64_t{hash} * 3) << t;
    EXPECT_EQ(out[64 + t], static_cast<uint64_t>(static_cast<int64_t>(
                               static_cast<int32_t>(t * 0x40000000u))))
        << t;
    EXPECT_EQ(out[128 + t], uint64_t{t << 28} + hash) << t;
  }
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

std::unique_ptr<Executable> LoadPtx(const std::string& ptx) {
  std::unique_ptr<Executable> executable;
  std::string log;
  EXPECT_EQ(Executable::Load(ptx, &executable, &log), CUDA_SUCCESS) << log;
  return executable;
}

// Parameters are everybody's, but an address of one may be each lane's own.
TEST(ParameterTest, EachLaneLoadsTheElementThatItAsksFor) {
  struct Table {
    int v[64];
  };
  KernelProgram program(R"(
struct Table { int v[64]; };
extern "C" __global__ void k(Table table, const int* which, int* out) {
  int t = threadIdx.x;
  int sum = 0;
  for (int i = 0; i < which[t] % 5; ++i) sum += table.v[(which[t] + i) % 64];
  out[3 * t] = table.v[t % 64];
  out[3 * t + 1] = table.v[which[t]];
  out[3 * t + 2] = sum;
})");
  Table table;
  for (int i = 0; i < 64; ++i) table.v[i] = 1000 + i * i;
  for (const uint32_t threads : {1u, 5u, 31u, 32u, 33u, 64u}) {
    std::vector<int> which(threads), out(3 * threads, -1);
    for (uint32_t t = 0; t < threads; ++t) which[t] = t * 7 % 64;
    LaunchGeometry geometry;
    geometry.block[0] = threads;
    ExpectSuccess(program.Run(geometry, table, which.data(), out.data()));
    for (uint32_t t = 0; t < threads; ++t) {
      int sum = 0;
      for (int i = 0; i < which[t] % 5; ++i) {
        sum += table.v[(which[t] + i) % 64];
      }
      EXPECT_EQ(out[3 * t], table.v[t]) << t << " of " << threads;
      EXPECT_EQ(out[3 * t + 1], table.v[which[t]]) << t << " of " << threads;
      EXPECT_EQ(out[3 * t + 2], sum) << t << " of " << threads;
    }
  }
}

// By name and through a register. In a function .param means its own
// parameters and results.
constexpr char kFunctionsParameters[] = R"(
.version 8.0
.target sm_80
.address_size 64
.func (.param .align 4 .b8 r[16]) f(.param .align 4 .b8 p[64], .param .b32 i)
{
  .reg .b32 %r<4>;
  .reg .b64 %a<6>;
  ld.param.u32 %r1, [i];
  mov.b64 %a1, p;
  mul.wide.u32 %a2, %r1, 4;
  add.s64 %a3, %a1, %a2;
  ld.param.u32 %r2, [%a3];
  mov.b64 %a4, r;
  and.b64 %a2, %a2, 12;
  add.s64 %a5, %a4, %a2;
  mov.u32 %r3, 0;
  st.param.b32 [r], %r3;
  st.param.b32 [r+4], %r3;
  st.param.b32 [r+8], %r3;
  st.param.b32 [r+12], %r3;
  st.param.b32 [%a5], %r2;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<8>, %i;
  .reg .b64 %a<4>, %f;
  .reg .pred %p<2>;
  ld.param.u64 %a1, [out];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %a2, %r0, 16;
  add.s64 %a1, %a1, %a2;
  and.b32 %r1, %r0, 15;
  mov.b64 %f, f;
  {
    .param .align 4 .b8 q[64];
    .param .b32 j;
    .param .align 4 .b8 s[16];
    mov.u32 %i, 100;
    STORES
    st.param.b32 [j], %r1;
    CALL
    ld.param.b32 %r4, [s];
    ld.param.b32 %r5, [s+4];
    ld.param.b32 %r6, [s+8];
    ld.param.b32 %r7, [s+12];
  }
  st.global.b32 [%a1], %r4;
  st.global.b32 [%a1+4], %r5;
  st.global.b32 [%a1+8], %r6;
  st.global.b32 [%a1+12], %r7;
  ret;
}
)";

TEST(ParameterTest, AFunctionFindsItsOwnThroughARegister) {
  std::string stores;
  for (int i = 0; i < 16; ++i) {
    stores += "mad.lo.u32 %i, %r0, 100, " + std::to_string(i) +
              "; st.param.b32 [q+" + std::to_string(4 * i) + "], %i;\n";
  }
  for (const std::string call :
       {"call (s), f, (q, j);",
        "prototype: .callprototype (.param .align 4 .b8 _[16]) _ (.param "
        ".align 4 .b8 _[64], .param .b32 _);\ncall (s), %f, (q, j), "
        "prototype;"}) {
    std::string ptx = kFunctionsParameters;
    ptx.replace(ptx.find("STORES"), 6, stores);
    ptx.replace(ptx.find("CALL"), 4, call);
    const auto executable = LoadPtx(ptx);
    ASSERT_NE(executable, nullptr);
    for (const uint32_t threads : {5u, 32u, 40u}) {
      std::vector<uint32_t> out(4 * threads, 1);
      LaunchGeometry geometry;
      geometry.block[0] = threads;
      const uint32_t* arguments[] = {out.data()};
      ExpectSuccess(executable->Launch(0, geometry, arguments, nullptr));
      for (uint32_t i = 0; i < 4 * threads; ++i) {
        const uint32_t t = i / 4, element = t % 16;
        EXPECT_EQ(out[i], i % 4 == element % 4 ? 100 * t + element : 0)
            << call << ": " << i;
      }
    }
  }
}

// Compilers read registers that nothing writes, such as the padding of a
// struct that a shuffle moves; and they take the bits of an index for a float.
TEST(RegisterTest, WhatNothingWritesAndBitsOfAnIndexAreNoReasonToRefuse) {
  const auto executable = LoadPtx(R"(
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<8>, %u<4>;
  .reg .f32 %f<4>;
  .reg .f64 %d<4>;
  .reg .b64 %a<4>;
  .reg .pred %p<4>;
  ld.param.u64 %a0, [out];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %a0, %r0, 16, %a0;
  shfl.sync.up.b32 %r1, %u1, 1, 0, -1;
  setp.lt.u32 %p1, %r0, 3;
  selp.b32 %r2, %u2, %r0, %p1;
  match.any.sync.b32 %r3, %u3, -1;
  mov.b32 %f1, %r0;
  add.u32 %r4, %r0, 0x3f800000;
  mov.b32 %f2, %r4;
  cvt.u64.u32 %a1, %r0;
  mov.b64 %d1, %a1;
  setp.gt.f64 %p2, %d1, 0d0000000000000000;
  selp.u32 %r5, 1, 0, %p2;
  st.global.f32 [%a0], %f1;
  st.global.f32 [%a0+4], %f2;
  st.global.u32 [%a0+8], %r2;
  st.global.u32 [%a0+12], %r5;
  ret;
})");
  ASSERT_NE(executable, nullptr);
  std::vector<uint32_t> out(4 * 64, 99);
  const void* const arguments[] = {out.data()};
  ExpectSuccess(executable->Launch(0, Warps(2), arguments, nullptr));
  for (uint32_t t = 0; t < 64; ++t) {
    EXPECT_EQ(out[4 * t], t);
    EXPECT_EQ(out[4 * t + 1], t + 0x3f800000);
    if (t >= 3) {
      EXPECT_EQ(out[4 * t + 2], t);
    }
    EXPECT_EQ(out[4 * t + 3], t > 0 ? 1u : 0u);
  }
}

// A register that is read before the loop that writes it.
TEST(RegisterTest, ARegisterThatWaitsForItselfHasAShape) {
  const auto executable = LoadPtx(R"(
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<4>, %sum, %i;
  .reg .b64 %a;
  .reg .pred %p;
  ld.param.u64 %a, [out];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %a, %r0, 4, %a;
  mov.u32 %i, 0;
L: and.b32 %sum, %sum, 0;
  add.u32 %sum, %sum, %r0;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 3;
  @%p bra L;
  st.global.u32 [%a], %sum;
  ret;
})");
  ASSERT_NE(executable, nullptr);
  std::vector<uint32_t> out(64, 99);
  const void* const arguments[] = {out.data()};
  ExpectSuccess(executable->Launch(0, Warps(2), arguments, nullptr));
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], t);
}

// Compilers align what they pass further than its size goes.
TEST(ParameterTest, TheEndOfAnArgumentThatIsNoMultipleOfItsAlignmentArrives) {
  const auto executable = LoadPtx(R"(
.version 8.0
.target sm_80
.address_size 64
.func (.param .align 8 .b8 r[12]) f(.param .align 16 .b8 p[13])
{
  .reg .b32 %r<5>;
  ld.param.u32 %r1, [p];
  ld.param.u32 %r2, [p+4];
  ld.param.u32 %r3, [p+8];
  ld.param.u8 %r4, [p+12];
  add.u32 %r1, %r1, %r4;
  st.param.b32 [r], %r1;
  st.param.b32 [r+4], %r2;
  st.param.b32 [r+8], %r3;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %a<4>, %f;
  ld.param.u64 %a1, [out];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %a2, %r0, 12;
  add.s64 %a1, %a1, %a2;
  mov.b64 %f, f;
  {
    .param .align 16 .b8 q[13];
    .param .align 8 .b8 s[12];
    st.param.b32 [q], %r0;
    st.param.b32 [q+4], 20;
    add.u32 %r1, %r0, 30;
    st.param.b32 [q+8], %r1;
    st.param.b8 [q+12], 100;
    prototype: .callprototype (.param .align 8 .b8 _[12]) _ (.param .align 16 .b8 _[13]);
    call (s), %f, (q), prototype;
    ld.param.b32 %r4, [s];
    ld.param.b32 %r5, [s+4];
    ld.param.b32 %r6, [s+8];
  }
  st.global.b32 [%a1], %r4;
  st.global.b32 [%a1+4], %r5;
  st.global.b32 [%a1+8], %r6;
  ret;
}
)");
  ASSERT_NE(executable, nullptr);
  std::vector<uint32_t> out(3 * 40, 1);
  LaunchGeometry geometry;
  geometry.block[0] = 40;
  const uint32_t* arguments[] = {out.data()};
  ExpectSuccess(executable->Launch(0, geometry, arguments, nullptr));
  for (uint32_t t = 0; t < 40; ++t) {
    EXPECT_EQ(out[3 * t], t + 100) << t;
    EXPECT_EQ(out[3 * t + 1], 20u) << t;
    EXPECT_EQ(out[3 * t + 2], t + 30) << t;
  }
}

// Of a variable that passes an argument, as for ptxas.
TEST(ParameterTest, TheAddressOfAnArgumentIsRefused) {
  std::unique_ptr<Executable> executable;
  std::string log;
  const CUresult result = Executable::Load(R"(
.version 8.0
.target sm_80
.address_size 64
.func f(.param .b32 p) { ret; }
.visible .entry k()
{
  .reg .b64 %a<2>;
  .param .b32 q;
  st.param.b32 [q], 1;
  mov.b64 %a1, q;
  call f, (q);
  ret;
}
)",
                                           &executable, &log);
  EXPECT_NE(result, CUDA_SUCCESS);
  EXPECT_NE(log.find("address of a parameter of a call"), std::string::npos)
      << log;
}

// The block OUT is in no loop, but lanes come to it one after the other, since
// it lies in front of the loop that they leave. %r5 is written there alone, and
// needed behind the loop.
constexpr char kBlockInFront[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 data)
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [data];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d3, %r1, 4;
  add.s64 %d4, %d1, %d3;
  add.s64 %d5, %d2, %d3;
  ld.global.u32 %r2, [%d5];
  mov.u32 %r3, 0;
  bra LOOP;
OUT:
  mad.lo.u32 %r5, %r3, 1000, %r1;
  bra END;
LOOP:
  add.u32 %r3, %r3, 1;
  setp.ge.u32 %p1, %r3, %r2;
  @%p1 bra OUT;
  bra LOOP;
END:
  st.global.u32 [%d4], %r5;
  ret;
}
)";

TEST(MeetingTest, ABlockThatLanesReachOneAfterTheOtherKeepsEachOnesValues) {
  const auto executable = LoadPtx(kBlockInFront);
  ASSERT_NE(executable, nullptr);
  for (const uint32_t threads : {5u, 32u}) {
    std::vector<uint32_t> rounds(32), out(32, 0);
    for (uint32_t t = 0; t < threads; ++t) rounds[t] = 1 + t * 7 % 4;
    LaunchGeometry geometry;
    geometry.block[0] = threads;
    const uint32_t* arguments[] = {out.data(), rounds.data()};
    ExpectSuccess(executable->Launch(0, geometry, arguments, nullptr));
    for (uint32_t t = 0; t < threads; ++t) {
      EXPECT_EQ(out[t], 1000 * rounds[t] + t)
          << "lane " << t << " of " << threads;
    }
  }
}

// The second half goes on when the first one waits at the barrier.
TEST(MeetingTest, HalvesOfAWarpThatMeetApartKeepTheirValues) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, const int* in) {
  int t = threadIdx.x;
  int lane = t % 32;
  unsigned half = lane < 16 ? 0xFFFFu : 0xFFFF0000u;
  int other = __shfl_xor_sync(half, in[t], 1);
  int mine = other * 3 + in[t] + __popc(__ballot_sync(half, in[t] % 3));
  __syncthreads();
  out[t] = mine * 2 + other;
})");
  for (const uint32_t threads : {32u, 56u, 64u}) {
    std::vector<int> in(threads), out(threads, 0);
    std::vector<int> votes(4, 0);  // of each half
    for (uint32_t t = 0; t < threads; ++t) {
      in[t] = static_cast<int>(t * t + t / 16);
      votes[t / 16] += in[t] % 3 != 0 ? 1 : 0;
    }
    LaunchGeometry geometry;
    geometry.block[0] = threads;
    ExpectSuccess(program.Run(geometry, out.data(), in.data()));
    for (uint32_t t = 0; t < threads; ++t) {
      const int mine = in[t ^ 1] * 3 + in[t] + votes[t / 16];
      EXPECT_EQ(out[t], mine * 2 + in[t ^ 1]) << t << " of " << threads;
    }
  }
}

constexpr char kVotesAtTheMeeting[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d3, %d1, %d2;
  mov.u32 %r2, %laneid;
  setp.lt.u32 %p1, %r2, 16;
  selp.b32 %r3, 0xFFFF, 0xFFFF0000, %p1;
  and.b32 %r4, %r1, 3;
  setp.eq.u32 %p2, %r4, 0;
AGAIN:
  st.global.u32 [%d3], %r4;
  sub.u32 %r4, %r4, 1;
  setp.lt.s32 %p1, %r4, 0;
  @!%p1 bra AGAIN;
  vote.sync.ballot.b32 %r5, %p2, %r3;
  st.global.u32 [%d3], %r5;
  ret;
}
)";

// Full code leaves a vote whose members are in a register to masked code, and
// masked code must not hand the warp back there when all lanes have met.
TEST(MeetingTest, AWarpThatMeetsInFrontOfAVoteOfHalvesGoesOn) {
  const auto executable = LoadPtx(kVotesAtTheMeeting);
  ASSERT_NE(executable, nullptr);
  for (const uint32_t threads : {20u, 32u, 64u}) {
    std::vector<uint32_t> out(threads, 0), votes(4, 0);
    for (uint32_t t = 0; t < threads; t += 4) votes[t / 16] |= 1u << t % 32;
    LaunchGeometry geometry;
    geometry.block[0] = threads;
    const uint32_t* arguments[] = {out.data()};
    ExpectSuccess(executable->Launch(0, geometry, arguments, nullptr));
    for (uint32_t t = 0; t < threads; ++t) {
      EXPECT_EQ(out[t], votes[t / 16]) << "lane " << t << " of " << threads;
    }
  }
}

}  // namespace
}  // namespace holdfast::software
