// SPDX-License-Identifier: Apache-2.0
#include "client/cli/argument_spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "absl/strings/match.h"
#include "client/cli/usage_error.h"
#include "client/cpp/submission/wire_writer.h"
#include "holdfast/v1/launch.pb.h"

namespace holdfast::cli {
namespace {

using Kind = ArgumentSpec::Kind;

v1::Argument Encode(const std::string& text) {
  v1::Argument argument;
  const auto spec = ArgumentSpec::Parse(text);
  EXPECT_TRUE(spec.ok()) << spec.status();
  if (spec.ok()) {
    WireWriter writer(16);
    ToArgument(*spec).Encode(writer);
    EXPECT_TRUE(argument.ParseFromArray(writer.data(),
                                        static_cast<int>(writer.size())));
  }
  return argument;
}

void ExpectRefused(const std::string& text, const std::string& why) {
  const auto spec = ArgumentSpec::Parse(text);
  ASSERT_FALSE(spec.ok()) << text;
  EXPECT_TRUE(absl::StrContains(spec.status().message(), text))
      << spec.status();
  EXPECT_TRUE(absl::StrContains(spec.status().message(), why)) << spec.status();
  EXPECT_TRUE(IsUsageError(spec.status()));
}

TEST(ArgumentSpecTest, EveryScalarTypeKeepsItsTypeAndValue) {
  EXPECT_TRUE(Encode("bool:true").boolean());
  EXPECT_FALSE(Encode("bool:0").boolean());
  EXPECT_EQ(Encode("i8:-128").i8(), -128);
  EXPECT_EQ(Encode("i16:-32768").i16(), -32768);
  EXPECT_EQ(Encode("i32:-2147483648").i32(), INT32_MIN);
  EXPECT_EQ(Encode("i64:-9223372036854775808").i64(), INT64_MIN);
  EXPECT_EQ(Encode("u8:255").u8(), 255u);
  EXPECT_EQ(Encode("u16:0xffff").u16(), 65535u);
  EXPECT_EQ(Encode("u32:4294967295").u32(), UINT32_MAX);
  EXPECT_EQ(Encode("u64:18446744073709551615").u64(), UINT64_MAX);
  EXPECT_EQ(Encode("f32:2").f32(), 2.0f);
  EXPECT_EQ(Encode("f64:-1e300").f64(), -1e300);
  EXPECT_EQ(Encode("raw:00ff10").raw(), std::string("\x00\xff\x10", 3));
}

TEST(ArgumentSpecTest, HalfIsRoundedToNearestEven) {
  const auto bits = [](const std::string& text) {
    return Encode(text).f16_bits();
  };
  EXPECT_EQ(bits("f16:1"), 0x3c00u);
  EXPECT_EQ(bits("f16:-2"), 0xc000u);
  EXPECT_EQ(bits("f16:0"), 0x0000u);
  EXPECT_EQ(bits("f16:-0"), 0x8000u);
  EXPECT_EQ(bits("f16:65504"), 0x7bffu);
  EXPECT_EQ(bits("f16:inf"), 0x7c00u);
  EXPECT_EQ(bits("f16:nan"), 0x7e00u);
  EXPECT_EQ(bits("f16:5.960464477539063e-08"), 0x0001u);  // least subnormal
  EXPECT_EQ(bits("f16:6.103515625e-05"), 0x0400u);        // least normal
  EXPECT_EQ(bits("f16:1.00048828125"), 0x3c00u);          // a tie, to even
  EXPECT_EQ(bits("f16:1.00146484375"), 0x3c02u);          // a tie, to even
  EXPECT_EQ(bits("f16:1.0004882812501"), 0x3c01u);        // just above a tie
  ExpectRefused("f16:65520", "not a value of f16");
  // Half of the least subnormal would become 0.
  ExpectRefused("f16:2.980232238769531e-08", "not a value of f16");
}

TEST(ArgumentSpecTest, BFloat16IsRoundedOnce) {
  EXPECT_EQ(Encode("bf16:1").f16_bits(), 0x3f80u);
  EXPECT_EQ(Encode("bf16:3.14159265358979").f16_bits(), 0x4049u);
  // Above the tie by less than a float can tell: rounding to float first would
  // lose it.
  EXPECT_EQ(Encode("bf16:1.00390625000001").f16_bits(), 0x3f81u);
  ExpectRefused("bf16:1e39", "not a value of bf16");
}

TEST(ArgumentSpecTest, ValuesOutOfRangeAreRefused) {
  ExpectRefused("u8:256", "not a value of u8");
  ExpectRefused("i8:128", "not a value of i8");
  ExpectRefused("u32:-1", "not a value of u32");
  ExpectRefused("u64:18446744073709551616", "not a value of u64");
  ExpectRefused("f32:1e39", "not a value of f32");
  ExpectRefused("f32:1e400", "not a value of f32");
  ExpectRefused("f64:-1e400", "not a value of f64");
  ExpectRefused("f32:1e-300", "not a value of f32");
  ExpectRefused("f64:1e-400", "not a value of f64");
  ExpectRefused("bf16:1e-60", "not a value of bf16");
  EXPECT_EQ(Encode("f32:0e-400").f32(), 0.0f);
  EXPECT_EQ(Encode("f32:-inf").f32(), -HUGE_VALF);
  EXPECT_EQ(Encode("f64:infinity").f64(), HUGE_VAL);
  ExpectRefused("bool:2", "not a value of bool");
  ExpectRefused("i32:1.5", "not a value of i32");
  ExpectRefused("i32:", "not a value of i32");
  ExpectRefused("c64:1", "no scalars of type c64");
}

TEST(ArgumentSpecTest, BuffersNameTheirFilesAndForm) {
  const auto in = ArgumentSpec::Parse("in:x.npy");
  ASSERT_TRUE(in.ok());
  EXPECT_EQ(in->kind, Kind::kBuffer);
  EXPECT_EQ(in->input, "x.npy");
  EXPECT_EQ(in->output, "");

  const auto out = ArgumentSpec::Parse("out:dir:with:colons/z.npy:f64[10,20]");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->output, "dir:with:colons/z.npy");
  EXPECT_EQ(out->type, ElementType::kF64);
  EXPECT_EQ(out->shape, (std::vector<uint64_t>{10, 20}));

  const auto both = ArgumentSpec::Parse("inout:x.npy:y.npy");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->input, "x.npy");
  EXPECT_EQ(both->output, "y.npy");

  const auto single = ArgumentSpec::Parse("out:z.npy:f32[]");
  ASSERT_TRUE(single.ok()) << single.status();
  EXPECT_TRUE(single->shape.empty());

  const auto scratch = ArgumentSpec::Parse("scratch:4096");
  ASSERT_TRUE(scratch.ok());
  EXPECT_EQ(scratch->shape, (std::vector<uint64_t>{4096}));
}

TEST(ArgumentSpecTest, ArraysOfKnownElementsNeedNoFile) {
  const auto in = ArgumentSpec::Parse("in:arange:i32[2,3]");
  ASSERT_TRUE(in.ok()) << in.status();
  EXPECT_EQ(in->input, "");
  EXPECT_EQ(in->elements, Elements::kArange);
  EXPECT_EQ(in->type, ElementType::kI32);
  EXPECT_EQ(in->shape, (std::vector<uint64_t>{2, 3}));
  const auto both = ArgumentSpec::Parse("inout:ones:f64[4]:y.npy");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->elements, Elements::kOnes);
  EXPECT_EQ(both->output, "y.npy");
  // A file may have such a name.
  EXPECT_EQ(ArgumentSpec::Parse("in:zeros")->input, "zeros");
  ExpectRefused("in:arange:f33[4]", "unknown type");
  ExpectRefused("inout:x:y:z.npy", "inout:FILE.npy:OUT.npy");
}

TEST(GeneratedArrayTest, ElementsAreOfTheirType) {
  EXPECT_EQ(*Generate(Elements::kArange, ElementType::kU8, 3),
            std::string("\x00\x01\x02", 3));
  EXPECT_EQ(*Generate(Elements::kOnes, ElementType::kF16, 2),
            std::string("\x00\x3c\x00\x3c", 4));
  EXPECT_EQ(*Generate(Elements::kZeros, ElementType::kC128, 1),
            std::string(16, '\0'));
  // 128 is not an i8.
  EXPECT_FALSE(Generate(Elements::kArange, ElementType::kI8, 129).ok());
  EXPECT_TRUE(absl::IsOutOfRange(
      Generate(Elements::kZeros, ElementType::kF64, uint64_t{1} << 60)
          .status()));
}

TEST(ArgumentSpecTest, MalformedArgumentsSayWhatIsWanted) {
  ExpectRefused("2.0", "TYPE:VALUE");
  ExpectRefused("float:2", "unknown type \"float\"; there are bool, i8");
  ExpectRefused("raw:abc", "two digits a byte");
  ExpectRefused("raw:zz", "two digits a byte");
  ExpectRefused("raw:", "two digits a byte");
  ExpectRefused("in:", "in:FILE.npy");
  ExpectRefused("inout:x.npy", "inout:FILE.npy:OUT.npy");
  ExpectRefused("out:z.npy", "out:FILE.npy:TYPE[N,...]");
  ExpectRefused("out:z.npy:f32[5", "out:FILE.npy:TYPE[N,...]");
  ExpectRefused("out:z.npy:f32[x]", "not a list");
  ExpectRefused("out:z.npy:f33[5]", "unknown type");
  ExpectRefused("out:arange:f32[8]:c.npy",
                "wanted is out:FILE.npy:TYPE[N,...], or inout:arange:");
  ExpectRefused("inn:c.npy", "wanted is TYPE:VALUE, in:, out:, inout:");
  ExpectRefused("scratch:many", "scratch:BYTES");
}

TEST(ParseNumbersTest, TakesOneToTheLimit) {
  EXPECT_EQ(*ParseNumbers("196", 3), (std::vector<uint64_t>{196}));
  EXPECT_EQ(*ParseNumbers("1,2,3", 3), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_FALSE(ParseNumbers("1,2,3,4", 3).ok());
  EXPECT_FALSE(ParseNumbers("1,,3", 3).ok());
  EXPECT_FALSE(ParseNumbers("", 3).ok());
  EXPECT_FALSE(ParseNumbers("-1", 3).ok());
}

}  // namespace
}  // namespace holdfast::cli
