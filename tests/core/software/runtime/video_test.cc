// SPDX-License-Identifier: Apache-2.0
//
// Parts of registers that video instructions name, where the form alone does
// not say what they mean.
#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

// Runs `instruction` on a, b and c, by all 32 lanes, and returns lane 5's d.
uint32_t ResultOf(const std::string& instruction, uint32_t a, uint32_t b,
                  uint32_t c) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out, unsigned a, unsigned b, unsigned c) {
  unsigned d;
  asm volatile(")" + instruction +
                        R"(" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  out[threadIdx.x] = d;
})");
  uint32_t out[32] = {};
  ExpectSuccess(program.Run(Geometry(1, 32), +out, a, b, c));
  return out[5];
}

// Numbers from 4 on are the bytes of b, whatever operand names them.
TEST(VideoTest, PackedOperandsTakePartsOfBothRegisters) {
  EXPECT_EQ(ResultOf("vadd4.u32.u32.u32 %0, %1.b7531, %2.b0246, %3;",
                     0x04030201, 0x40302010, 0),
            0x41231432u);
  EXPECT_EQ(ResultOf("vsub2.s32.s32.s32 %0, %1.h01, %2.h23, %3;", 0x00050009,
                     0x00010002, 0),
            0x00070004u);
  EXPECT_EQ(ResultOf("vmax4.u32.u32.u32 %0, %1.b1111, %2.b4444, %3;",
                     0x0000EE00, 0x000000AA, 0),
            0xEEEEEEEEu);
}

// Parts that the mask leaves out are c's, or are not in the sum.
TEST(VideoTest, MasksChooseBetweenResultsAndC) {
  EXPECT_EQ(ResultOf("vadd4.u32.u32.u32 %0.b20, %1, %2, %3;", 0x01010101,
                     0x02020202, 0xAABBCCDD),
            0xAA03CC03u);
  EXPECT_EQ(ResultOf("vadd4.u32.u32.u32.add %0.b31, %1, %2, %3;", 0x01020304,
                     0x10203040, 1000),
            1000u + 0x11 + 0x33);
  EXPECT_EQ(ResultOf("vset2.u32.u32.lt %0.h1, %1, %2, %3;", 0x00010001,
                     0x00020002, 0x12345678),
            0x00015678u);
}

// A number that stands for a register loses neither its part nor its sign.
TEST(VideoTest, NumbersKeepThePartsOfTheirRegisters) {
  EXPECT_EQ(ResultOf("{ .reg .b32 x; mov.b32 x, 0x80112233; "
                     "vadd.s32.s32.u32 %0, x.b3, %2, %3; }",
                     0, 1, 0),
            static_cast<uint32_t>(-127));
  EXPECT_EQ(ResultOf("{ .reg .b32 x; mov.b32 x, 3; "
                     "vmad.s32.u32.u32 %0, -x, %2, %3; }",
                     0, 5, 100),
            85u);
  EXPECT_EQ(ResultOf("{ .reg .b32 x; mov.b32 x, 3; "
                     "vmad.s32.u32.u32 %0, %1, %2, -x; }",
                     4, 5, 0),
            17u);
}

}  // namespace
}  // namespace holdfast::software
