// SPDX-License-Identifier: Apache-2.0
//
// PTX comes from clients: whatever the bytes, the parser answers with a module
// or with errors that have a line and a column, and never crashes.

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/software/ptx/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace holdfast::software::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kModule[] = R"(
.version 9.0
.target sm_90
.address_size 64
.global .align 4 .f32 scale = 0f40200000;
.const .align 4 .b8 table[16] = {3, 0, 0, 0, 1, 0, 0, 0, 4};
.visible .entry k(.param .u64 .ptr .align 1 k_param_0, .param .u32 k_param_1)
.maxntid 256
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [k_param_0];
  ld.param.u32 %r1, [k_param_1];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra $L__BB0_2;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.nc.f32 %f1, [%rd4];
  mul.f32 %f2, %f1, 0f40400000;
  st.global.f32 [%rd4], %f2;
$L__BB0_2:
  ret;
}
)";

void ExpectLocated(const ParseResult& result) {
  for (const std::string& error : result.errors) {
    int line = 0;
    int column = 0;
    EXPECT_EQ(std::sscanf(error.c_str(), "%d:%d:", &line, &column), 2) << error;
  }
}

TEST(ParserHazardTest, TheModuleItselfIsGood) {
  const ParseResult result = Parse(kModule);
  ASSERT_TRUE(result.ok()) << result.errors[0];
  ASSERT_EQ(result.module.functions.size(), 1u);
  EXPECT_EQ(result.module.functions[0].name, "k");
  EXPECT_EQ(result.module.version, 90);
  EXPECT_EQ(result.module.target, 90);
}

// An error is reported at its place, and causes no further error behind it,
// whatever braces and blocks it is in.
TEST(ParserHazardTest, WhatIsUnknownIsSkippedAsAWhole) {
  const ParseResult result = Parse(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{
  .reg .b32 %r<5>;
  nothing.x4 {%r1, %r2}, [%r3];
  { .reg .b32 %q; nowhere.b32 %q, {%r1, %r2}; }
  bra DONE;
DONE:
  ret;
}
.global .b32 list[2] = {nobody, 2};
.visible .entry l() { never; ret; }
)");
  ASSERT_EQ(result.errors.size(), 5u) << absl::StrJoin(result.errors, "\n");
  EXPECT_EQ(result.errors[0], "8:3: unknown instruction 'nothing.x4'");
  EXPECT_EQ(result.errors[1], "9:19: unknown instruction 'nowhere.b32'");
  EXPECT_EQ(result.errors[4], "15:23: unknown instruction 'never'");
}

std::string WithInstruction(absl::string_view instruction) {
  return absl::StrCat(
      ".version 9.0\n.target sm_90\n.address_size 64\n"
      ".func f(.param .b64 p) { ret; }\n"
      ".visible .entry k() {\n.reg .b32 %r<9>; .reg .f32 %f<9>;\n"
      ".reg .b64 %a, %c, %d<3>; .reg .b128 %q; .reg .b16 %h<9>;\n",
      instruction, "\nret;\n}\n");
}

// ptxas refuses these numbers, too.
TEST(ParserHazardTest, NumbersThatInstructionsHaveRulesForAreChecked) {
  const auto error_of = [](absl::string_view instruction, bool own_features) {
    std::string text = WithInstruction(instruction);
    if (own_features) text.replace(text.find("sm_90"), 5, "sm_90a");
    const ParseResult result = Parse(text);
    return result.ok() ? "" : result.errors[0];
  };
  EXPECT_EQ(error_of("setmaxnreg.inc.sync.aligned.u32 240;", true), "");
  EXPECT_EQ(error_of("setmaxnreg.dec.sync.aligned.u32 24;", true), "");
  for (const int count : {16, 20, 57, 264, -8}) {
    EXPECT_EQ(
        error_of(absl::StrCat("setmaxnreg.dec.sync.aligned.u32 ", count, ";"),
                 true),
        absl::StrCat(
            "8:1: 'setmaxnreg' takes a multiple of 8 from 24 to 256, not ",
            count));
  }
  EXPECT_EQ(error_of("setmaxnreg.inc.sync.aligned.u32 64;", false),
            "8:1: 'setmaxnreg' needs a target such as sm_90a");
  const std::string copy = "cp.async.bulk.global.shared::cta.bulk_group ";
  EXPECT_EQ(error_of(copy + "[%a], [%r1], 64;", false), "");
  EXPECT_EQ(error_of(copy + "[%a], [%r1], 60;", false),
            "8:1: 'cp' takes a multiple of 16 from 0 to 4294967295, not 60");
}

// Addresses are tested for as many bytes as the modifiers say.
TEST(ParserHazardTest, VectorsHaveAsManyElementsAsTheirInstructionSays) {
  const std::pair<const char*, const char*> kRefused[] = {
      {"ld.global.u32 {%r1, %r2, %r3, %r4}, [%a];",
       "8:1: operand 1 of 'ld' cannot be a vector"},
      {"atom.global.add.u32 {%r1}, [%a], %r2;",
       "8:1: operand 1 of 'atom' cannot be a vector"},
      {"atom.global.add.u32 %r1, [%a], {%r2};",
       "8:1: operand 3 of 'atom' cannot be a vector"},
      {"red.global.add.u32 [%a], {%r1};",
       "8:1: operand 2 of 'red' cannot be a vector"},
      {"shfl.sync.idx.b32 {%r1}, %r2, 0, 31, -1;",
       "8:1: operand 1 of 'shfl' cannot be a vector"},
      {"add.u32 {%r1}, %r2, %r3;",
       "8:1: operand 1 of 'add' cannot be a vector"},
      {"cvt.u32.u16 %r1, {%h1};", "8:1: operand 2 of 'cvt' cannot be a vector"},
      {"ld.global.v2.u32 {%r1}, [%a];",
       "8:1: operand 1 of 'ld' must be a vector of 2 elements"},
      {"st.global.v2.u32 [%a], {%r1};",
       "8:1: operand 2 of 'st' must be a vector of 2 elements"},
      {"ld.global.v4.u32 {%r1, %r2, %r3}, [%a];",
       "8:1: operand 1 of 'ld' must be a vector of 4 elements"},
      {"ld.global.v2.u32 {%r1, %r2, %r3, %r4}, [%a];",
       "8:1: operand 1 of 'ld' must be a vector of 2 elements"},
      {"ld.global.v2.u32 %r1, [%a];",
       "8:1: operand 1 of 'ld' must be a vector of 2 elements"},
      {"ldu.global.v2.u32 {%r1}, [%a];",
       "8:1: operand 1 of 'ldu' must be a vector of 2 elements"},
      {"st.global.u32 [%a], {%r1, %r2};",
       "8:1: operand 2 of 'st' cannot be a vector"},
      {"st.shared.v2.u32 [%r1], {%r1, %r2, %r3};",
       "8:1: operand 2 of 'st' must be a vector of 2 elements"},
      {"st.global.v2.u32 [%a], 7;",
       "8:1: operand 2 of 'st' must be a vector of 2 elements"},
      {"ld.global.L2::cache_hint.v2.u32 {%r1, %r2}, [%a], {%c, %c};",
       "8:1: operand 3 of 'ld' cannot be a vector"},
      {"red.global.add.v2.f32 [%a], {%f1, %f2, %f3, %f4};",
       "8:1: operand 2 of 'red' must be a vector of 2 elements"},
      {"red.global.add.f32 [%a], {%f1, %f2};",
       "8:1: operand 2 of 'red' cannot be a vector"},
      {"atom.global.add.v2.f32 {%f1}, [%a], {%f1, %f2};",
       "8:1: operand 1 of 'atom' must be a vector of 2 elements"},
      {"add.u32 %r1, {%r1, %r2}, %r3;",
       "8:1: operand 2 of 'add' cannot be a vector"},
      {"call.uni f, ({%d1, %d2});",
       "8:1: operand 2 of 'call' cannot be a vector"},
      {"mov.b64 {%r1, %r2}, {%r3, %r4};",
       "8:1: operand 1 of 'mov' must be the parts of the other operand"},
      {"mov.b64 %d1, {%d1, %d2};",
       "8:1: operand 2 of 'mov' must be the parts of the other operand"},
      {"mov.b64 %d1, {%r1, %r2, %r3, %r4};",
       "8:1: operand 2 of 'mov' must be the parts of the other operand"},
      {"mov.b64 {%h1, %h2, _}, %d1;",
       "8:1: operand 1 of 'mov' must be the parts of the other operand"},
      {"mov.b64 {%h1, %h2}, %d1;",
       "8:1: operand 1 of 'mov' must be the parts of the other operand"},
      {"mov.b32 %r1, {%h1, %r2};",
       "8:1: operand 2 of 'mov' must be the parts of the other operand"},
      {"mov.b128 {%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8}, %q;",
       "8:1: operand 1 of 'mov' must be the parts of the other operand"},
      {"mov.f64 %d1, {%r1, %r2};",
       "8:1: operand 2 of 'mov' must be the parts of the other operand"},
      {"mov.u32 {%h1, %h2}, %r1;",
       "8:1: operand 1 of 'mov' must be the parts of the other operand"},
  };
  for (const auto& [instruction, error] : kRefused) {
    const ParseResult result = Parse(WithInstruction(instruction));
    ASSERT_EQ(result.errors.size(), 1u) << instruction;
    EXPECT_EQ(result.errors[0], error) << instruction;
  }
}

TEST(ParserHazardTest, BytesOfAnAddressAndAliasesAreWhole) {
  const auto error_of = [](absl::string_view declarations) {
    const ParseResult result =
        Parse(absl::StrCat(".version 9.0\n.target sm_90\n.address_size 64\n"
                           ".global .u32 g;\n.global .u32 h;\n",
                           declarations));
    return result.ok() ? "" : result.errors[0];
  };
  const auto bytes_of = [](absl::string_view name, int from, int to) {
    std::string bytes;
    for (int i = from; i < to; ++i) {
      absl::StrAppend(&bytes, i == from ? "" : ", ", "0xFF",
                      std::string(2 * i, '0'), "(", name, ")");
    }
    return bytes;
  };
  const auto list = [&](absl::string_view values) {
    return error_of(absl::StrCat(".global .u8 b[32] = {", values, "};"));
  };
  EXPECT_EQ(list(bytes_of("g", 0, 8)), "");
  EXPECT_EQ(list(bytes_of("g", 0, 8) + ", 1, " + bytes_of("h", 0, 8)), "");
  for (const std::string& part :
       {bytes_of("g", 0, 4), bytes_of("g", 1, 8), bytes_of("g", 0, 7) + ", 1",
        bytes_of("g", 0, 4) + ", " + bytes_of("h", 4, 8)}) {
    EXPECT_THAT(list(part), HasSubstr("the bytes of an address must be all "
                                      "eight, the lowest first"))
        << part;
  }
  EXPECT_THAT(error_of(".global .u16 b[8] = {0xFF(g)};"),
              HasSubstr("all eight"));
  EXPECT_EQ(error_of(".func f();\n.func e() { ret; }\n.alias f, e;"), "");
  EXPECT_THAT(error_of(".func f();\n.func e();\n.alias f, e;"),
              HasSubstr("'f' cannot be an alias of 'e'"));
  EXPECT_THAT(error_of(".func e() { ret; }\n.alias f, e;"),
              HasSubstr("'f' is no declared function"));
}

TEST(ParserHazardTest, WhatHasNoIndexOrNoLanesIsRefused) {
  const auto error_of = [](absl::string_view instruction) {
    const ParseResult result = Parse(WithInstruction(instruction));
    return result.ok() ? "" : result.errors[0];
  };
  EXPECT_EQ(error_of(".shared .u32 a[4]; mov.u32 %r1, a[3];"), "");
  EXPECT_EQ(error_of("mov.u32 %r1, %r2[3];"),
            "8:17: only an array can have an index");
  EXPECT_EQ(error_of(".shared .u32 a[4]; ld.shared.u32 %r1, a[%r2];"),
            "8:41: the index of 'a' is not a constant: add it to the address "
            "in a register");
  EXPECT_EQ(error_of(".reg .v2 .f32 v; mov.f32 %f1, v.y;"), "");
  EXPECT_EQ(error_of(".reg .v2 .f32 v; mov.f32 %f1, v.z;"),
            "8:31: 'v.z' is not declared");
  EXPECT_EQ(error_of(".reg .v2 .f32 v; mov.f32 %f1, v;"),
            "8:18: operand 2 of 'mov' must be the parts of the other operand");
  EXPECT_EQ(error_of(".reg .v2 .pred v;"),
            "8:10: expected the type of a register");
  EXPECT_EQ(error_of(".reg .v2 .b32 v<500000>; mov.b32 %r1, v499999.y;"), "");
  EXPECT_EQ(error_of(".reg .v2 .b32 v<5>; mov.b32 %r1, v5.y;"),
            "8:34: 'v5.y' is not declared");
  EXPECT_EQ(error_of(".reg .v2 .b32 v<600000>;"), "8:24: too many registers");
}

// A short text must not become many gigabytes.
TEST(ParserHazardTest, CopiesForAliasesHaveALimit) {
  std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, ".func f", i, "();\n");
  absl::StrAppend(&text, ".func e() {\n");
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, "bar.sync 0;\n");
  absl::StrAppend(&text, "ret;\n}\n");
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, ".alias f", i, ", e;\n");
  EXPECT_TRUE(Parse(text).ok());
  for (int i = 100; i < 1000; ++i) {
    absl::StrAppend(&text, ".alias f", i, ", e;\n");
  }
  EXPECT_THAT(Parse(text).errors,
              ElementsAre(HasSubstr("aliases are too large")));
}

// As ptxas has it: in braces, one element means the same as without.
TEST(ParserHazardTest, OneElementOfALoadOrAStoreMayStandInBraces) {
  constexpr size_t kStride = 31;  // there are some 50000
  int tried = 0;
  for (const Form& form : AllForms()) {
    const bool store = form.opcode == Opcode::kSt;
    if (!store && form.opcode != Opcode::kLd && form.opcode != Opcode::kLdu) {
      continue;
    }
    const std::vector<std::string> spellings = Spellings(form);
    for (size_t i = 0; i < spellings.size(); i += kStride) {
      const std::string& spelling = spellings[i];
      const std::string policy =
          absl::StrContains(spelling, "cache_hint") ? ", %c" : "";
      const auto with = [&](absl::string_view value) {
        return Parse(WithInstruction(
            store ? absl::StrCat(spelling, " [%a], ", value, policy, ";")
                  : absl::StrCat(spelling, " ", value, ", [%a]", policy, ";")));
      };
      const ParseResult plain = with("%r1");
      if (!plain.ok()) continue;  // one with several elements
      const ParseResult braced = with("{ %r1 }");
      ASSERT_TRUE(braced.ok()) << spelling << ": " << braced.errors[0];
      const size_t value = store ? 1 : 0;
      const auto& expected = plain.module.functions[1].body[0];
      const auto& actual = braced.module.functions[1].body[0];
      EXPECT_EQ(actual.operands[value].kind, Operand::Kind::kRegister);
      EXPECT_EQ(actual.operands[value].index, expected.operands[value].index);
      EXPECT_EQ(actual.form, expected.form) << spelling;
      ++tried;
    }
  }
  EXPECT_GT(tried, 300);
}

TEST(ParserHazardTest, OneElementInBracesMayBeAConstant) {
  for (const char* instruction :
       {"st.global.u32 [%a], {5};", "st.global.f32 [%a], {0f3F800000};",
        "st.shared.u32 [%r1], {%tid.x};", "ld.param.u64 {%a}, [%a];"}) {
    const ParseResult result = Parse(WithInstruction(instruction));
    EXPECT_TRUE(result.ok()) << instruction << ": " << result.errors[0];
  }
}

// PTX that is right, and that this device does not serve, is no error of the
// text: only its function cannot run.
TEST(ParserHazardTest, AnInstructionThatIsNotServedIsNotedInItsFunction) {
  const std::pair<const char*, const char*> kMissing[] = {
      {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, "
       "%f4}, {%r1, %r2}, {%r1, %r2}, {%f1, %f2, %f3, %f4}, %r5, 0;",
       "matrices of this kind"},
      {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r5];",
       "matrices of this kind"},
      {"wgmma.fence.sync.aligned;", "matrices of a warp group"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%a, {%r1}];", "textures"},
      {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%a, {%f1, %f2}];", "textures"},
      {"txq.width.b32 %r1, [%a];", "textures"},
      {"sust.b.1d.v2.b32.clamp [%a, {%r1}], {%r1, %r2};", "surfaces"},
      {"suld.b.2d.b32.trap {%r1}, [%a, {%r1, %r2}];", "surfaces"},
      {"cp.async.bulk.tensor.1d.shared::cluster.global.tile."
       "mbarrier::complete_tx::bytes [%r1], [%a, {%r2}], [%r3];",
       "tensor maps"},
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
       "multicast::cluster [%r1], [%a], 16, [%r3], %h1;",
       "bulk copies to several blocks"},
      {"st.bulk.weak.shared::cta [%r1], %a, 0;",
       "instructions of compute capability 10 and above"},
      {"tcgen05.wait::ld.sync.aligned;",
       "instructions of compute capability 10 and above"},
      {"add.rn.f32x2 %d1, %d1, %d2;",
       "instructions of compute capability 10 and above"},
      {"@%p1 mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r1, %r2, %r3, "
       "%r4}, {%r1, %r2}, {%r3, %r4}, {%r1, %r2, %r3, %r4};",
       "matrices of this kind"},
  };
  for (const auto& [instruction, part] : kMissing) {
    const ParseResult result = Parse(absl::StrCat(
        WithInstruction(absl::StrCat(".reg .pred %p1; ", instruction)),
        ".visible .entry other() { ret; }\n"));
    ASSERT_TRUE(result.ok()) << instruction << ": " << result.errors[0];
    ASSERT_EQ(result.module.functions.size(), 3u) << instruction;
    const std::string& reason = result.module.functions[1].unserved;
    EXPECT_TRUE(absl::StartsWith(reason, "8:")) << reason;
    EXPECT_TRUE(absl::EndsWith(reason, absl::StrCat("has no ", part)))
        << reason;
    EXPECT_EQ(result.module.functions[1].body.size(), 1u) << instruction;
    EXPECT_EQ(result.module.functions[2].unserved, "");
  }
}

// The parts of registers that video instructions may name are ptxas's.
TEST(ParserHazardTest, VideoInstructionsNamePartsOfRegisters) {
  for (const char* instruction :
       {"vadd.s32.u32.u32 %r1, %r2, %r3;",
        "vadd.s32.u32.u32.sat.min %r1, %r2.b3, %r3.h1, %r4;",
        "vadd.s32.u32.u32 %r1.h0, %r2, 7, %r4;",
        "vset.u32.s32.lt %r1.b3, %r2.b0, %r3.h0, %r4;",
        "vshl.u32.u32.u32.clamp %r1, %r2.b1, %r3;",
        "vmad.s32.u32.u32.shr7 %r1, -%r2.b0, %r3, %r4;",
        "vmad.s32.u32.u32 %r1, %r2, %r3.h1, -%r4;",
        "vmad.s32.u32.u32 %r1, -%r2, -%r3, %r4;",
        "vadd4.u32.u32.u32 %r1.b310, %r2.b7654, %r3.b0123, %r4;",
        "vadd2.u32.u32.u32.add %r1.h1, %r2.h32, %r3.h10, %r4;"}) {
    const ParseResult result = Parse(WithInstruction(instruction));
    EXPECT_TRUE(result.ok()) << instruction << ": " << result.errors[0];
  }
}

TEST(ParserHazardTest, OtherPartsAndSignsAreRefused) {
  const char* const kWrong[] = {
      "add.u32 %r1, %r2.b0, %r3;",
      "add.u32 %r1, -%r2, %r3;",
      "ld.shared.u32 %r1, [%r2.b0];",
      "mov.b32 %r1, {%h1, %h2.b0};",
      "vadd.s32.u32.u32 %r1.b0, %r2, %r3;",
      "vadd.s32.u32.u32.add %r1.b0, %r2, %r3, %r4;",
      "vadd.s32.u32.u32 %r1, %r2.b4, %r3;",
      "vadd.s32.u32.u32 %r1, %r2.h2, %r3;",
      "vadd.s32.u32.u32 %r1, %r2.b10, %r3;",
      "vadd.s32.u32.u32 %r1, %r2.x, %r3;",
      "vadd.s32.u32.u32 %r1, -%r2, %r3;",
      "vadd.s32.u32.u32.min %r1, %r2, %r3, %r4.b0;",
      "vadd.s32.u32.u32 %r1, %laneid.b0, %r3;",
      "vadd.s32.u32.u32 %r1, %d1.b0, %r3;",
      "vmad.s32.u32.u32 %r1.b0, %r2, %r3, %r4;",
      "vmad.s32.u32.u32 %r1, -%r2, %r3, -%r4;",
      "vmad.s32.u32.u32.po %r1, -%r2, %r3, %r4;",
      "vadd4.u32.u32.u32 %r1.b013, %r2, %r3, %r4;",
      "vadd4.u32.u32.u32 %r1, %r2.b10, %r3, %r4;",
      "vadd4.u32.u32.u32 %r1, %r2.h10, %r3, %r4;",
      "vadd2.u32.u32.u32 %r1, %r2.h40, %r3, %r4;",
      "vshl.u32.u32.s32.clamp %r1, %r2, %r3;",
      "vshl.u32.u32.u32 %r1, %r2, %r3;",
  };
  for (const char* instruction : kWrong) {
    const ParseResult result = Parse(WithInstruction(instruction));
    EXPECT_FALSE(result.ok()) << instruction;
    ExpectLocated(result);
  }
}

// What ptxas refuses of matrices is refused: another number of registers, and
// registers of another size or kind.
TEST(ParserHazardTest, MatricesHaveTheRegistersThatTheirShapesAndTypesSay) {
  const auto errors_of = [](const std::string& instruction) {
    return Parse(WithInstruction(absl::StrCat(
                     ".reg .b32 %x<9>; .reg .s32 %s<9>; .reg .f64 %e<3>;",
                     instruction)))
        .errors;
  };
  const auto names = [](const char* prefix, int count) {
    std::vector<std::string> list;
    for (int i = 0; i < count; ++i) list.push_back(absl::StrCat(prefix, i));
    return absl::StrCat("{", absl::StrJoin(list, ", "), "}");
  };
  struct Loaded {
    const char* words;
    const char* registers;
    int count;
  };
  constexpr Loaded kLoaded[] = {
      {"a.sync.aligned.row.m16n16k16.global.f16", "%x", 8},
      {"b.sync.aligned.col.m32n8k16.shared.f16", "%x", 8},
      {"c.sync.aligned.row.m8n32k16.f16", "%x", 4},
      {"c.sync.aligned.col.m16n16k16.shared::cta.f32", "%f", 8},
      {"a.sync.aligned.row.m16n16k16.bf16", "%x", 4},
      {"a.sync.aligned.row.m32n8k16.bf16", "%x", 8},
      {"b.sync.aligned.row.m32n8k16.bf16", "%x", 2},
      {"a.sync.aligned.col.m8n32k16.s8", "%s", 1},
      {"b.sync.aligned.col.m8n32k16.u8", "%s", 4},
      {"b.sync.aligned.col.m16n16k16.u8", "%x", 2},
      {"c.sync.aligned.col.m16n16k16.s32", "%s", 8},
      {"a.sync.aligned.row.m16n16k8.tf32", "%x", 4},
      {"c.sync.aligned.row.m16n16k8.f32", "%f", 8},
      {"b.sync.aligned.row.m8n8k4.f64", "%e", 1},
      {"c.sync.aligned.row.m8n8k4.f64", "%e", 2},
      {"a.sync.aligned.row.m8n8k32.s4", "%f", 1},
      {"b.sync.aligned.col.m8n8k128.b1", "%s", 1},
      {"c.sync.aligned.row.m8n8k128.s32", "%x", 2},
  };
  for (const auto& [words, registers, count] : kLoaded) {
    const auto load = [&, words = words](const std::string& list) {
      return errors_of(absl::StrCat("wmma.load.", words, " ", list, ", [%a];"));
    };
    EXPECT_THAT(load(names(registers, count)), ElementsAre()) << words;
    EXPECT_THAT(load(names(registers, count + 1)),
                ElementsAre(HasSubstr(absl::StrCat(
                    "must name its registers in braces: ", count))))
        << words;
    const std::string wrong = registers[1] == 'e' ? "%f" : "%e";
    EXPECT_THAT(
        load(absl::StrCat("{", wrong, "0", names(registers, count).substr(4))),
        ElementsAre(HasSubstr("names a register that cannot hold")))
        << words;
  }
}

TEST(ParserHazardTest, OtherFormsOfMatricesAreRefused) {
  const std::string eight = "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}";
  const std::string floats = "{%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}";
  const std::string load = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 ";
  for (const std::string& instruction :
       {load + eight + ", [%a];", load + eight + ", [%a], %r1;",
        load + eight + ", [%a + 64], 3 * 8;",
        "wmma.load.a.aligned.sync.m16n16k16.row.f16.global " + eight +
            ", [%a];",
        "wmma.mma.sync.aligned.m16n16k16.row.col.f32.f32 " + floats + ", " +
            eight + ", " + eight + ", " + floats + ";",
        std::string("wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32."
                    "satfinite {%r1, %r2}, {%r1}, {%r1}, {0, -1};")}) {
    const ParseResult result = Parse(WithInstruction(instruction));
    EXPECT_TRUE(result.ok()) << instruction << ": " << result.errors[0];
  }
  for (const std::string& instruction :
       {load + floats + ", [%a];",
        load + eight + ", [%a], %d1;",
        load + eight + ", [%a], %h1;",
        load + eight + ", [%a], %f1;",
        load + eight + ", [%a], 16, 16;",
        load + "%q, [%a];",
        "wmma.load.a.aligned.row.m16n16k16.f16 " + eight + ", [%a];",
        "wmma.load.sync.a.aligned.row.m16n16k16.f16 " + eight + ", [%a];",
        "wmma.load.a.sync.aligned.m16n16k16.f16 " + eight + ", [%a];",
        "wmma.load.a.sync.aligned.row.m16n16k16.local.f16 " + eight + ", [%a];",
        "wmma.load.a.sync.aligned.row.m16n16k16.f32 " + eight + ", [%a];",
        "wmma.load.a.sync.aligned.row.m16n8k16.f16 " + eight + ", [%a];",
        std::string("wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r1}, [%a];"),
        std::string("wmma.load.a.sync.aligned.row.m8n8k32.s8 {%r1}, [%a];"),
        "wmma.store.d.sync.aligned.row.m16n16k16.bf16 [%a], " + eight + ";",
        "wmma.store.c.sync.aligned.row.m16n16k16.s32 [%a], " + eight + ";",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.f16.f32 " + floats +
            ", " + eight + ", " + eight + ", " + floats + ";",
        std::string("wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.u4.s32 "
                    "{%r1, %r2}, {%r1}, {%r1}, {%r1, %r2};"),
        std::string("wmma.mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 "
                    "{%r1, %r2}, {%r1}, {%r1}, {%r1, %r2};"),
        std::string("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, "
                    "%f2, %f3, %f4}, {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%f1, "
                    "%f2, %f3, %f4};"),
        std::string("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, "
                    "%f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {0, 0}, {%f1, "
                    "%f2, %f3, %f4};"),
        std::string(
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r1];")}) {
    const ParseResult result = Parse(WithInstruction(instruction));
    EXPECT_FALSE(result.ok()) << instruction;
    ExpectLocated(result);
  }
}

// Constants may be expressions, with C's precedences.
TEST(ParserHazardTest, ConstantExpressionsAreComputed) {
  const std::pair<const char*, int64_t> kValues[] = {
      {"7", 7},
      {"-7", -7},
      {"- -7", 7},
      {"(1+2)*3", 9},
      {"1 + 2 * 3 - 4", 3},
      {"1<<4|3", 19},
      {"0xF0 & ~0x30 ^ 1", 0xC1},
      {"WARP_SZ-1", 31},
      {"WARP_SZ / 5 * 2", 12},
      {"-17 / 5", -3},
      {"-16 >> 2", -4},
      {"(.u64)-16 >> 60", 15},
      {"!0 + !5", 1},
      {"3 > 2 ? 10 : 20", 10},
      {"1 == 2 || 3 <= 3 && 4 != 4", 0},
      {"-1 < 0", 1},
      {"-1 < 0xFFFFFFFFFFFFFFFF", 0},
      {"1 << 64", 0},
  };
  for (const auto& [text, value] : kValues) {
    const ParseResult result =
        Parse(WithInstruction(absl::StrCat("mov.b64 %d1, ", text, ";")));
    ASSERT_TRUE(result.ok()) << text << ": " << result.errors[0];
    const Operand& operand = result.module.functions[1].body[0].operands[1];
    EXPECT_EQ(operand.kind, Operand::Kind::kInteger) << text;
    EXPECT_EQ(static_cast<int64_t>(operand.bits), value) << text;
  }
}

TEST(ParserHazardTest, OffsetsAndSizesMayBeExpressions) {
  const ParseResult result =
      Parse(WithInstruction(".shared .b8 tile[4 * (WARP_SZ + 1)];\n"
                            "ld.shared.u32 %r1, [tile + 4*(3-1)];\n"
                            "ld.shared.u32 %r1, [%r2 - 2*8 + 1];"));
  ASSERT_TRUE(result.ok()) << result.errors[0];
  EXPECT_EQ(result.module.variables[0].bytes, 132u);
  const auto& body = result.module.functions[1].body;
  EXPECT_EQ(body[0].operands[1].offset, 8);
  EXPECT_EQ(body[1].operands[1].offset, -15);
}

TEST(ParserHazardTest, BadExpressionsAreRefused) {
  std::string deep(5000, '(');
  std::string yes, no;
  for (int i = 0; i < 100000; ++i) {
    yes += "1?";
    no += "1?1:";
  }
  for (const std::string& text :
       {std::string("1 +"), std::string("(1"), std::string("1 / 0"),
        std::string("5 % (3 - 3)"), std::string("1 ? 2"), std::string("~"),
        deep + "1", std::string(5000, '-') + "1", yes + "1", no + "1"}) {
    const ParseResult result =
        Parse(WithInstruction(absl::StrCat("mov.b64 %d1, ", text, ";")));
    EXPECT_FALSE(result.ok()) << text.substr(0, 20);
    ExpectLocated(result);
  }
}

// Each label that is not defined yet moves through all scopes.
TEST(ParserHazardTest, ScopesAreNotNestedWithoutLimit) {
  const auto nested = [](size_t depth, int labels) {
    std::string text(depth, '{');
    for (int i = 0; i < labels; ++i) absl::StrAppend(&text, "bra L", i, ";");
    text.append(depth, '}');
    for (int i = 0; i < labels; ++i) absl::StrAppend(&text, "L", i, ":");
    return Parse(WithInstruction(text));
  };
  EXPECT_TRUE(nested(200, 2).ok());
  const ParseResult result = nested(300000, 300000);
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(absl::StrContains(result.errors[0], "nested too deeply"))
      << result.errors[0];
}

TEST(ParserHazardTest, VectorsOfTheRightLengthAreTaken) {
  for (const char* instruction :
       {"ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%a];",
        "ld.v4.global.u32 {%r1, _, _, %r4}, [%a];",
        "ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%a];",
        "ld.global.nc.L2::cache_hint.v2.b64 {%d1, %d2}, [%a], %c;",
        "st.global.v2.b64 [%a], {%d1, 5};",
        "st.shared.u32 [%r1], %r2;",
        "ld.global.b128 %q, [%a];",
        "mov.b128 %q, {%d1, %d2};",
        "mov.b64 {%r1, %r2}, %d1;",
        "mov.b32 %r1, {%h1, %h2};",
        "mov.b64 {_, %f2}, %d1;",
        "mov.b32 %r1, {0, %h1};",
        "mov.b64 %d1, {%h1, %h2, %h3, %h4};",
        "mov.b32 {%h1, %h2}, 7;",
        "mov.b128 {%r1, %r2, %f3, %r4}, %q;",
        "mov.b64 %d1, {%r1, %tid.x};",
        "mov.b32 %r1, {%r2};",
        "{ .reg .b8 %b<3>; mov.b16 {%b1, %b2}, %h1; }",
        "atom.global.add.v2.f32 {%f1, %f2}, [%a], {%f3, %f4};",
        "atom.global.add.v2.f32 _, [%a], {%f3, %f4};",
        "red.global.add.noftz.v4.f16x2 [%a], {%r1, %r2, %r3, %r4};"}) {
    const ParseResult result = Parse(WithInstruction(instruction));
    EXPECT_TRUE(result.ok()) << instruction << ": " << result.errors[0];
  }
}

TEST(ParserHazardTest, EveryTruncationIsAnswered) {
  const std::string text = kModule;
  for (size_t size = 0; size < text.size(); ++size) {
    ExpectLocated(Parse(absl::string_view(text).substr(0, size)));
  }
}

TEST(ParserHazardTest, EveryMutationIsAnswered) {
  uint32_t state = 1;
  auto random = [&state](uint32_t limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
  };
  for (int round = 0; round < 20000; ++round) {
    std::string text = kModule;
    const int edits = 1 + static_cast<int>(random(4));
    for (int i = 0; i < edits; ++i) {
      const size_t at = random(static_cast<uint32_t>(text.size()));
      switch (random(4)) {
        case 0:
          text[at] = static_cast<char>(random(256));
          break;
        case 1:
          text.erase(at, 1 + random(8));
          break;
        case 2:
          text.insert(at, text.substr(random(text.size()), random(40)));
          break;
        default:
          text.insert(at, 1, "{}()[];,.%<>@!-0x\"\n"[random(19)]);
      }
    }
    ExpectLocated(Parse(text));
  }
}

TEST(ParserHazardTest, HugeCountsAndDeepNestingStayBounded) {
  const std::string head =
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(){\n";
  EXPECT_FALSE(
      Parse(absl::StrCat(head,
                         ".reg .b32 %r<18446744073709551615>;\n"
                         "mov.u32 %r18446744073709551614, 1;\nret;}\n"))
          .module.functions.empty());
  ExpectLocated(Parse(absl::StrCat(head, std::string(100000, '{'))));
  ExpectLocated(
      Parse(absl::StrCat(head, "mov.b32 ", std::string(100000, '{'))));
  ExpectLocated(
      Parse(".version 9.0\n.target sm_90\n.address_size 64\n"
            ".global .b8 a[99999999999999];\n"));
}

}  // namespace
}  // namespace holdfast::software::ptx
