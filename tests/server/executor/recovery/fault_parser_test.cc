// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/fault_parser.h"

#include <gtest/gtest.h>

namespace holdfast::executor {
namespace {

TEST(FaultParserTest, HasKernelBlockThreadAndSourceLine) {
  const internal::Fault fault = ParseFaultText(
      "A kernel accessed an address that is not mapped. kernel stray, block "
      "(1,2,3), thread (37,0,4), PTX line 12, dir/kernels.cu:18: st: access to "
      "address 0x10, where no memory is mapped");
  EXPECT_EQ(fault.kernel(), "stray");
  EXPECT_EQ(fault.block().x(), 1u);
  EXPECT_EQ(fault.block().z(), 3u);
  EXPECT_EQ(fault.thread().x(), 37u);
  EXPECT_EQ(fault.thread().z(), 4u);
  EXPECT_EQ(fault.source_line(), "dir/kernels.cu:18");
}

TEST(FaultParserTest, WithoutLineInformationItIsTheLineOfThePtx) {
  const internal::Fault fault = ParseFaultText(
      "kernel f, block (0,0,0), thread (0,0,0), PTX line 7: trap: trap");
  EXPECT_EQ(fault.source_line(), "PTX:7");
}

TEST(FaultParserTest, SeveralThreadsAreNoThread) {
  const internal::Fault fault = ParseFaultText(
      "kernel f, block (0,0,0), threads (0,0,0) to (31,0,0): trap");
  EXPECT_EQ(fault.kernel(), "f");
  EXPECT_TRUE(fault.has_block());
  EXPECT_FALSE(fault.has_thread());
  EXPECT_EQ(fault.source_line(), "");
}

TEST(FaultParserTest, AnyOtherTextSaysNothing) {
  for (const char* text :
       {"", "kernel", ", block (", "kernel f was given up", "block (1,2,3)"}) {
    const internal::Fault fault = ParseFaultText(text);
    EXPECT_FALSE(fault.has_thread()) << text;
    EXPECT_EQ(fault.source_line(), "") << text;
  }
}

TEST(FaultParserTest, AnAssertionTellsItsPlaceButNoKernel) {
  const internal::Fault fault = ParseAssertion(
      "a.cu:4: void check(const int *, int): block: [1,2,3], thread: [2,0,7] "
      "Assertion `x[i] >= 0` failed.");
  EXPECT_EQ(fault.kernel(), "");
  EXPECT_EQ(fault.block().z(), 3u);
  EXPECT_EQ(fault.thread().x(), 2u);
  EXPECT_EQ(fault.thread().z(), 7u);
  EXPECT_EQ(fault.source_line(), "a.cu:4");
  const internal::Fault none = ParseAssertion("");
  EXPECT_FALSE(none.has_block() || none.has_thread());
  EXPECT_EQ(none.source_line(), "");
}

}  // namespace
}  // namespace holdfast::executor
