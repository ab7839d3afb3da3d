// SPDX-License-Identifier: Apache-2.0
#include "core/base/error_detail.h"

#include <string>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"

namespace holdfast {
namespace {

ErrorDetail FullDetail() {
  ErrorDetail detail;
  detail.call = "cuMemCreate";
  detail.result = 2;
  detail.result_name = "CUDA_ERROR_OUT_OF_MEMORY";
  detail.explanation = "Not enough memory.";
  detail.log = std::string("line 1\nline 2\0 binary", 21);
  detail.session_lost = true;
  detail.handle = 0xfedcba9876543210;
  detail.graph_node = {7, 0, 3};
  detail.graph_update_result = "CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED";
  return detail;
}

TEST(ErrorDetailTest, SurvivesTheStatusFieldForField) {
  absl::Status status = absl::InternalError("x");
  SetErrorDetail(FullDetail(), &status);
  ASSERT_TRUE(GetErrorDetail(status).has_value());
  EXPECT_EQ(*GetErrorDetail(status), FullDetail());
}

TEST(ErrorDetailTest, AbsentByDefaultAndOnOk) {
  EXPECT_FALSE(GetErrorDetail(absl::InternalError("x")).has_value());
  absl::Status ok;
  SetErrorDetail(FullDetail(), &ok);
  EXPECT_FALSE(GetErrorDetail(ok).has_value());
}

TEST(ErrorDetailTest, EveryTruncationIsRefused) {
  absl::Status status = absl::InternalError("x");
  SetErrorDetail(FullDetail(), &status);
  const std::string bytes(*status.GetPayload("holdfast/error_detail"));
  for (size_t size = 0; size < bytes.size(); ++size) {
    status.SetPayload("holdfast/error_detail",
                      absl::Cord(bytes.substr(0, size)));
    EXPECT_FALSE(GetErrorDetail(status).has_value()) << size;
  }
  status.SetPayload("holdfast/error_detail", absl::Cord(bytes + "!"));
  EXPECT_FALSE(GetErrorDetail(status).has_value());
}

TEST(ErrorDetailTest, PrefixKeepsCodeAndDetail) {
  absl::Status status = absl::NotFoundError("kernel");
  SetErrorDetail(FullDetail(), &status);
  const absl::Status prefixed = WithPrefix("module 3", status);
  EXPECT_EQ(prefixed.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(prefixed.message(), "module 3: kernel");
  EXPECT_EQ(GetErrorDetail(prefixed), FullDetail());
  EXPECT_TRUE(WithPrefix("module 3", absl::OkStatus()).ok());
}

}  // namespace
}  // namespace holdfast
