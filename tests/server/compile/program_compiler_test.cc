// SPDX-License-Identifier: Apache-2.0
//
// From requests to objects as on a machine with a GPU, by real workers; with
// nvJitLink, and where it is not installed.
#include "server/compile/program_compiler.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/compile/compiler.h"
#include "server/process/spawner.h"
#include "tests/server/testing/own_mounts.h"

namespace holdfast {
namespace {

constexpr char kKernel[] = "extern \"C\" __global__ void f() {}";
constexpr char kPtx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry f() { ret; }\n";
constexpr char kMorePtx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry g() { ret; }\n";
constexpr char kNvvmIr[] = R"(
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
define void @f() { ret void }
!nvvm.annotations = !{!1}
!1 = !{void ()* @f, !"kernel", i32 1}
!nvvmir.version = !{!0}
!0 = !{i32 2, i32 0}
)";

v1::CompileRequest Source(
    const std::string& source, v1::SourceLanguage language,
    v1::ObjectFormat target = v1::OBJECT_FORMAT_UNSPECIFIED) {
  v1::CompileRequest request;
  request.set_source(source);
  request.set_language(language);
  request.set_target(target);
  return request;
}

v1::LinkRequest Pieces(
    v1::ObjectFormat format, const std::vector<std::string>& pieces,
    v1::ObjectFormat target = v1::OBJECT_FORMAT_UNSPECIFIED) {
  v1::LinkRequest request;
  request.set_target(target);
  for (const std::string& piece : pieces) {
    v1::LinkInput& input = *request.add_inputs();
    input.set_data(piece);
    input.set_format(format);
  }
  return request;
}

// A service on a machine whose device runs cubins best.
class Service {
 public:
  absl::StatusOr<v1::CompileResponse> Compile(
      const v1::CompileRequest& request) {
    return compiler_.Compile(request, CompileCaller());
  }
  absl::StatusOr<v1::LinkResponse> Link(const v1::LinkRequest& request) {
    return compiler_.Link(request, CompileCaller());
  }
  std::string LastName() const { return cache_.List().front().program->name; }

  template <typename Response>
  static v1::ObjectFormat FormatOf(const absl::StatusOr<Response>& response) {
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->object().format()
                         : v1::OBJECT_FORMAT_UNSPECIFIED;
  }
  v1::ObjectFormat FormatOfCompiled(const v1::CompileRequest& request) {
    return FormatOf(Compile(request));
  }
  v1::ObjectFormat FormatOfLinked(const v1::LinkRequest& request) {
    return FormatOf(Link(request));
  }

 private:
  std::unique_ptr<Spawner> spawner_ =
      Spawner::Create({.executable = getenv("COMPILER_WORKER")}).value();
  CompilerPool pool_{{.start = [this] {
    return spawner_->Spawn({"600", "8192"});
  }}};
  ObjectStore store_{uint64_t{1} << 30};
  CompileCache cache_{uint64_t{1} << 30};
  ProgramCompiler compiler_{pool_, store_, cache_, [](absl::Time) {
                              return ProgramCompiler::Defaults{
                                  v1::OBJECT_FORMAT_CUBIN, "sm_90", 13000};
                            }};
};

constexpr auto kCubin = v1::OBJECT_FORMAT_CUBIN;
constexpr auto kToPtx = v1::OBJECT_FORMAT_PTX;

TEST(ProgramCompilerTest, WhatTheDeviceRunsBestIsMadeOfEveryLanguage) {
  Service service;
  EXPECT_EQ(
      service.FormatOfCompiled(Source(kKernel, v1::SOURCE_LANGUAGE_CUDA_CPP)),
      kCubin);
  EXPECT_EQ(service.FormatOfCompiled(Source(kPtx, v1::SOURCE_LANGUAGE_PTX)),
            kCubin);
  EXPECT_EQ(
      service.FormatOfCompiled(Source(kNvvmIr, v1::SOURCE_LANGUAGE_NVVM_IR)),
      kCubin);
  EXPECT_EQ(service.FormatOfLinked(Pieces(kToPtx, {kPtx, kMorePtx})), kCubin);
}

TEST(ProgramCompilerTest, ACubinComesWithTheKindsOfItsParameters) {
  Service service;
  const v1::CompileRequest request = Source(
      "extern \"C\" __global__ void f(float* p, float x, int4 y) "
      "{ *p = x + y.z; }",
      v1::SOURCE_LANGUAGE_CUDA_CPP, kCubin);
  for (const bool is_hit : {false, true}) {
    const auto made = service.Compile(request);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->cache_hit(), is_hit);
    ASSERT_EQ(made->kernels_size(), 1);
    EXPECT_EQ(made->kernels(0).name(), "f");
    EXPECT_EQ(made->kernels(0).parameters(0), v1::PARAMETER_KIND_INTEGER);
    EXPECT_EQ(made->kernels(0).parameters(1), v1::PARAMETER_KIND_FLOAT);
    EXPECT_EQ(made->kernels(0).parameters(2), v1::PARAMETER_KIND_UNSPECIFIED);
    EXPECT_EQ(made->kernels(0).parameters_size(), 3);
  }
  const auto linked = service.Link(Pieces(kToPtx, {kPtx, kMorePtx}, kCubin));
  ASSERT_TRUE(linked.ok()) << linked.status();
  ASSERT_EQ(linked->kernels_size(), 2);
  EXPECT_EQ(linked->kernels(0).name(), "f");
  EXPECT_EQ(linked->kernels(1).name(), "g");
}

// Beyond that a client of gRPC may refuse the whole answer.
TEST(ProgramCompilerTest, NamesOfKernelsBeyondAMebibyteAreLeftOut) {
  std::string ptx = ".version 8.0\n.target sm_90\n.address_size 64\n";
  for (int i = 0; i < 300; ++i) {
    ptx += ".visible .entry k" + std::to_string(i) + std::string(4000, 'x') +
           "() { ret; }\n";
  }
  Service service;
  const auto made =
      service.Compile(Source(ptx, v1::SOURCE_LANGUAGE_PTX, kToPtx));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->kernels_size(), 0);
}

TEST(ProgramCompilerTest, WhatIsKeptIsNamedForPeople) {
  Service service;
  v1::CompileRequest compile = Source(kPtx, v1::SOURCE_LANGUAGE_PTX);
  compile.set_name("a.ptx");
  ASSERT_TRUE(service.Compile(compile).ok());
  EXPECT_EQ(service.LastName(), "a.ptx");
  v1::LinkRequest link = Pieces(kToPtx, {kPtx, kMorePtx}, kToPtx);
  link.mutable_inputs(0)->set_name("b.ptx");
  ASSERT_TRUE(service.Link(link).ok());
  EXPECT_EQ(service.LastName(), "b.ptx and 1 more");
  link.mutable_inputs()->RemoveLast();
  ASSERT_TRUE(service.Link(link).ok());
  EXPECT_EQ(service.LastName(), "b.ptx");
}

// Runs `body` where nvJitLink is not installed; the dynamic linker finds an
// empty file in its place.
void WithoutNvJitLink(const std::function<void()>& body) {
  std::string path;
  for (const std::string& file : compile::Compiler::Load({})->files()) {
    if (absl::StrContains(file, "nvJitLink")) path = file;
  }
  ASSERT_NE(path, "") << "the toolkit has no nvJitLink";
  bool skipped = false;
  const bool passed = RunsWithMounts(
      [&] {
        ASSERT_EQ(mount("/dev/null", path.c_str(), nullptr, MS_BIND, nullptr),
                  0);
        body();
      },
      &skipped);
  if (skipped) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_TRUE(passed);
}

// The driver makes the cubin of it when it is loaded.
TEST(ProgramCompilerTest, WithoutNvJitLinkWhatItWouldTakeIsLeftAsPtx) {
  WithoutNvJitLink([] {
    Service service;
    EXPECT_EQ(
        service.FormatOfCompiled(Source(kKernel, v1::SOURCE_LANGUAGE_CUDA_CPP)),
        kCubin);
    EXPECT_EQ(service.FormatOfCompiled(Source(kPtx, v1::SOURCE_LANGUAGE_PTX)),
              kToPtx);
    EXPECT_EQ(
        service.FormatOfCompiled(Source(kNvvmIr, v1::SOURCE_LANGUAGE_NVVM_IR)),
        kToPtx);
    EXPECT_EQ(service.FormatOfLinked(Pieces(kToPtx, {kPtx, kMorePtx})), kToPtx);
  });
}

TEST(ProgramCompilerTest, WithoutNvJitLinkWhatTakesItSaysSoAndWhatDoesNot) {
  WithoutNvJitLink([] {
    Service service;
    const auto lto = v1::OBJECT_FORMAT_LTOIR;
    std::vector<absl::Status> statuses = {
        service.Compile(Source(kPtx, v1::SOURCE_LANGUAGE_PTX, kCubin)).status(),
        service.Compile(Source(kNvvmIr, v1::SOURCE_LANGUAGE_NVVM_IR, kCubin))
            .status(),
        service.Link(Pieces(kToPtx, {kPtx, kMorePtx}, kCubin)).status(),
        service.Link(Pieces(lto, {"any", "LTO IR"})).status(),
        service.Link(Pieces(lto, {"any", "LTO IR"}, lto)).status()};
    for (const absl::Status& status : statuses) {
      EXPECT_TRUE(absl::IsUnavailable(status)) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), "takes nvJitLink"));
      EXPECT_TRUE(absl::StrContains(status.message(), "is not installed"));
      EXPECT_TRUE(absl::StrContains(status.message(), "become PTX"));
    }
  });
}

}  // namespace
}  // namespace holdfast
