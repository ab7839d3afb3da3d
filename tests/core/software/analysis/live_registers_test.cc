// SPDX-License-Identifier: Apache-2.0
//
// Registers that are live where lanes leave a block in its middle: all that are
// read later, and no others.
#include <set>
#include <string>
#include <vector>

#include "core/software/analysis/control_flow.h"
#include "core/software/ptx/parser.h"
#include "core/software/transform/lower_kernel.h"
#include "gtest/gtest.h"

namespace holdfast::software::analysis {
namespace {

using lower::Kernel;
using lower::LowerKernel;

// A loop, whose block is the second.
constexpr char kProgram[] = R"(.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 data) {
.reg .b32 %r<6>;
.reg .pred %p<2>;
.reg .b64 %d<2>;
ld.param.u64 %d0, [data];
mov.u32 %r0, %tid.x;
mov.u32 %r1, 7;
again:
add.s32 %r2, %r0, %r1;
mov.u32 %r3, 5;
setp.lt.s32 %p0, %r2, 9;
@%p0 mov.u32 %r3, 6;
add.s32 %r0, %r2, %r3;
setp.lt.s32 %p1, %r0, 100;
@%p1 bra again;
st.global.u32 [%d0], %r0;
ret;
})";

class LiveRegistersTest : public ::testing::Test {
 protected:
  LiveRegistersTest()
      : parsed_(ptx::Parse(kProgram)),
        kernel_(
            LowerKernel(parsed_.module, parsed_.module.functions.front(), {})),
        live_(LiveRegisters(kernel_)) {}

  // In front of the instruction of the loop that is `offset` behind its first.
  std::set<std::string> At(uint32_t offset) const {
    std::set<std::string> names;
    const auto live =
        LiveRegistersAt(kernel_, live_, 1, kernel_.blocks[1].first + offset);
    for (size_t r = 0; r < live.size(); ++r) {
      if (live[r]) names.insert(kernel_.function->registers[r].name);
    }
    return names;
  }

  const ptx::ParseResult parsed_;
  const Kernel kernel_;
  const std::vector<std::vector<bool>> live_;
};

using Names = std::set<std::string>;

TEST_F(LiveRegistersTest, AtTheStartOfABlockTheyAreThoseOfTheBlock) {
  EXPECT_EQ(At(0), Names({"%d0", "%r0", "%r1"}));
}

TEST_F(LiveRegistersTest, WhatIsOnlyReadInFrontIsNotNeeded) {
  EXPECT_EQ(At(1), Names({"%d0", "%r1", "%r2"}));
  EXPECT_EQ(At(5), Names({"%d0", "%r0", "%r1"}));
}

TEST_F(LiveRegistersTest, AGuardedWriteLeavesTheOldValueToSomeLanes) {
  EXPECT_EQ(At(3), Names({"%d0", "%p0", "%r1", "%r2", "%r3"}));
}

}  // namespace
}  // namespace holdfast::software::analysis
