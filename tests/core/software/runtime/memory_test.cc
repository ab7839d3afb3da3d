// SPDX-License-Identifier: Apache-2.0
//
// Alignment, asynchronous copies, barriers in shared memory, state spaces and
// the rarer atomics.
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

void ExpectMisaligned(const LaunchOutcome& outcome, int thread, int bytes) {
  EXPECT_EQ(outcome.result, CUDA_ERROR_MISALIGNED_ADDRESS) << outcome.message;
  const std::string where = "thread (" + std::to_string(thread) + ",0,0)";
  const std::string why = "is not a multiple of " + std::to_string(bytes);
  EXPECT_NE(outcome.message.find(where), std::string::npos) << outcome.message;
  EXPECT_NE(outcome.message.find(why), std::string::npos) << outcome.message;
}

constexpr char kSharedEnds[] = R"(
extern __shared__ int dynamic[];
extern "C" __global__ void k(int* out, int at) {
  __shared__ int own[2];
  own[threadIdx.x % 2] = 7;
  dynamic[at] = 5;
  out[0] = dynamic[at] + own[0];
})";

// An access beyond the block's own shared memory is a fault, as on a GPU, at
// the latest behind the page with its last byte.
TEST(SharedMemoryTest, ABlockReachesWhatItsLaunchGaveIt) {
  KernelProgram program(kSharedEnds);
  int out[1] = {};
  LaunchGeometry geometry = Geometry(1, 1);
  for (const size_t bytes : {65536, 16384, 232448 - 16, 4096 - 16}) {
    geometry.dynamic_shared_bytes = bytes;
    out[0] = 0;
    ExpectSuccess(program.Run(geometry, +out, static_cast<int>(bytes / 4) - 1));
    EXPECT_EQ(out[0], 12);
    const LaunchOutcome outcome =
        program.Run(geometry, +out, static_cast<int>(bytes / 4) + 1024);
    EXPECT_EQ(outcome.result, CUDA_ERROR_ILLEGAL_ADDRESS) << outcome.message;
    EXPECT_NE(outcome.message.find("shared memory, of which the block has " +
                                   std::to_string(bytes + 16)),
              std::string::npos)
        << outcome.message;
  }
}

TEST(SharedMemoryTest, OfALaunchThatAsksForNoneOnlyTheStaticPartIsThere) {
  KernelProgram program(kSharedEnds);
  int out[1] = {};
  LaunchGeometry geometry = Geometry(1, 1);
  geometry.dynamic_shared_bytes = 65536;
  ExpectSuccess(program.Run(geometry, +out, 4096));
  geometry.dynamic_shared_bytes = 0;
  const LaunchOutcome outcome = program.Run(geometry, +out, 4096);
  EXPECT_EQ(outcome.result, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(outcome.message.find("of which the block has 8"), std::string::npos)
      << outcome.message;
}

// 64 KiB is what every GPU has, for all variables together.
TEST(ConstantMemoryTest, AModuleHasAtMost64KiBOfIt) {
  const auto load = [](const std::string& variables) {
    std::unique_ptr<Executable> executable;
    std::string log;
    const CUresult result =
        Executable::Load(".version 8.0\n.target sm_80\n.address_size 64\n" +
                             variables + "\n.visible .entry k() { ret; }\n",
                         &executable, &log);
    return result == CUDA_SUCCESS ? std::string("loaded") : log;
  };
  EXPECT_EQ(load(".const .align 4 .b8 a[65536];"), "loaded");
  EXPECT_EQ(
      load(".const .align 4 .b8 a[65540];"),
      "4:21: with a the module's constants have 65540 bytes; the limit of "
      "constant memory is 65536");
  EXPECT_EQ(load(".const .align 4 .b8 a[65532];\n.const .u32 b;"), "loaded");
  EXPECT_EQ(
      load(".const .align 4 .b8 a[65532];\n.const .align 8 .u32 b;"),
      "5:22: with b the module's constants have 65540 bytes; the limit of "
      "constant memory is 65536");
  EXPECT_EQ(load(".global .align 4 .b8 a[65540];"), "loaded");
}

TEST(AlignmentTest, NeighboursThatAreAllMisaligned) {
  KernelProgram program(R"(
extern "C" __global__ void k(char* out) { ((int*)out)[threadIdx.x] = 1; })");
  alignas(16) char out[260] = {};
  ExpectSuccess(program.Run(Geometry(1, 64), &out[4]));
  ExpectMisaligned(program.Run(Geometry(1, 64), &out[2]), 0, 4);
  ExpectMisaligned(program.Run(Geometry(1, 64), &out[1]), 0, 4);
}

TEST(AlignmentTest, OneThreadOfMany) {
  KernelProgram program(R"(
extern "C" __global__ void k(char* data, const int* at, int* out) {
  out[threadIdx.x] = *(int*)(data + at[threadIdx.x]);
})");
  alignas(16) char data[256] = {};
  int at[64], out[64];
  for (int i = 0; i < 64; ++i) at[i] = i * 28 % 252;
  ExpectSuccess(program.Run(Geometry(1, 64), +data, +at, +out));
  at[37] += 1;
  at[51] += 2;
  ExpectMisaligned(program.Run(Geometry(1, 64), +data, +at, +out), 37, 4);
}

TEST(AlignmentTest, ThreadsThatStayAwayDoNotCount) {
  KernelProgram program(R"(
extern "C" __global__ void k(char* data, const int* at, const int* take) {
  if (take[threadIdx.x]) *(short*)(data + at[threadIdx.x]) = 5;
})");
  alignas(16) char data[256] = {};
  int at[64], take[64];
  for (int i = 0; i < 64; ++i) {
    at[i] = 3 * i;
    take[i] = i % 2 == 0;
  }
  ExpectSuccess(program.Run(Geometry(1, 64), +data, +at, +take));
  take[45] = 1;
  ExpectMisaligned(program.Run(Geometry(1, 64), +data, +at, +take), 45, 2);
}

TEST(AlignmentTest, RowsOfABlock) {
  KernelProgram program(R"(
extern "C" __global__ void k(char* out, int pitch, int width) {
  *(int*)(out + threadIdx.y * pitch + threadIdx.x * width) = 1;
})");
  LaunchGeometry geometry = Geometry(1, 8);
  geometry.block[1] = 8;
  alignas(16) char out[512] = {};
  ExpectSuccess(program.Run(geometry, +out, 36, 4));
  const LaunchOutcome row = program.Run(geometry, +out, 33, 4);
  EXPECT_NE(row.message.find("thread (0,1,0)"), std::string::npos)
      << row.message;
  ExpectMisaligned(program.Run(geometry, +out, 36, 6), 1, 4);
}

TEST(AlignmentTest, VectorsAsAWhole) {
  KernelProgram program(R"(
extern "C" __global__ void k(char* out) {
  ((float4*)out)[threadIdx.x] = make_float4(1, 2, 3, 4);
})");
  alignas(16) char out[1040] = {};
  ExpectSuccess(program.Run(Geometry(1, 64), &out[16]));
  ExpectMisaligned(program.Run(Geometry(1, 64), &out[8]), 0, 16);
}

TEST(AlignmentTest, AtomicsAndSharedMemory) {
  KernelProgram atomic(R"(
extern "C" __global__ void k(char* out) {
  atomicAdd((unsigned long long*)(out + (threadIdx.x == 9 ? 4 : 8)), 1ull);
})");
  alignas(16) char out[32] = {};
  ExpectMisaligned(atomic.Run(Geometry(1, 32), +out), 9, 8);
  KernelProgram shared(R"(
extern "C" __global__ void k(int* out, int by) {
  __shared__ char s[512];
  int t = threadIdx.x;
  *(volatile int*)(s + t * 4 + by) = t;
  out[t] = *(volatile int*)(s + t * 4 + by);
})");
  int back[64];
  ExpectSuccess(shared.Run(Geometry(1, 64), +back, 4));
  EXPECT_EQ(back[63], 63);
  ExpectMisaligned(shared.Run(Geometry(1, 64), +back, 2), 0, 4);
}

constexpr char kCopies[] = R"(
__device__ unsigned Shared(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(const unsigned char* in, const unsigned* sizes, unsigned char* out) {
  __shared__ __align__(16) unsigned char s[64 * 64];
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 64; ++i) s[t * 64 + i] = 0xEE;
  const unsigned char* from = in + t * 64;
  unsigned to = Shared(s + t * 64);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(from));
  asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 8, %2;"
               :: "r"(to + 8), "l"(from + 8), "r"(sizes[t] < 8 ? sizes[t] : 8));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to + 16), "l"(from + 16), "r"(sizes[t]));
  asm volatile("cp.async.commit_group;");
  asm volatile("{ .reg .pred p; .reg .b64 c; setp.ge.u32 p, %2, 8; createpolicy.fractional.L2::evict_first.b64 c, 1.0;"
               " cp.async.cg.shared::cta.global.L2::cache_hint [%0], [%1], 16, p, c; }"
               :: "r"(to + 32), "l"(from + 32), "r"(sizes[t]));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 1;");
  asm volatile("cp.async.wait_all;");
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < 64; ++i) out[t * 64 + i] = s[t * 64 + i];
})";

TEST(AsyncCopyTest, BytesThatAreNotReadBecomeZeros) {
  KernelProgram program(kCopies);
  std::vector<unsigned char> in(64 * 64), out(64 * 64);
  alignas(16) unsigned char aligned[64 * 64];
  std::vector<unsigned> sizes(64);
  for (int i = 0; i < 64 * 64; ++i)
    in[i] = static_cast<unsigned char>(i * 7 + 1);
  std::memcpy(aligned, in.data(), in.size());
  for (int t = 0; t < 64; ++t) sizes[t] = t % 17;
  ExpectSuccess(
      program.Run(Geometry(1, 64), +aligned, sizes.data(), out.data()));
  for (int t = 0; t < 64; ++t) {
    for (int i = 0; i < 64; ++i) {
      int expected = 0xEE;
      const int size = static_cast<int>(sizes[t]);
      if (i < 4) expected = in[t * 64 + i];
      if (i >= 8 && i < 16) expected = i - 8 < size ? in[t * 64 + i] : 0;
      if (i >= 16 && i < 32) expected = i - 16 < size ? in[t * 64 + i] : 0;
      if (i >= 32 && i < 48) expected = size < 8 ? in[t * 64 + i] : 0;
      ASSERT_EQ(out[t * 64 + i], expected) << "thread " << t << ", byte " << i;
    }
  }
}

TEST(MbarrierTest, NeighboursWaitForEachOtherInEveryPhase) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, int rounds) {
  __shared__ unsigned long long bar;
  __shared__ int s[96];
  int t = threadIdx.x;
  unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(96));
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    s[t] = t * rounds + round;
    for (int half = 0; half < 2; ++half) {
      unsigned long long state;
      asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
      unsigned done = 0;
      while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at), "l"(state) : "memory");
      }
      if (half == 0) sum += s[(t + 37) % 96];
    }
  }
  out[t] = sum;
})");
  const int rounds = 5;
  int out[96] = {};
  ExpectSuccess(program.Run(Geometry(1, 96), +out, rounds));
  for (int t = 0; t < 96; ++t) {
    EXPECT_EQ(out[t], (t + 37) % 96 * rounds * rounds + 10) << t;
  }
}

TEST(MbarrierTest, CountsBytesStatesAndParities) {
  KernelProgram program(R"(
#define BAR(text, ...) asm volatile(text :: "r"(at), ##__VA_ARGS__ : "memory")
__device__ unsigned Done(unsigned at, unsigned parity) {
  unsigned done;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(at), "r"(parity) : "memory");
  return done;
}
extern "C" __global__ void k(unsigned* out) {
  __shared__ unsigned long long bar;
  unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
  unsigned long long state, count;
  BAR("mbarrier.init.shared::cta.b64 [%0], %1;", "r"(3));
  asm volatile("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %0, [%1], 2;" : "=l"(state) : "r"(at) : "memory");
  asm volatile("{ .reg .u32 c; mbarrier.pending_count.b64 c, %1; cvt.u64.u32 %0, c; }" : "=l"(count) : "l"(state));
  out[0] = (unsigned)count;
  out[1] = Done(at, 0);
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], 32;" : "=l"(state) : "r"(at) : "memory");
  out[2] = Done(at, 0);
  BAR("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;", "r"(20));
  out[3] = Done(at, 0);
  BAR("mbarrier.complete_tx.shared::cta.b64 [%0], %1;", "r"(12));
  out[4] = Done(at, 0);
  out[5] = Done(at, 1);
  // The next phase, of which one participant takes its leave.
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 2;" :: "r"(at) : "memory");
  out[6] = Done(at, 1);
  BAR("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;", "r"(8));
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 2;" : "=l"(state) : "r"(at) : "memory");
  out[7] = Done(at, 0);
  BAR("mbarrier.complete_tx.shared::cta.b64 [%0], %1;", "r"(8));
  out[8] = Done(at, 0);
  asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" :: "r"(at) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at) : "memory");
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
  out[9] = Done(at, 1);
  BAR("mbarrier.inval.shared.b64 [%0];");
})");
  unsigned out[10] = {};
  ExpectSuccess(program.Run(Geometry(1, 1), +out));
  const std::vector<unsigned> expected = {3, 0, 0, 0, 1, 0, 1, 0, 1, 1};
  EXPECT_EQ(std::vector<unsigned>(out, out + 10), expected);
}

TEST(SpaceTest, AddressesKnowWhereTheyLie) {
  KernelProgram program(R"(
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int variable;
__device__ __noinline__ unsigned Spaces(const void* p) {
  unsigned bits = 0;
#define ASK(i, space) \
  asm("{ .reg .pred p; isspacep." space " p, %1; @p or.b32 %0, %0, %2; }" : "+r"(bits) : "l"(p), "n"(1 << i));
  ASK(0, "global") ASK(1, "shared") ASK(2, "local") ASK(3, "const") ASK(4, "shared::cta")
  return bits;
}
extern "C" __global__ void k(unsigned* out, int n) {
  __shared__ int s[8];
  int own[4];
  for (int i = 0; i < n; ++i) own[i] = i;
  unsigned* o = out + threadIdx.x * 6;
  o[0] = Spaces(out); o[1] = Spaces(&variable); o[2] = Spaces(s + threadIdx.x % 8);
  o[3] = Spaces(own + threadIdx.x % n); o[4] = Spaces(table + threadIdx.x % 4);
  o[5] = Spaces(threadIdx.x % 2 ? (void*)s : (void*)own);
})");
  std::vector<unsigned> out(64 * 6);
  ExpectSuccess(program.Run(Geometry(1, 64), out.data(), 4));
  for (int t = 0; t < 64; ++t) {
    const unsigned* o = &out[t * 6];
    EXPECT_EQ(o[0], 1u);
    EXPECT_EQ(o[1], 1u);
    EXPECT_EQ(o[2], 18u);
    EXPECT_EQ(o[3], 4u);
    EXPECT_EQ(o[4], 8u);
    EXPECT_EQ(o[5], t % 2 ? 18u : 4u) << t;
  }
}

TEST(AtomicTest, HalvesAndVectorsAddUpFromAllThreads) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* halves, float* floats, unsigned short* half) {
  unsigned old;
  asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "l"(halves), "r"(0x40003C00));
  asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" :: "l"(halves + 1), "r"(0x40003F80));
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
               :: "l"(floats), "f"(1.0f), "f"(2.0f), "f"(0.5f), "f"((float)threadIdx.x));
  asm volatile("red.add.noftz.f16 [%0], %1;" :: "l"(half), "h"((unsigned short)0x3C00));
  asm volatile("red.global.max.noftz.v2.f16 [%0], {%1, %1};" :: "l"(half + 2), "h"((unsigned short)(0x3C00 + threadIdx.x)));
  __shared__ unsigned s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  asm volatile("{ .reg .u64 a; cvta.to.shared.u64 a, %0; red.shared.add.noftz.f16x2 [a], %1; }" :: "l"(&s), "r"(0x3C003C00));
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) halves[2] = s;
})");
  alignas(16) unsigned halves[4] = {};
  alignas(16) float floats[4] = {};
  alignas(16) unsigned short half[4] = {};
  ExpectSuccess(program.Run(Geometry(4, 64), +halves, +floats, +half));
  EXPECT_EQ(halves[0], 0x60005C00u);  // 512 and 256
  EXPECT_EQ(halves[1], 0x44004380u);
  EXPECT_EQ(halves[2], 0x54005400u);  // 64
  EXPECT_EQ(floats[0], 256.0f);
  EXPECT_EQ(floats[1], 512.0f);
  EXPECT_EQ(floats[2], 128.0f);
  EXPECT_EQ(floats[3], 4 * 2016.0f);
  EXPECT_EQ(half[0], 0x5C00);
  EXPECT_EQ(half[2], 0x3C3F);
  EXPECT_EQ(half[3], 0x3C3F);
}

TEST(AtomicTest, SixteenBytesAtOnce) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned long long* counter, unsigned long long* place, unsigned long long* out) {
  // Both halves go up together, by compare and swap.
  unsigned long long low = 0, high = 0, seen_low, seen_high;
  for (;;) {
    asm volatile("{ .reg .b128 e, n, o; mov.b128 e, {%2, %3}; mov.b128 n, {%4, %5};"
                 " atom.global.cas.b128 o, [%6], e, n; mov.b128 {%0, %1}, o; }"
                 : "=l"(seen_low), "=l"(seen_high)
                 : "l"(low), "l"(high), "l"(low + 1), "l"(high + 3), "l"(counter) : "memory");
    if (seen_low == low && seen_high == high) break;
    low = seen_low; high = seen_high;
  }
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("{ .reg .b128 n, o; mov.b128 n, {%2, %2}; atom.global.exch.b128 o, [%3], n; mov.b128 {%0, %1}, o; }"
               : "=l"(low), "=l"(high) : "l"((unsigned long long)t + 1), "l"(place) : "memory");
  out[2 * t] = low; out[2 * t + 1] = high;
  asm volatile("{ .reg .b128 v; ld.global.b128 v, [%0]; st.global.b128 [%1], v; }" :: "l"(counter), "l"(counter + 2) : "memory");
})");
  alignas(16) uint64_t counter[4] = {}, place[2] = {};
  std::vector<uint64_t> out(2 * 128);
  ExpectSuccess(program.Run(Geometry(2, 64), +counter, +place, out.data()));
  EXPECT_EQ(counter[0], 128u);
  EXPECT_EQ(counter[1], 3 * 128u);
  std::vector<bool> seen(130, false);
  for (int t = 0; t < 128; ++t) {
    ASSERT_EQ(out[2 * t], out[2 * t + 1]);
    ASSERT_FALSE(seen[out[2 * t]]) << "twice " << out[2 * t];
    seen[out[2 * t]] = true;
  }
}

TEST(HintTest, HintsChangeNothing) {
  KernelProgram program(R"(
extern "C" __global__ void k(const float* in, float* out) {
  unsigned long long keep, drop, part;
  const float* from = in + threadIdx.x * 4;
  float* to = out + threadIdx.x * 4;
  asm("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(keep));
  asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(drop));
  asm("createpolicy.range.global.L2::evict_last.b64 %0, [%1], 64, 128;" : "=l"(part) : "l"(in));
  asm volatile("prefetch.global.L2 [%0]; applypriority.global.L2::evict_normal [%0], 128;" :: "l"(in));
  asm volatile("griddepcontrol.wait; griddepcontrol.launch_dependents;");
  float a, b, c, d;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(from), "l"(keep));
  asm volatile("st.global.L2::cache_hint.v2.f32 [%0], {%1, %2}, %3;" :: "l"(to), "f"(a), "f"(b), "l"(drop));
  asm volatile("st.global.L1::evict_last.L2::cache_hint.f32 [%0], %1, %2;" :: "l"(to + 2), "f"(c), "l"(part));
  asm volatile("red.global.add.L2::cache_hint.f32 [%0], %1, %2;" :: "l"(to + 3), "f"(d), "l"(keep));
  asm volatile("fence.proxy.async; fence.proxy.async.shared::cta; fence.mbarrier_init.release.cluster; membar.proxy.alias;");
})");
  std::vector<float> in(256), out(256, 0);
  std::iota(in.begin(), in.end(), 1.0f);
  ExpectSuccess(program.Run(Geometry(1, 64), in.data(), out.data()));
  EXPECT_EQ(out, in);
}

}  // namespace
}  // namespace holdfast::software
