// SPDX-License-Identifier: Apache-2.0
#include "core/compile/ptx_linker.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::compile {
namespace {

using holdfast::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::string Ptx(const std::string& body, const std::string& version = "8.0",
                const std::string& target = "sm_80") {
  return absl::StrCat(".version ", version, "\n.target ", target,
                      "\n.address_size 64\n", body);
}

absl::StatusOr<std::string> Link(const std::vector<std::string>& modules,
                                 std::vector<std::string> options = {}) {
  LinkSource source;
  for (size_t i = 0; i < modules.size(); ++i) {
    source.inputs.push_back(
        {std::string(1, char('a' + i)), ObjectFormat::kPtx, modules[i]});
  }
  source.target = ObjectFormat::kPtx;
  source.arch = "90";
  source.options = std::move(options);
  absl::StatusOr<ObjectCode> object = LinkPtx(source);
  if (!object.ok()) return object.status();
  return object->bytes;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(PtxLinkerTest, HeaderIsThatOfTheNewestAndLargest) {
  const auto linked =
      Link({Ptx("", "8.0", "sm_100"), Ptx("", "9.0", "sm_90a, debug")});
  ASSERT_OK(linked);
  EXPECT_TRUE(absl::StrContains(*linked, ".version 9.0\n.target sm_100\n"))
      << *linked;
}

TEST(PtxLinkerTest, DeclarationsGiveWayToDefinitions) {
  const auto linked = Link({Ptx(".extern .func f (.param .b32 p);\n"
                                ".extern .global .u32 v;\n"
                                ".visible .entry k() { call f, (1); ret; }"),
                            Ptx(".visible .func f(.param .b32 p)\n{ ret; }\n"
                                ".visible .global .u32 v = 3;")});
  ASSERT_OK(linked);
  EXPECT_EQ(Count(*linked, ".extern"), 0) << *linked;
  EXPECT_EQ(Count(*linked, ".visible .func f"), 2) << *linked;
  EXPECT_LT(linked->find(".visible .func f"), linked->find(".entry k"));
}

TEST(PtxLinkerTest, NamesThatModulesKeepToThemselvesStayApart) {
  const auto linked = Link({Ptx(".global .u32 x = 1;\n.visible .entry k() "
                                "{ ld.global.u32 %x, [x+4]; }"),
                            Ptx(".global .u32 x = 2;\n.visible .entry m() "
                                "{ ld.global.u32 %x, [x]; // x\n }")});
  ASSERT_OK(linked);
  EXPECT_TRUE(absl::StrContains(*linked, ".global .u32 x$0 = 1;")) << *linked;
  EXPECT_TRUE(absl::StrContains(*linked, ".global .u32 x$1 = 2;")) << *linked;
  EXPECT_TRUE(absl::StrContains(*linked, "%x, [x$0+4]")) << *linked;
  EXPECT_TRUE(absl::StrContains(*linked, "%x, [x$1]")) << *linked;
}

TEST(PtxLinkerTest, NewNameMeetsNoOther) {
  const auto linked =
      Link({Ptx(".global .u32 x;\n.global .u32 x$0;"), Ptx(".global .u32 x;")});
  ASSERT_OK(linked);
  EXPECT_EQ(Count(*linked, ".u32 x$0;"), 1) << *linked;
  EXPECT_EQ(Count(*linked, ".u32 x$0$;"), 1) << *linked;
}

TEST(PtxLinkerTest, VariablesComeAfterThoseTheyReferTo) {
  const auto linked = Link({Ptx(".extern .global .u32 later;\n"
                                ".global .u64 pointer = later;"),
                            Ptx(".visible .global .u32 later;")});
  ASSERT_OK(linked);
  EXPECT_LT(linked->find(".u32 later"), linked->find("pointer")) << *linked;
}

TEST(PtxLinkerTest, StrongDefinitionWinsOverWeakOnes) {
  const auto linked = Link({Ptx(".weak .func f() { mov.u32 %r1, 1; }"),
                            Ptx(".visible .func f() { mov.u32 %r1, 2; }"),
                            Ptx(".weak .func f() { mov.u32 %r1, 3; }")});
  ASSERT_OK(linked);
  EXPECT_TRUE(absl::StrContains(*linked, "%r1, 2")) << *linked;
  EXPECT_FALSE(absl::StrContains(*linked, "%r1, 1")) << *linked;
  EXPECT_FALSE(absl::StrContains(*linked, "%r1, 3")) << *linked;
}

TEST(PtxLinkerTest, EveryErrorNamesSymbolAndInput) {
  const absl::Status status =
      Link({Ptx(".visible .func f() {}\n.extern .func missing();\n"
                ".extern .func g();"),
            Ptx(".visible .func f() {}\n.visible .global .u32 g;")})
          .status();
  EXPECT_THAT(status, StatusIs(kInvalid, "multiple definition of 'f' in 'b'"));
  EXPECT_THAT(status,
              StatusIs(kInvalid, "undefined reference to 'missing' in 'a'"));
  EXPECT_THAT(status, StatusIs(kInvalid, "'g' is a function in one"));
  EXPECT_TRUE(GetErrorDetail(status).has_value());
}

TEST(PtxLinkerTest, ALaunchInAKernelIsNamedAsSuch) {
  EXPECT_THAT(
      Link({Ptx(".extern .func __cudaCDP2LaunchDeviceV2();"), Ptx("")})
          .status(),
      StatusIs(kInvalid,
               "undefined reference to '__cudaCDP2LaunchDeviceV2' in 'a': "
               "kernels cannot launch kernels (dynamic parallelism)"));
}

TEST(PtxLinkerTest, WhatEveryDeviceHasMayStayUndefined) {
  const auto linked =
      Link({Ptx(".extern .func vprintf();\n.extern .shared .b8 s[];"),
            Ptx(".extern .func vprintf();\n.extern .shared .b8 s[];")});
  ASSERT_OK(linked);
  EXPECT_EQ(Count(*linked, "vprintf"), 1);
  EXPECT_EQ(Count(*linked, ".extern .shared"), 1);
}

TEST(PtxLinkerTest, TheDeviceRuntimesFunctionsMayStayUndefined) {
  const auto linked =
      Link({Ptx(".extern .func cudaCGSynchronize();"), Ptx("")});
  ASSERT_TRUE(linked.ok()) << linked.status();
  EXPECT_EQ(Count(*linked, "cudaCGSynchronize"), 1);
}

TEST(PtxLinkerTest, DebugInformationIsDropped) {
  const auto linked =
      Link({Ptx(".file 1 \"x.cu\"\n.visible .func f()\n{\n"
                ".loc 1 5 3\nret;\n}\n"
                ".section .debug_str { .b8 1 }\n")});
  ASSERT_OK(linked);
  for (const char* part : {".loc", ".file", ".section"}) {
    EXPECT_FALSE(absl::StrContains(*linked, part)) << *linked;
  }
  EXPECT_TRUE(absl::StrContains(*linked, "ret;"));
}

TEST(PtxLinkerTest, MalformedModulesAreRefusedByName) {
  for (const char* body :
       {"}", ".visible .func f() {", ".global .u32 ;", ".global .u32 a, b;",
        ".visible .func f(", "\"", ".func"}) {
    EXPECT_THAT(Link({Ptx(""), Ptx(body)}), StatusIs(kInvalid, "\"b\""))
        << body;
  }
  EXPECT_THAT(Link({".version x\n.target sm_80\n"}), StatusIs(kInvalid, "x"));
  EXPECT_THAT(Link({".version 8.0\n.target sm_80\n.address_size 32\n"}),
              StatusIs(kInvalid, "32"));
}

TEST(PtxLinkerTest, ALimitOfRegistersIsForKernelsWithoutOne) {
  const auto linked = Link({Ptx(".visible .entry free()\n{\n ret;\n}\n"
                                ".visible .entry bound() .maxnreg 16\n{\n"
                                " ret;\n}\n"
                                ".visible .func no_kernel()\n{\n ret;\n}\n")},
                           {"--maxrregcount=32"});
  ASSERT_OK(linked);
  EXPECT_EQ(Count(*linked, ".maxnreg 32"), 1u);
  EXPECT_EQ(Count(*linked, ".maxnreg 16"), 1u);
  const size_t free = linked->find("entry free");
  EXPECT_LT(free, linked->find(".maxnreg 32"));
  EXPECT_LT(linked->find(".maxnreg 32"), linked->find('{', free));
}

TEST(PtxLinkerTest, NoOtherOptionCanBeHonoured) {
  EXPECT_THAT(Link({Ptx("")}, {"--use_fast_math"}),
              StatusIs(kInvalid, "--use_fast_math"));
}

}  // namespace
}  // namespace holdfast::compile
