// SPDX-License-Identifier: Apache-2.0
//
// Compiling, linking and storing objects, asked of the real daemon.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/sha256.h"
#include "holdfast/v1/compile.grpc.pb.h"
#include "holdfast/v1/objects.grpc.pb.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

TEST_F(DaemonTest, CompilesStoresAndServesAnObject) {
  v1::CompileRequest request;
  request.set_source("template <class T> __global__ void f(T* x) { *x = 1; }");
  request.add_name_expressions("f<float>");
  v1::CompileResponse response;
  const grpc::Status status = Compile(request, &response);
  ASSERT_TRUE(status.ok()) << Text(status);
  EXPECT_EQ(response.object().format(), v1::OBJECT_FORMAT_PTX);
  EXPECT_EQ(response.arch(), "compute_90");
  const std::string& symbol = response.object().symbols().at("f<float>");
  EXPECT_FALSE(symbol.empty());

  const auto objects = v1::ObjectService::NewStub(unix_);
  grpc::ClientContext get_context;
  v1::GetObjectRequest get;
  get.set_sha256(response.object().sha256());
  const auto reader = objects->GetObject(&get_context, get);
  std::string bytes;
  v1::GetObjectResponse part;
  while (reader->Read(&part)) bytes += part.data();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(ToBytes(Sha256(bytes)), response.object().sha256());
  EXPECT_TRUE(absl::StrContains(bytes, symbol));
}

TEST_F(DaemonTest, CompileErrorBringsTheWholeLog) {
  v1::CompileRequest request;
  request.set_name("many.cu");
  std::string source;
  for (int i = 0; i < 90; ++i) {
    absl::StrAppend(&source, "int x", i, " = undefined_", i,
                    "_with_a_name_that_makes_the_log_long;\n");
  }
  request.set_source(source);
  v1::CompileResponse response;
  const grpc::Status status = Compile(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  const auto detail = GetErrorDetail(FromGrpcStatus(status));
  ASSERT_TRUE(detail.has_value());
  // Over what gRPC clients take by default, from the first line to the last.
  EXPECT_GT(detail->log.size(), size_t{16} << 10);
  EXPECT_TRUE(absl::StartsWith(detail->log, "many.cu(1): error:"));
  EXPECT_TRUE(absl::StrContains(detail->log, "Compilation terminated."));
}

TEST_F(DaemonTest, CompileRefusesServerFilesAndOversizedSources) {
  v1::CompileRequest request;
  request.set_source("__global__ void f() {}");
  request.add_options("-I/etc");
  v1::CompileResponse response;
  EXPECT_EQ(Compile(request, &response).error_code(),
            StatusCode::INVALID_ARGUMENT);
  request.clear_options();
  request.set_source(std::string((10 << 20) + 1, ' '));
  EXPECT_EQ(Compile(request, &response).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(DaemonTest, PutObjectChecksSizeAndHash) {
  const auto objects = v1::ObjectService::NewStub(unix_);
  const auto put = [&](const std::string& bytes, const std::string& hash,
                       uint64_t size) {
    grpc::ClientContext context;
    v1::PutObjectResponse response;
    const auto writer = objects->PutObject(&context, &response);
    v1::PutObjectRequest part;
    part.mutable_header()->set_sha256(hash);
    part.mutable_header()->set_size(size);
    writer->Write(part);
    part.set_data(bytes);
    writer->Write(part);
    writer->WritesDone();
    return writer->Finish().error_code();
  };
  const std::string hash = ToBytes(Sha256("code"));
  EXPECT_EQ(put("code", hash, 4), StatusCode::OK);
  EXPECT_EQ(put("code", hash, 5), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(put("code", hash, 3), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(put("other", hash, 5), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(put("code", hash, uint64_t{1} << 40),
            StatusCode::RESOURCE_EXHAUSTED);
}

std::string CompileTo(const ChannelPtr& channel, const std::string& source,
                      v1::ObjectFormat target) {
  v1::CompileRequest request;
  request.set_source(source);
  request.set_target(target);
  request.set_arch("90");
  request.add_options("-rdc=true");
  grpc::ClientContext context;
  v1::CompileResponse response;
  const grpc::Status status = v1::CompileService::NewStub(channel)->Compile(
      &context, request, &response);
  EXPECT_TRUE(status.ok()) << Text(status);
  return response.object().sha256();
}

TEST_F(DaemonTest, LinksStoredObjectsAndFindsTheResultAgain) {
  v1::LinkRequest request;
  request.add_objects(CompileTo(unix_,
                                "extern __device__ int twice(int);"
                                "__global__ void f(int* p) { *p = twice(*p); }",
                                v1::OBJECT_FORMAT_LTOIR));
  request.add_inputs()->set_sha256(
      CompileTo(unix_, "__device__ int twice(int x) { return 2 * x; }",
                v1::OBJECT_FORMAT_LTOIR));
  request.set_target(v1::OBJECT_FORMAT_CUBIN);
  request.set_arch("90");
  const auto stub = v1::CompileService::NewStub(unix_);
  v1::LinkResponse first, again;
  {
    grpc::ClientContext context;
    const grpc::Status status = stub->Link(&context, request, &first);
    ASSERT_TRUE(status.ok()) << Text(status);
  }
  EXPECT_EQ(first.backend(), "nvJitLink");
  EXPECT_EQ(first.arch(), "sm_90");
  EXPECT_FALSE(first.cache_hit());
  EXPECT_TRUE(first.has_link_time());
  EXPECT_EQ(first.object().format(), v1::OBJECT_FORMAT_CUBIN);
  grpc::ClientContext context;
  ASSERT_TRUE(stub->Link(&context, request, &again).ok());
  EXPECT_TRUE(again.cache_hit());
  EXPECT_EQ(again.object().sha256(), first.object().sha256());
}

TEST_F(DaemonTest, LinkErrorsNameTheInputAndHaveTheLog) {
  const auto stub = v1::CompileService::NewStub(unix_);
  v1::LinkRequest request;
  request.set_target(v1::OBJECT_FORMAT_CUBIN);
  request.set_arch("90");
  const auto link = [&] {
    grpc::ClientContext context;
    v1::LinkResponse response;
    return FromGrpcStatus(stub->Link(&context, request, &response));
  };
  EXPECT_EQ(link().code(), absl::StatusCode::kInvalidArgument);
  request.add_objects(std::string(32, 'x'));
  EXPECT_EQ(link().code(), absl::StatusCode::kNotFound);
  request.clear_objects();
  v1::LinkInput& input = *request.add_inputs();
  input.set_name("mine");
  input.set_data(".version 8.0\n.target sm_90\n.address_size 64\nnonsense\n");
  absl::Status status = link();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "\"mine\"")) << status;
  input.set_format(v1::OBJECT_FORMAT_PTX);
  status = link();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "\"mine\"")) << status;
  ASSERT_TRUE(GetErrorDetail(status).has_value());
  EXPECT_FALSE(GetErrorDetail(status)->log.empty());
}

}  // namespace
}  // namespace holdfast
