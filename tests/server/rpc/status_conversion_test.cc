// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/status_conversion.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/error_detail.h"
#include "core/base/quota_exceeded.h"

namespace holdfast {
namespace {

ErrorDetail FullDetail() {
  return {.call = "cuMemCreate",
          .result = 2,
          .result_name = "CUDA_ERROR_OUT_OF_MEMORY",
          .explanation = "There is not enough device memory.",
          .log = "saxpy.cu(3): error: expected a \";\"",
          .session_lost = true,
          .handle = 0x0300000100000007,
          .graph_node = {7, 0, 3},
          .graph_update_result = "CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED"};
}

absl::Status FullStatus() {
  absl::Status status =
      absl::ResourceExhaustedError("buffer 7: 1 TiB on device 0");
  SetErrorDetail(FullDetail(), &status);
  return status;
}

TEST(StatusConversionTest, ErrorKeepsCodeMessageAndDetail) {
  const absl::Status back = FromError(ToError(FullStatus()));
  EXPECT_EQ(back.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(back.message(), "buffer 7: 1 TiB on device 0");
  EXPECT_EQ(GetErrorDetail(back), FullDetail());
}

TEST(StatusConversionTest, GrpcStatusKeepsCodeMessageAndDetail) {
  const grpc::Status wire = ToGrpcStatus(FullStatus());
  EXPECT_EQ(wire.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(wire.error_message(), "buffer 7: 1 TiB on device 0");
  EXPECT_EQ(GetErrorDetail(FromGrpcStatus(wire)), FullDetail());
}

TEST(StatusConversionTest, EveryCodeSurvives) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "text");
    EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), status);
    EXPECT_EQ(FromError(ToError(status)), status);
  }
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpcStatus(grpc::Status::OK).ok());
}

TEST(StatusConversionTest, ErrorNeverReadsAsSuccess) {
  v1::Error error;
  EXPECT_EQ(FromError(error).code(), absl::StatusCode::kUnknown);
  error.set_code(99);
  EXPECT_EQ(FromError(error).code(), absl::StatusCode::kUnknown);
  EXPECT_NE(ToError(absl::OkStatus()).code(), 0);
}

TEST(StatusConversionTest, ForgedDetailsOfAGrpcStatusAreIgnored) {
  const absl::Status status = FromGrpcStatus(
      grpc::Status(grpc::StatusCode::INTERNAL, "plain", "\xff not an Error"));
  EXPECT_EQ(status, absl::InternalError("plain"));
}

TEST(StatusConversionTest, TextThatIsNotUtf8CanStillBeParsed) {
  absl::Status status = absl::InvalidArgumentError("bad \xff byte");
  ErrorDetail detail;
  detail.log = "source \xc3( quoted";
  SetErrorDetail(detail, &status);
  v1::Error parsed;
  ASSERT_TRUE(parsed.ParseFromString(ToError(status).SerializeAsString()));
  const absl::Status back = FromError(parsed);
  EXPECT_EQ(back.message(), "bad \xEF\xBF\xBD byte");
  EXPECT_EQ(GetErrorDetail(back)->log, "source \xEF\xBF\xBD( quoted");
}

// Both trailers of a failed call, as gRPC counts them.
size_t TrailerBytes(const grpc::Status& status) {
  return status.error_message().size() + status.error_details().size();
}

TEST(StatusConversionTest, LongLogIsCutInTheTrailerAndWholeInAnError) {
  absl::Status status = absl::InvalidArgumentError("does not compile");
  ErrorDetail detail;
  detail.log = std::string(100'000, 'x');
  SetErrorDetail(detail, &status);
  EXPECT_EQ(GetErrorDetail(FromError(ToError(status)))->log, detail.log);
  const grpc::Status cut = ToGrpcStatus(status);
  EXPECT_LE(TrailerBytes(cut), kDefaultTrailerBytes);
  EXPECT_EQ(cut.error_message(), "does not compile");
  EXPECT_NE(GetErrorDetail(FromGrpcStatus(cut))->log.find(" more bytes]"),
            std::string::npos);
  EXPECT_EQ(GetErrorDetail(FromGrpcStatus(ToGrpcStatus(status, 200'000)))->log,
            detail.log);
}

TEST(StatusConversionTest, NothingOfALongErrorGoesOverTheTrailers) {
  const std::string text(50'000, 'x');
  absl::Status status = absl::InvalidArgumentError(text);
  EXPECT_LE(TrailerBytes(ToGrpcStatus(status)), kDefaultTrailerBytes);
  ErrorDetail detail;
  detail.call = detail.result_name = detail.explanation = detail.log = text;
  SetErrorDetail(detail, &status);
  const grpc::Status cut = ToGrpcStatus(status);
  EXPECT_LE(TrailerBytes(cut), kDefaultTrailerBytes);
  EXPECT_GT(TrailerBytes(cut), kDefaultTrailerBytes / 2);
}

// A cut within a character would make the whole Error unreadable.
TEST(StatusConversionTest, CutsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "\xE2\x82\xAC";
  for (int shift = 0; shift < 3; ++shift) {
    text.insert(0, "x");
    absl::Status status = absl::InvalidArgumentError(text);
    ErrorDetail detail;
    detail.log = text;
    SetErrorDetail(detail, &status);
    const absl::Status back = FromGrpcStatus(ToGrpcStatus(status));
    ASSERT_TRUE(GetErrorDetail(back).has_value());
    EXPECT_EQ(GetErrorDetail(back)->log.find("\xEF\xBF\xBD"),
              std::string::npos);
  }
}

TEST(StatusConversionTest, TheQuotaThatRefusedTravelsWithItsFigures) {
  const QuotaExceeded exceeded = {
      .quota = "sessions of tenant a", .limit = 2, .used = 2, .requested = 1};
  absl::Status status = absl::ResourceExhaustedError("full");
  SetQuotaExceeded(exceeded, &status);
  EXPECT_EQ(GetQuotaExceeded(FromError(ToError(status))), exceeded);
  const absl::Status back = FromGrpcStatus(ToGrpcStatus(status));
  EXPECT_EQ(GetQuotaExceeded(back), exceeded);
  EXPECT_EQ(back.message(), "full");
  // Beside a detail, too.
  SetErrorDetail({.call = "cuMemCreate"}, &status);
  const absl::Status both = FromGrpcStatus(ToGrpcStatus(status));
  EXPECT_EQ(GetQuotaExceeded(both), exceeded);
  EXPECT_EQ(GetErrorDetail(both)->call, "cuMemCreate");
}

}  // namespace
}  // namespace holdfast
