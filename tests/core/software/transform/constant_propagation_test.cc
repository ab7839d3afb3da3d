// SPDX-License-Identifier: Apache-2.0
#include "core/software/transform/constant_propagation.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/software/ptx/parser.h"
#include "gtest/gtest.h"

namespace holdfast::software::transform {
namespace {

using ptx::Operand;

// The last instruction in front of the end, of a kernel with this body.
ptx::Instruction LastOf(const std::string& body) {
  const std::string text = absl::StrCat(R"(.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 data) {
.reg .b16 %h<4>;
.reg .b32 %r<8>;
.reg .f32 %f<8>;
.reg .b64 %d<4>;
.reg .pred %p<4>;
)",
                                        body, "\nret;\n}\n");
  ptx::ParseResult parsed = ptx::Parse(text);
  EXPECT_TRUE(parsed.ok()) << body;
  if (!parsed.ok()) return {};
  ptx::Function& function = parsed.module.functions.front();
  PropagateConstants(&function);
  ptx::Instruction last = function.body[function.body.size() - 2];
  return last;
}

void ExpectNumber(const Operand& operand, uint64_t bits) {
  EXPECT_EQ(operand.kind, Operand::Kind::kInteger);
  EXPECT_EQ(operand.bits, bits);
}

TEST(ConstantsTest, ARegisterThatIsANumberIsReadAsOne) {
  const auto sum = LastOf("mov.u32 %r1, 7; add.s32 %r2, %r1, %r3;");
  ExpectNumber(sum.operands[1], 7);
  EXPECT_TRUE(sum.operands[0].IsRegister());
  EXPECT_TRUE(sum.operands[2].IsRegister());
}

TEST(ConstantsTest, FloatingPointNumbersAreBits) {
  const auto exact = LastOf("mov.f32 %f1, 0f40490FDB; mov.b32 %r1, %f1;");
  ExpectNumber(exact.operands[1], 0x40490FDB);
  const auto decimal = LastOf("mov.f32 %f1, 1.5; add.f32 %f2, %f3, %f1;");
  ExpectNumber(decimal.operands[2], 0x3FC00000);
}

TEST(ConstantsTest, WhatMayBeAnotherNumberStaysARegister) {
  for (const std::string other :
       {"mov.u32 %r1, 8;", "@%p1 mov.u32 %r4, 8; add.s32 %r1, %r1, 1;"}) {
    const auto sum = LastOf(
        absl::StrCat("mov.u32 %r1, 7;", other, "add.s32 %r2, %r1, %r3;"));
    EXPECT_TRUE(sum.operands[1].IsRegister()) << other;
  }
  const auto guarded = LastOf("@%p1 mov.u32 %r1, 7; add.s32 %r2, %r1, %r3;");
  EXPECT_TRUE(guarded.operands[1].IsRegister());
}

TEST(ConstantsTest, AddressesAndWhatIsWrittenStayRegisters) {
  const auto store = LastOf("mov.u64 %d1, 64; st.global.u32 [%d1], %r1;");
  EXPECT_EQ(store.operands[0].kind, Operand::Kind::kRegister);
  const auto atomic =
      LastOf("mov.u32 %r1, 1; atom.global.add.u32 %r2, [%d1], %r1;");
  EXPECT_TRUE(atomic.operands[2].IsRegister());
}

}  // namespace
}  // namespace holdfast::software::transform
