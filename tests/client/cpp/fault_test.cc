// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/fault.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "client/cpp/compile/source_lines.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast {
namespace {

constexpr char kDriverSays[] =
    "CUDA_ERROR_ILLEGAL_ADDRESS: kernel _Z3putIfEvPT_, block (0,0,0), thread "
    "(1,0,0), PTX line 9, put.cu:2: st: access to address 0x0";

v1::FaultReport Report(const std::string& cause) {
  v1::FaultReport report;
  report.set_epoch(1);
  report.set_kernel("_Z3putIfEvPT_");
  report.mutable_block();
  report.mutable_thread()->set_x(1);
  report.set_source_line("put.cu:2");
  report.mutable_cause()->set_message(cause);
  report.add_last_commands("launch _Z3putIfEvPT_");
  return report;
}

TEST(FaultTest, KernelsHaveTheNamesOfTheirSource) {
  const v1::FaultReport report = Report(kDriverSays);
  const std::string text = DescribeFault(report);
  EXPECT_TRUE(absl::StrContains(text, "kernel put<float>, block")) << text;
  EXPECT_TRUE(absl::StrContains(text, "launch put<float>")) << text;
  EXPECT_FALSE(absl::StrContains(text, "_Z")) << text;
  const absl::Status status = FaultStatus("s-1", report);
  EXPECT_FALSE(absl::StrContains(status.message(), "_Z")) << status;
}

TEST(FaultTest, ASummaryHasWhatAProgramNeedsToGoOn) {
  v1::FaultReport report = Report(kDriverSays);
  report.set_submitted_through(7);
  const auto summary = SummarizeFault(FaultStatus("s-1", report));
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->epoch, 1u);
  EXPECT_EQ(summary->submitted_through, 7u);
  EXPECT_EQ(summary->kernel, "_Z3putIfEvPT_");
  EXPECT_EQ(summary->description, DescribeFault(report));
  EXPECT_FALSE(SummarizeFault(absl::AbortedError("other")).has_value());
}

TEST(FaultTest, ASessionThatWaitsForRecoveryDoesNotSayThatItGoesOn) {
  const v1::FaultReport report = Report("an illegal address");
  const absl::Status waits = FaultStatus("s-1", report, AfterFault::kWaits);
  EXPECT_TRUE(absl::StrContains(waits.message(), "told to recover")) << waits;
  EXPECT_FALSE(absl::StrContains(waits.message(), "goes on")) << waits;
  EXPECT_TRUE(absl::EndsWith(MessageWith(waits, AfterFault::kContextIsLost),
                             "; the program's context is lost: as with CUDA's "
                             "driver, every later call fails"));
  EXPECT_FALSE(absl::StrContains(MessageWith(waits, AfterFault::kContextIsLost),
                                 "objects that it had"));
  const absl::Status goes_on = FaultStatus("s-1", report);
  EXPECT_TRUE(absl::StrContains(goes_on.message(), "goes on")) << goes_on;
}

TEST(FaultTest, ThePlaceIsToldOnce) {
  const std::string told = DescribeFault(Report(kDriverSays));
  EXPECT_EQ(told.find("thread (1,0,0)"), told.rfind("thread (1,0,0)")) << told;
  EXPECT_FALSE(absl::StrContains(told, "\n  at: ")) << told;
  // A GPU's driver tells no place.
  const std::string untold = DescribeFault(Report("an illegal address"));
  EXPECT_TRUE(absl::StrContains(untold, "\n  at: kernel put<float>, block"))
      << untold;
}

TEST(FaultTest, CommandsAreToldByTheirNumbers) {
  v1::FaultReport report = Report(kDriverSays);
  EXPECT_TRUE(absl::StrContains(
      DescribeFault(report),
      "\n  commands: none completed, none may have run, none dropped\n"))
      << DescribeFault(report);
  report.set_submitted_through(17);
  EXPECT_TRUE(absl::StrContains(
      DescribeFault(report),
      "\n  commands: none known to have completed, 1 to 17 may have run, "))
      << DescribeFault(report);
  report.set_completed_through(14);
  report.set_received_through(18);
  EXPECT_TRUE(absl::StrContains(
      DescribeFault(report),
      "\n  commands: 1 to 14 completed, 15 to 17 may have run, 18 dropped\n"))
      << DescribeFault(report);
}

TEST(FaultTest, TheKernelIsNamedWhereTheDriverDoesNot) {
  v1::FaultReport report = Report("the context is lost.");
  report.clear_block();
  report.clear_thread();
  report.clear_source_line();
  EXPECT_TRUE(absl::StrContains(
      FaultStatus("s-1", report).message(),
      "the context is lost; unfinished: kernel put<float>; it goes on"))
      << FaultStatus("s-1", report);
  const absl::Status told = FaultStatus("s-1", Report(kDriverSays));
  EXPECT_FALSE(absl::StrContains(told.message(), "unfinished")) << told;
}

TEST(FaultTest, TheLineOfTheSourceIsQuoted) {
  NoteSource("put.cu", "template <typename T>\n__global__ void put(T* x) {}\n");
  const std::string text = DescribeFault(Report(kDriverSays));
  EXPECT_TRUE(absl::StrContains(
      text, "\n  at: put.cu:2:  __global__ void put(T* x) {}"))
      << text;
}

}  // namespace
}  // namespace holdfast
