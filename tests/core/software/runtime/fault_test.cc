// SPDX-License-Identifier: Apache-2.0
//
// The report of a kernel that faults: kernel, block, thread, line of the PTX
// and of the source.
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/software/abi/window.h"
#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

// This program's own, before anything asks for it.
const int kCacheIsSet =
    setenv("HOLDFAST_SOFTWARE_CACHE",
           (testing::TempDir() + "/holdfast-fault-test").c_str(), 1);

// Memory that ends where nothing is mapped.
class Ending {
 public:
  // An array of which element `count` is the first that faults.
  template <typename T>
  T* Of(size_t count) const {
    return reinterpret_cast<T*>(memory_->data() + memory_->bytes()) - count;
  }

 private:
  const std::unique_ptr<WindowMemory> memory_ = WindowMemory::Map(1 << 16);
};

constexpr CUresult kAddress = CUDA_ERROR_ILLEGAL_ADDRESS;

// The number of the line of `ptx` that holds `text`.
int LineOf(const std::string& ptx, const std::string& text) {
  const size_t at = ptx.find(text);
  EXPECT_NE(at, std::string::npos) << text << "\n" << ptx;
  int line = 1;
  for (size_t i = 0; i < at && at != std::string::npos; ++i) {
    if (ptx[i] == '\n') ++line;
  }
  return line;
}

std::string Expected(const KernelProgram& program, const std::string& where,
                     const std::string& text) {
  return "kernel k, " + where + ", PTX line " +
         std::to_string(LineOf(program.ptx(), text));
}

// Where several threads fault, or a load and the store behind it are one
// machine instruction, the processor decides which of them is met first.
void ExpectOneFaultOf(const KernelProgram& program,
                      const LaunchOutcome& outcome,
                      const std::vector<std::string>& places,
                      const std::vector<std::string>& texts) {
  EXPECT_EQ(outcome.result, kAddress) << outcome.message;
  for (const std::string& where : places) {
    for (const std::string& text : texts) {
      const std::string expected = Expected(program, where, text);
      if (outcome.message.starts_with(expected + ":")) return;
    }
  }
  ADD_FAILURE() << outcome.message << "\n" << program.ptx();
}

// `where` is "block (2,0,0), thread (44,0,0)"; `text` stands in the PTX line.
void ExpectFault(const KernelProgram& program, const LaunchOutcome& outcome,
                 CUresult result, const std::string& where,
                 const std::string& text) {
  EXPECT_EQ(outcome.result, result) << outcome.message;
  const std::string expected = Expected(program, where, text);
  EXPECT_EQ(outcome.message.substr(0, expected.size()), expected)
      << outcome.message << "\n"
      << program.ptx();
}

TEST(FaultTest, AStoreOfNeighboursNamesTheThreadOutside) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
})");
  const Ending memory;
  ExpectFault(program, program.Run(Geometry(3, 128), memory.Of<int>(319)),
              kAddress, "block (2,0,0), thread (63,0,0)", "st.global.u32");
}

TEST(FaultTest, AWriteToReadOnlyMemoryIsNoMissingMemory) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x] + 1;
})");
  const auto memory = WindowMemory::Map(1 << 16);
  ASSERT_EQ(mprotect(memory->data(), memory->bytes(), PROT_READ), 0);
  int* const values = reinterpret_cast<int*>(memory->data());
  const LaunchOutcome outcome =
      program.Run(Geometry(1, 32), values + 64, values);
  EXPECT_EQ(outcome.result, kAddress);
  EXPECT_NE(outcome.message.find("where memory is read-only"),
            std::string::npos)
      << outcome.message;
}

// Accesses, one of each lane's.
TEST(FaultTest, StrongVectorsNameTheirThread) {
  KernelProgram program(R"(
struct alignas(16) Pair { unsigned long long a, b; };
extern "C" __global__ void k(Pair* at, int step, int skewed) {
  if (threadIdx.x % 3 == 2) return;
  char* place = (char*)(at + threadIdx.x * step);
  if (threadIdx.x == skewed) place += 8;
  unsigned long long a, b;
  asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(place));
  asm volatile("st.relaxed.gpu.v2.u64 [%0], {%1, %2};" :: "l"(place), "l"(b), "l"(a + 1));
})");
  struct alignas(16) Pair {
    uint64_t a, b;
  };
  const Ending memory;
  ExpectFault(program, program.Run(Geometry(1, 64), memory.Of<Pair>(43), 1, -1),
              kAddress, "block (0,0,0), thread (43,0,0)", "ld.relaxed");
  std::vector<Pair> pairs(64 * 3);
  ExpectFault(program, program.Run(Geometry(1, 64), pairs.data(), 3, 36),
              CUDA_ERROR_MISALIGNED_ADDRESS, "block (0,0,0), thread (36,0,0)",
              "ld.relaxed");
}

TEST(FaultTest, WideElementsAndBytesAreToldApart) {
  KernelProgram doubles(R"(
extern "C" __global__ void k(double* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] += 1;
})");
  KernelProgram bytes(R"(
extern "C" __global__ void k(unsigned char* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] += 1;
})");
  const Ending memory;
  for (const int at : {71, 75, 79, 95}) {
    const std::string where =
        "block (0,0,0), thread (" + std::to_string(at) + ",0,0)";
    ExpectOneFaultOf(doubles,
                     doubles.Run(Geometry(1, at + 1), memory.Of<double>(at)),
                     {where}, {"ld.global.f64", "st.global.f64"});
    ExpectOneFaultOf(
        bytes, bytes.Run(Geometry(1, at + 1), memory.Of<unsigned char>(at)),
        {where}, {"ld.global.u8", "st.global.u8"});
  }
}

TEST(FaultTest, ALoadThatAnAdditionTakesFromMemoryIsStillTheLoad) {
  KernelProgram program(R"(
extern "C" __global__ void k(const float* a, const float* b, float* c) {
  int i = threadIdx.x;
  float x = c[i] * 3.0f;
  c[i] = (x - a[i]) / (x + b[i + 7]);
})");
  const Ending memory;
  float a[64] = {}, c[64] = {};
  ExpectFault(program,
              program.Run(Geometry(1, 64), +a, memory.Of<float>(70), +c),
              kAddress, "block (0,0,0), thread (63,0,0)", "+28];");
}

TEST(FaultTest, OfDivergedThreadsTheRightOneIsNamed) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, int far) {
  int i = threadIdx.x;
  if (i % 3 == 1) {
    if (i == 40) i += far;
    out[i] = 5;
  }
})");
  const Ending memory;
  ExpectFault(program,
              program.Run(Geometry(1, 64), memory.Of<int>(64), 1 << 10),
              kAddress, "block (0,0,0), thread (40,0,0)", "st.global.u32");
  // Threads 60 and 62 would be outside, too, but stay away.
  ExpectFault(program, program.Run(Geometry(1, 64), memory.Of<int>(60), 0),
              kAddress, "block (0,0,0), thread (61,0,0)", "st.global.u32");
}

TEST(FaultTest, ScatteredAccessesNameTheirThread) {
  KernelProgram load(R"(
extern "C" __global__ void k(const int* in, const int* index, int* out) {
  out[threadIdx.x] = in[index[threadIdx.x]];
})");
  KernelProgram store(R"(
extern "C" __global__ void k(int* in, const int* index, int* out) {
  in[index[threadIdx.x]] = out[threadIdx.x];
})");
  KernelProgram atomic(R"(
extern "C" __global__ void k(int* in, const int* index, int* out) {
  out[threadIdx.x] = atomicAdd(in + index[threadIdx.x], 1);
})");
  const Ending memory;
  int index[64], out[64] = {};
  for (int i = 0; i < 64; ++i) index[i] = i * 37 % 64;
  index[53] = 64;
  int* in = memory.Of<int>(64);
  const std::string where = "block (0,0,0), thread (53,0,0)";
  const auto run = [&](KernelProgram& program, const char* text) {
    ExpectFault(program, program.Run(Geometry(1, 64), in, +index, +out),
                kAddress, where, text);
  };
  // The second load of the kernel.
  const LaunchOutcome outcome = load.Run(Geometry(1, 64), in, +index, +out);
  EXPECT_NE(outcome.message.find(where), std::string::npos) << outcome.message;
  run(store, "st.global.u32");
  run(atomic, "atom.global.add");
}

TEST(FaultTest, StridedLoadsNameTheirThread) {
  for (const std::string type : {"int", "double", "unsigned char"}) {
    KernelProgram all("extern \"C\" __global__ void k(const " + type +
                      "* in, float* out) {"
                      "  out[threadIdx.x] = in[threadIdx.x * 3]; }");
    // Some threads do what the others do not.
    KernelProgram some("extern \"C\" __global__ void k(const " + type +
                       "* in, float* out, int from) {"
                       "  int i = threadIdx.x; float x = 1;"
                       "  if (i >= from) x = in[i * 3]; out[i] = x; }");
    const Ending memory;
    float out[64] = {};
    for (const size_t at : {32, 41, 53, 63}) {
      std::vector<std::string> places;
      for (size_t thread = at; thread < 64; ++thread) {
        places.push_back("block (0,0,0), thread (" + std::to_string(thread) +
                         ",0,0)");
      }
      const void* in = type == "int" ? memory.Of<int>(3 * at)
                       : type == "double"
                           ? static_cast<void*>(memory.Of<double>(3 * at))
                           : memory.Of<unsigned char>(3 * at);
      ExpectOneFaultOf(all, all.Run(Geometry(1, 64), in, +out), places,
                       {"ld.global"});
      ExpectOneFaultOf(some, some.Run(Geometry(1, 64), in, +out, 31), places,
                       {"ld.global"});
    }
  }
}

TEST(FaultTest, AnAddressThatNoMemoryCanHaveIsNamed) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  int* p = out;
  if (threadIdx.x == 9) p = (int*)0xbad0000000000000;
  p[threadIdx.x] = 1;
})");
  int out[32] = {};
  const LaunchOutcome outcome = program.Run(Geometry(1, 32), +out);
  ExpectFault(program, outcome, kAddress, "block (0,0,0), thread (9,0,0)",
              "st.u32");
}

TEST(FaultTest, ThreadsOfSeveralDimensionsAndTheSourceLineAreNamed) {
  KernelProgram program(R"(
__device__ __forceinline__ void put(int* p, int v) {
  *p = v;
}
extern "C" __global__ void k(int* out) {
  int i = threadIdx.x + 8 * (threadIdx.y + 4 * threadIdx.z);
  put(out + i, 3);
})",
                        {"-lineinfo"});
  const Ending memory;
  LaunchGeometry geometry = Geometry(1, 8);
  geometry.block[1] = 4;
  geometry.block[2] = 3;
  const LaunchOutcome outcome = program.Run(geometry, memory.Of<int>(95));
  ExpectFault(program, outcome, kAddress, "block (0,0,0), thread (7,3,2)",
              "st.global.u32");
  EXPECT_NE(outcome.message.find(":3: st: access to address 0x"),
            std::string::npos)
      << outcome.message;
}

TEST(FaultTest, AGridThatSynchronizesInAPlainLaunchIsToldWhatItLacks) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
#line 180 "/toolkit/include/cooperative_groups.h"
  if (out[0] == 0) __trap();
})",
                        {"-lineinfo"});
  int out[1] = {};
  const LaunchOutcome outcome = program.Run(Geometry(1, 1), +out);
  EXPECT_EQ(outcome.result, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(outcome.message.find("cooperative_groups.h:180: trap: the grid "
                                 "synchronizes, but was not launched as a "
                                 "cooperative one"),
            std::string::npos)
      << outcome.message;
}

TEST(FaultTest, TrapsAndAssertionsNameTheirThreadAndLine) {
  KernelProgram trap(R"(
extern "C" __global__ void k(int* out) {
  if (out[threadIdx.x] == 7) __trap();
})");
  int out[96] = {};
  out[70] = 7;
  ExpectFault(trap, trap.Run(Geometry(1, 96), +out), CUDA_ERROR_LAUNCH_FAILED,
              "block (0,0,0), thread (70,0,0)", "trap;");
  KernelProgram assertion(R"(
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
extern "C" __global__ void k(int* out) {
  if (out[threadIdx.x] == 7) __assertfail("x", "file.cu", 17, "k", 1);
})");
  testing::internal::CaptureStderr();
  const LaunchOutcome outcome = assertion.Run(Geometry(1, 96), +out);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(outcome.result, CUDA_ERROR_ASSERT);
  EXPECT_NE(outcome.message.find("thread (70,0,0), PTX line "),
            std::string::npos)
      << outcome.message;
}

TEST(FaultTest, CodeFromTheObjectCacheSaysTheSame) {
  // The first in this process to ask for the cache decides; here it is the
  // disk's in any case, since both programs are the same.
  const auto message = [] {
    KernelProgram program(R"(
extern "C" __global__ void k(float* out, float x) {
  out[threadIdx.x] = x * threadIdx.x;
})");
    const Ending memory;
    std::string text =
        program.Run(Geometry(1, 64), memory.Of<float>(63), 2.0f).message;
    return text.substr(0, text.find(": st"));
  };
  const std::string first = message();
  EXPECT_NE(first.find("thread (63,0,0), PTX line"), std::string::npos)
      << first;
  EXPECT_EQ(message(), first);
}

}  // namespace
}  // namespace holdfast::software
