// SPDX-License-Identifier: Apache-2.0
//
// A shape's claim about a result holds for every value of operands that have
// their claimed shapes.
#include "core/software/analysis/lane_shape.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/software/ptx/parser.h"
#include "gtest/gtest.h"

namespace holdfast::software::analysis {
namespace {

using Lanes = std::array<uint32_t, kWarpLanes>;
using Operation = std::function<uint32_t(uint32_t, uint32_t)>;

constexpr int kChunkLanes = 8;

ptx::Module Parse(const std::string& instruction) {
  const std::string text = absl::StrCat(
      ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n",
      ".reg .b32 %r<4>; .reg .pred %p<2>; .reg .b64 %d<4>;\n", instruction,
      "\nret;\n}\n");
  ptx::ParseResult parsed = ptx::Parse(text);
  EXPECT_TRUE(parsed.ok()) << instruction;
  return std::move(parsed.module);
}

// Values that have the shape, with random bases.
Lanes ValuesOf(const LaneShape& shape, std::mt19937* random) {
  Lanes lanes;
  const int unit = shape.wide ? kWarpLanes : kChunkLanes;
  uint32_t base = 0;
  for (int i = 0; i < kWarpLanes; ++i) {
    if (i % unit == 0) {
      base = static_cast<uint32_t>((*random)() % 4096)
             << std::min(shape.zeros, 20);
    }
    lanes[i] = base + static_cast<uint32_t>(shape.stride * (i % unit));
    if (shape.varying) lanes[i] = static_cast<uint32_t>((*random)());
  }
  return lanes;
}

bool Has(const Lanes& lanes, const LaneShape& shape) {
  if (shape.varying) return true;
  const int unit = shape.wide ? kWarpLanes : kChunkLanes;
  const uint32_t low =
      shape.zeros >= 32 ? ~0u : (uint32_t{1} << shape.zeros) - 1;
  for (int i = 0; i < kWarpLanes; ++i) {
    const uint32_t base = lanes[i - i % unit];
    const auto step = static_cast<uint32_t>(shape.stride * (i % unit));
    if (lanes[i] != base + step || (base & low) != 0) return false;
  }
  return true;
}

LaneShape RandomShape(std::mt19937* random) {
  constexpr int64_t kStrides[] = {0, 0, 0, 1, 1, 1, 2, 3, 4, 12, 32, -1};
  if ((*random)() % 16 == 0) return LaneShape::Varying();
  return {false, (*random)() % 2 == 0, kStrides[(*random)() % 12],
          static_cast<int>((*random)() % 12)};
}

struct Case {
  const char* name;
  Operation compute;
  bool predicate = false;
};

const std::vector<Case>& Cases() {
  using U = uint32_t;
  const auto s = [](U value) { return static_cast<int32_t>(value); };
  static const auto& cases = *new std::vector<Case>{
      {"add.s32", [](U a, U b) { return a + b; }},
      {"sub.s32", [](U a, U b) { return a - b; }},
      {"mul.lo.s32", [](U a, U b) { return a * b; }},
      {"and.b32", [](U a, U b) { return a & b; }},
      {"or.b32", [](U a, U b) { return a | b; }},
      {"xor.b32", [](U a, U b) { return a ^ b; }},
      {"shl.b32", [](U a, U b) { return b > 31 ? 0 : a << b; }},
      {"shr.u32", [](U a, U b) { return b > 31 ? 0 : a >> b; }},
      {"shr.s32", [s](U a, U b) { return U(s(a) >> std::min(b, U{31})); }},
      {"min.u32", [](U a, U b) { return std::min(a, b); }},
      {"setp.lt.u32", [](U a, U b) { return U{a < b}; }, true},
      {"setp.le.u32", [](U a, U b) { return U{a <= b}; }, true},
      {"setp.hi.u32", [](U a, U b) { return U{a > b}; }, true},
      {"setp.hs.u32", [](U a, U b) { return U{a >= b}; }, true},
      {"setp.gt.s32", [s](U a, U b) { return U{s(a) > s(b)}; }, true},
      {"setp.ge.s32", [s](U a, U b) { return U{s(a) >= s(b)}; }, true},
      {"setp.lt.s32", [s](U a, U b) { return U{s(a) < s(b)}; }, true},
      {"setp.eq.s32", [](U a, U b) { return U{a == b}; }, true},
  };
  return cases;
}

// A constant where it is the second operand's turn to be one.
struct Second {
  LaneShape shape;
  std::string text = "%r2";
  uint32_t value = 0;
};

Second RandomSecond(std::mt19937* random) {
  constexpr uint32_t kConstants[] = {0,  1,  3,   4,   5,   7,          8,
                                     15, 31, 32,  63,  96,  127,        128,
                                     16, 24, 255, 256, 992, 4294967264u};
  Second second{RandomShape(random)};
  if ((*random)() % 2 == 0) return second;
  second.value = kConstants[(*random)() % 20];
  second.text = absl::StrCat(second.value);
  second.shape = {};
  return second;
}

TEST(ShapeTest, ResultsHaveTheShapesThatAreClaimed) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    const Case& one = Cases()[random() % Cases().size()];
    const LaneShape first = RandomShape(&random);
    const Second second = RandomSecond(&random);
    const bool swapped = random() % 4 == 0;
    const std::string text =
        absl::StrCat(one.name, one.predicate ? " %p1, " : " %r3, ",
                     swapped ? second.text : "%r1", ", ",
                     swapped ? "%r1" : second.text, ";");
    static auto& parsed = *new std::map<std::string, ptx::Module>;
    if (parsed.count(text) == 0) parsed.emplace(text, Parse(text));
    const auto& instruction = parsed.at(text).functions[0].body[0];
    const std::vector<LaneShape> shapes = {LaneShape{},
                                           swapped ? second.shape : first,
                                           swapped ? first : second.shape};
    const LaneShape claimed =
        ResultShape(instruction, shapes, Mode::kFull, kChunkLanes);
    Lanes a = ValuesOf(first, &random), b = ValuesOf(second.shape, &random);
    if (second.text != "%r2") b.fill(second.value);
    Lanes result;
    for (int i = 0; i < kWarpLanes; ++i) {
      result[i] = swapped ? one.compute(b[i], a[i]) : one.compute(a[i], b[i]);
    }
    EXPECT_TRUE(Has(result, claimed))
        << text << " first " << first.stride << "/" << first.zeros
        << (first.wide ? " wide" : " chunk") << " second "
        << second.shape.stride << "/" << second.shape.zeros << " claimed "
        << claimed.stride << "/" << claimed.zeros;
  }
}

TEST(ShapeTest, JoinedShapesHoldForBoth) {
  std::mt19937 random(8);
  for (int round = 0; round < 5000; ++round) {
    const LaneShape a = RandomShape(&random), b = RandomShape(&random);
    const LaneShape joined = Join(a, b, kChunkLanes);
    EXPECT_TRUE(Has(ValuesOf(a, &random), joined));
    EXPECT_TRUE(Has(ValuesOf(b, &random), joined));
  }
}

LaneShape Of(const std::string& text, const LaneShape& first) {
  const ptx::Module module = Parse(text);
  const ptx::Instruction& instruction = module.functions[0].body[0];
  std::vector<LaneShape> shapes(instruction.operands.size());
  shapes[1] = first;
  return ResultShape(instruction, shapes, Mode::kFull, kChunkLanes);
}

TEST(ShapeTest, AWarpHasOneWarpNumberAndItsLanesCountFromZero) {
  const LaneShape thread =
      ShapeOfSpecial(ptx::Special::kTidX, {256}, Mode::kFull, kChunkLanes);
  EXPECT_TRUE(Of("shr.u32 %r3, %r1, 5;", thread).uniform());
  EXPECT_TRUE(Of("and.b32 %r3, %r1, -32;", thread).uniform());
  EXPECT_TRUE(Of("setp.lt.u32 %p1, %r1, 32;", thread).uniform());
  EXPECT_TRUE(Of("setp.gt.u32 %p1, %r1, 31;", thread).uniform());
  EXPECT_TRUE(Of("setp.gt.u32 %p1, %r1, 32;", thread).varying);
  EXPECT_TRUE(Of("shr.u32 %r3, %r1, 4;", thread).varying);
  const LaneShape lane = Of("and.b32 %r3, %r1, 31;", thread);
  EXPECT_EQ(lane.stride, 1);
  EXPECT_GE(lane.zeros, 32);
}

TEST(ShapeTest, RowsOfWholeWarpsAndOfLessThanOneShareTheirCode) {
  const BlockShape any = BlockShape::ForLaunch(1024, 1, 1);
  EXPECT_TRUE(any.any_row());
  for (const uint32_t threads : {1u, 31u, 32u, 64u}) {
    EXPECT_EQ(BlockShape::ForLaunch(threads, 1, 1), any) << threads;
  }
  EXPECT_EQ(BlockShape::ForLaunch(33, 1, 1), (BlockShape{33, 1, 1}));
  EXPECT_EQ(BlockShape::ForLaunch(32, 2, 1), (BlockShape{32, 2, 1}));
  // A block of less than a warp runs masked code only.
  EXPECT_EQ(
      ShapeOfSpecial(ptx::Special::kNtidX, any, Mode::kFull, kChunkLanes).zeros,
      5);
  EXPECT_EQ(
      ShapeOfSpecial(ptx::Special::kNtidX, any, Mode::kMasked, kChunkLanes)
          .zeros,
      0);
}

TEST(ShapeTest, HalvesOfAnAffineNumberAreNotAffine) {
  const LaneShape affine{false, true, 4, 7};
  EXPECT_TRUE(Of("mov.b64 {%r1, %r2}, %d1;", affine).varying);
  const LaneShape uniform{false, true, 0, 40};
  EXPECT_EQ(Of("mov.b64 {%r1, %r2}, %d1;", uniform).zeros, 0);
}

}  // namespace
}  // namespace holdfast::software::analysis
