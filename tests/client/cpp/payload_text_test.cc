// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/payload_text.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "client/cpp/fault.h"
#include "core/base/error_detail.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast {
namespace {

TEST(PayloadTextTest, AStatusShowsNoBytes) {
  PrintPayloadsAsText();
  v1::FaultReport report;
  report.set_epoch(1);
  report.set_kernel("put");
  report.set_source_line("put.cu:3");
  report.mutable_cause()->set_message(
      "cuEventQuery: CUDA_ERROR_ILLEGAL_ADDRESS: an address is not its own");
  absl::Status status = FaultStatus("s-1", report);
  SetErrorDetail({.call = "cuEventQuery",
                  .result = 700,
                  .result_name = "CUDA_ERROR_ILLEGAL_ADDRESS"},
                 &status);
  const std::string text = status.ToString();
  EXPECT_FALSE(absl::StrContains(text, "\\x")) << text;
  for (const char* part : {"at: kernel put, put.cu:3",
                           "cuEventQuery: CUDA_ERROR_ILLEGAL_ADDRESS"}) {
    const size_t at = text.find(part);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find(part, at + 1), std::string::npos) << "twice: " << text;
  }
}

TEST(PayloadTextTest, ACompilersLogIsTheMessagesAlone) {
  PrintPayloadsAsText();
  absl::Status status = absl::InvalidArgumentError(
      "nvrtcCompileProgram: NVRTC_ERROR_COMPILATION: k.cu(1): error: no");
  SetErrorDetail({.call = "nvrtcCompileProgram",
                  .result_name = "NVRTC_ERROR_COMPILATION",
                  .log = "k.cu(1): error: no"},
                 &status);
  const std::string text = status.ToString();
  EXPECT_EQ(text.find("k.cu"), text.rfind("k.cu")) << text;
  EXPECT_EQ(text.find("NVRTC_"), text.rfind("NVRTC_")) << text;
}

TEST(PayloadTextTest, PayloadsOfOthersStayAsTheyAre) {
  PrintPayloadsAsText();
  absl::Status status = absl::UnknownError("why");
  status.SetPayload("example.com/x", absl::Cord("\x01"));
  EXPECT_TRUE(absl::StrContains(status.ToString(), "\\x01")) << status;
}

}  // namespace
}  // namespace holdfast
