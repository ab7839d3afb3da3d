// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/result.h"

#include "tests/testing/status_matchers.h"

namespace holdfast::cuda {
namespace {

using holdfast::testing::StatusIs;

TEST(ResultTest, SuccessIsOk) {
  EXPECT_OK(ToStatus(CUDA_SUCCESS, "cuInit(0)"));
}

TEST(ResultTest, MessageAndDetailNameCallAndError) {
  const absl::Status status =
      ToStatus(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate(&handle, size, 0)");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               "cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY: "));
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->call, "cuMemCreate");
  EXPECT_EQ(detail->result, 2);
  EXPECT_EQ(detail->result_name, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_FALSE(detail->explanation.empty());
}

TEST(ResultTest, CodesTellWhatToDo) {
  const auto code = [](CUresult result) {
    return ToStatus(result, "cuX").code();
  };
  EXPECT_EQ(code(CUDA_ERROR_INVALID_VALUE), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(CUDA_ERROR_NOT_READY), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(CUDA_ERROR_NOT_SUPPORTED), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code(CUDA_ERROR_NOT_FOUND), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(CUDA_ERROR_ILLEGAL_ADDRESS), absl::StatusCode::kAborted);
}

TEST(ResultTest, OnlyErrorsThatKillContextsAreSticky) {
  EXPECT_TRUE(IsSticky(CUDA_ERROR_ILLEGAL_ADDRESS));
  EXPECT_TRUE(IsSticky(CUDA_ERROR_LAUNCH_FAILED));
  EXPECT_TRUE(IsSticky(CUDA_ERROR_ASSERT));
  EXPECT_TRUE(IsSticky(ToStatus(CUDA_ERROR_ILLEGAL_ADDRESS, "cuX")));
  EXPECT_FALSE(IsSticky(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_FALSE(IsSticky(CUDA_ERROR_INVALID_VALUE));
  EXPECT_FALSE(IsSticky(absl::AbortedError("by somebody else")));
  EXPECT_FALSE(IsSticky(absl::OkStatus()));
}

TEST(ResultTest, CodesNewerThanTheHeadersAreStillErrors) {
  const auto newer = static_cast<CUresult>(12345);
  EXPECT_EQ(ResultName(newer), "CUDA_ERROR_12345");
  EXPECT_THAT(ToStatus(newer, "cuX"),
              StatusIs(absl::StatusCode::kUnknown, "CUDA_ERROR_12345"));
}

absl::Status CallThroughTable(const DriverApi& api) {
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuInit(0));
  return absl::OkStatus();
}

absl::Status NeedsOptionalCall(const DriverApi& api) {
  HOLDFAST_CUDA_REQUIRE(api, cuKernelGetParamInfo);
  return absl::OkStatus();
}

TEST(ResultTest, MacroCallsThroughTheTable) {
  DriverApi api;
  api.cuInit = [](unsigned) { return CUDA_ERROR_NO_DEVICE; };
  EXPECT_THAT(CallThroughTable(api),
              StatusIs(absl::StatusCode::kUnavailable, "cuInit: "));
  api.cuInit = [](unsigned) { return CUDA_SUCCESS; };
  EXPECT_OK(CallThroughTable(api));
}

TEST(ResultTest, AMissingOptionalCallNamesBothVersions) {
  DriverApi api;
  api.version = 12020;
  EXPECT_THAT(NeedsOptionalCall(api),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "cuKernelGetParamInfo needs driver 12.4, found 12.2"));
  api.cuKernelGetParamInfo = [](CUkernel, size_t, size_t*, size_t*) {
    return CUDA_SUCCESS;
  };
  EXPECT_OK(NeedsOptionalCall(api));
}

}  // namespace
}  // namespace holdfast::cuda
