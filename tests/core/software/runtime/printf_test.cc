// SPDX-License-Identifier: Apache-2.0
//
// Text from device code: printf, compared with the host's, and assert.
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

TEST(PrintfTest, EveryThreadPrintsItsArguments) {
  KernelProgram program(R"(
extern "C" __global__ void k(int n) {
  printf("thread %d of %s: %5.2f %llx %c%%\n", threadIdx.x, "block", threadIdx.x * 1.5,
         0x123456789abcull + threadIdx.x, 'a' + threadIdx.x);
})");
  testing::internal::CaptureStdout();
  ExpectSuccess(program.Run(Geometry(1, 2), 0));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "thread 0 of block:  0.00 123456789abc a%\n"
            "thread 1 of block:  1.50 123456789abd b%\n");
}

TEST(PrintfTest, TellsHowManyArgumentsItPrinted) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  out[0] = printf("%d %s %%\n", 5, "x"); out[1] = printf("plain\n"); out[2] = printf("%5.1f\n", 2.5);
})");
  int out[3] = {};
  testing::internal::CaptureStdout();
  ExpectSuccess(program.Run(Geometry(1, 1), +out));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "5 x %\nplain\n  2.5\n");
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[2], 1);
}

// Returns the text that the host's printf makes of the same format.
std::string HostText(const char* format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  const int length = std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return {text, static_cast<size_t>(length)};
}

std::string Printed(const std::string& call) {
  KernelProgram program("extern \"C\" __global__ void k() { " + call + " }");
  testing::internal::CaptureStdout();
  ExpectSuccess(program.Run(Geometry(1, 1)));
  return testing::internal::GetCapturedStdout();
}

std::string Call(const std::string& format, const std::string& arguments) {
  return "printf(\"" + format + "|\", " + arguments + "); ";
}

TEST(PrintfTest, FlagsWidthsPrecisionsAndLengthsAreTheHosts) {
  const std::vector<std::string> flags = {"",  "-", "+",  " ",
                                          "#", "0", "-#", "+0"};
  const std::vector<std::string> widths = {"", "1", "12"};
  const std::vector<std::string> precisions = {"", ".", ".0", ".3"};
  for (const std::string& flag : flags) {
    std::string calls, expected;
    for (const std::string& width : widths) {
      for (const std::string& precision : precisions) {
        const std::string shape = "%" + flag + width + precision;
        for (const char* kind :
             {"hhd", "hd", "d", "i", "hhu", "hx", "u", "o", "x", "X"}) {
          calls += Call(shape + kind, "-77777");
          expected += HostText((shape + kind + "|").c_str(), -77777);
        }
        for (const char* kind : {"lld", "llu", "lx", "zu", "jd", "td", "llo"}) {
          calls += Call(shape + kind, "-5000000000ll");
          expected += HostText((shape + kind + "|").c_str(), -5000000000ll);
        }
        for (const char* kind : {"e", "E", "f", "F", "g", "G", "a", "A"}) {
          calls += Call(shape + kind, "1234.5625");
          expected += HostText((shape + kind + "|").c_str(), 1234.5625);
        }
        calls += Call(shape + "s", "\"text\"") + Call(shape + "c", "'c'") +
                 Call(shape + "p", "(void*)0x1234") + "\n";
        expected +=
            HostText((shape + "s|").c_str(), "text") +
            HostText((shape + "c|").c_str(), 'c') +
            HostText((shape + "p|").c_str(), reinterpret_cast<void*>(0x1234));
      }
    }
    EXPECT_EQ(Printed(calls), expected);
  }
}

TEST(PrintfTest, AWidthMayBeAnArgument) {
  EXPECT_EQ(Printed(R"(
    printf("%*d|%-*d|%*d|", 6, 42, 6, 42, -6, 42);
    printf("%*s|%0*x|%+*.2f|%*lld|", 5, "ab", 4, 255, 8, 1.5, 12, 1ll << 32);
    printf("%*d|", 0, 7);)"),
            "    42|42    |42    |   ab|00ff|   +1.50|  4294967296|7|");
}

TEST(PrintfTest, WhatIsNoConversionIsPrintedAsItStands) {
  EXPECT_EQ(Printed(R"(
    printf("%.*f|%n|%k|%5y|%lln|%d|", 1.5, 7);
    printf("100%"); printf("|%5"); printf("|%%|%5%|");)"),
            "%.*f|%n|%k|%5y|%lln|0|100%|%5|%|%|");
}

TEST(PrintfTest, ANullStringIsNamedAndOthersAreNotTouched) {
  EXPECT_EQ(Printed(R"(
    printf("%s|%8s|%-8s|%s|", (const char*)0, (const char*)0, (const char*)0, "x");)"),
            "(null)|  (null)|(null)  |x|");
}

TEST(PrintfTest, TheValueCountsWidths) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) { out[0] = printf("%*d %d %%\n", 3, 1, 2); })");
  int out[1] = {};
  testing::internal::CaptureStdout();
  ExpectSuccess(program.Run(Geometry(1, 1), +out));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "  1 2 %\n");
  EXPECT_EQ(out[0], 3);
}

TEST(PrintfTest, OfMoreThanThereIsRoomForTheOldestIsLost) {
  KernelProgram program(R"(
extern "C" __global__ void k(int n) { for (int i = 0; i < n; ++i) printf("line %3d\n", i); })");
  LaunchGeometry geometry = Geometry(1, 1);
  geometry.print_bytes = 30;
  testing::internal::CaptureStdout();
  ExpectSuccess(program.Run(geometry, 200));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "line 197\nline 198\nline 199\n");
}

TEST(AssertTest, AFailedAssertionNamesItselfAndEndsTheLaunch) {
  KernelProgram program(R"(
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
extern "C" __global__ void k(int n) {
  if (threadIdx.x == 5) __assertfail("n > 3\n&&", "kernel.cu", 17, "k", 1);
})");
  testing::internal::CaptureStderr();
  const LaunchOutcome outcome = program.Run(Geometry(1, 32), 0);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(outcome.result, CUDA_ERROR_ASSERT);
  EXPECT_NE(text.find("kernel.cu:17: k: block: [0,0,0], thread: [5,0,0] "
                      "Assertion `n > 3 &&` failed.\n"),
            std::string::npos)
      << text;
  EXPECT_NE(outcome.message.find(
                ": assertion `n > 3 &&` failed at kernel.cu:17, in k"),
            std::string::npos)
      << outcome.message;
}

}  // namespace
}  // namespace holdfast::software
