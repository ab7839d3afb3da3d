// SPDX-License-Identifier: Apache-2.0
//
// Requests of hostile and careless clients to the compile service. Each gets a
// clear error, in bounded time and memory, and the next compile works.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/sanitizer.h"
#include "holdfast/v1/compile.grpc.pb.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/testing/daemon_process.h"
#include "tests/server/testing/endless_source.h"

namespace holdfast {
namespace {

using Code = absl::StatusCode;

v1::CompileRequest Cpp(const std::string& source) {
  v1::CompileRequest request;
  request.set_source(source);
  request.set_arch("90");
  request.set_target(v1::OBJECT_FORMAT_PTX);
  return request;
}

v1::CompileRequest Of(v1::SourceLanguage language, const std::string& source,
                      v1::ObjectFormat target) {
  v1::CompileRequest request = Cpp(source);
  request.set_language(language);
  request.set_target(target);
  return request;
}

v1::CompileRequest WithOption(std::vector<std::string> options) {
  v1::CompileRequest request = Cpp("__global__ void f() {}");
  for (std::string& option : options) request.add_options(std::move(option));
  return request;
}

class CompileBadInputTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    daemon_ = new DaemonProcess({"--compile-timeout=1h", "--compile-memory=2G",
                                 "--compiler-workers=1"});
    stub_ = v1::CompileService::NewStub(daemon_->Unix()).release();
  }
  static void TearDownTestSuite() {
    delete stub_;
    delete daemon_;
  }

  void TearDown() override {
    EXPECT_TRUE(
        Compile(Cpp(absl::StrCat("__global__ void next", ++count_, "() {}")))
            .ok())
        << "the next compile does not work";
  }

  static absl::Status Compile(const v1::CompileRequest& request,
                              v1::CompileResponse* response = nullptr) {
    v1::CompileResponse unused;
    grpc::ClientContext context;
    return FromGrpcStatus(stub_->Compile(
        &context, request, response == nullptr ? &unused : response));
  }

  // By another daemon.
  static absl::Status CompileBy(const DaemonProcess& daemon,
                                const v1::CompileRequest& request) {
    grpc::ClientContext context;
    v1::CompileResponse unused;
    return FromGrpcStatus(v1::CompileService::NewStub(daemon.Unix())
                              ->Compile(&context, request, &unused));
  }

  static absl::Status Link(v1::ObjectFormat format, const std::string& data,
                           const std::string& arch = "90") {
    v1::LinkRequest request;
    request.set_target(v1::OBJECT_FORMAT_CUBIN);
    request.set_arch(arch);
    v1::LinkInput& input = *request.add_inputs();
    input.set_name("input");
    input.set_format(format);
    input.set_data(data);
    grpc::ClientContext context;
    v1::LinkResponse response;
    return FromGrpcStatus(stub_->Link(&context, request, &response));
  }

  static std::string LogOf(const absl::Status& status) {
    const auto detail = GetErrorDetail(status);
    return detail.has_value() ? detail->log : "";
  }

  static void ExpectInvalid(const absl::Status& status,
                            const std::string& text) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status;
    EXPECT_TRUE(
        absl::StrContains(absl::StrCat(status.message(), LogOf(status)), text))
        << status;
  }

  static inline DaemonProcess* daemon_ = nullptr;
  static inline v1::CompileService::Stub* stub_ = nullptr;
  static inline int count_ = 0;
};

TEST_F(CompileBadInputTest, TemplatesWithoutEnd) {
  ExpectInvalid(Compile(Cpp("template <int N> struct X {"
                            "  static const int v = X<N + 1>::v; };"
                            "__global__ void f(int* p) { *p = X<0>::v; }")),
                "excessive recursion");
}

TEST_F(CompileBadInputTest, TemplatesThatTakeForever) {
  const DaemonProcess daemon({"--compile-timeout=2s"});
  const absl::Status status = CompileBy(daemon, Cpp(kEndlessSource));
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "--compile-timeout"))
      << status;
}

TEST_F(CompileBadInputTest, ConstantExpressionWithoutEnd) {
  ExpectInvalid(
      Compile(Cpp("__device__ constexpr int f() { int i = 0;"
                  "  for (;;) { ++i; if (i == 1 << 30) i = 0; } return i; }"
                  "__device__ int x[f()];")),
      "excessive constexpr");
}

TEST_F(CompileBadInputTest, HundredGigabytesOfData) {
  if (kSanitized) GTEST_SKIP() << "compilers have no memory limit";
  const DaemonProcess daemon({"--compile-timeout=1h", "--compile-memory=600M",
                              "--compiler-workers=1"});
  const absl::Status status =
      CompileBy(daemon, Cpp("__device__ const int a[25ull << 30] = {1};"
                            "__global__ void f(int* p) { *p = a[*p]; }"));
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "--compile-memory"))
      << status;
  EXPECT_TRUE(CompileBy(daemon, Cpp("__global__ void next() {}")).ok());
}

TEST_F(CompileBadInputTest, ConstantTooLargeForTheCompiler) {
  ExpectInvalid(
      Compile(Cpp("struct A { int v[1 << 28]; __device__ constexpr A() : v() {"
                  "  for (int i = 0; i < (1 << 28); ++i) v[i] = i; } };"
                  "__device__ constexpr A a[100] = {};"
                  "__global__ void f(int* p) { *p = a[99].v[*p]; }")),
      "gave up");
}

TEST_F(CompileBadInputTest, FilesAndDevicesOfTheServer) {
  for (const char* file :
       {"/etc/passwd", "/dev/zero", "/dev/stdin", "/dev/random",
        "/proc/self/environ", "../../../../../../etc/passwd"}) {
    for (const std::string& line : {absl::StrCat("#include \"", file, "\"\n"),
                                    absl::StrCat("#include <", file, ">\n")}) {
      const absl::Status status = Compile(Cpp(line));
      ExpectInvalid(status, "cannot open source file");
      EXPECT_FALSE(absl::StrContains(LogOf(status), "root:")) << file;
    }
  }
}

TEST_F(CompileBadInputTest, OptionsThatTryToBeMore) {
  ExpectInvalid(Compile(WithOption({"-DX=1\n--include-path=/etc"})), "newline");
  ExpectInvalid(Compile(WithOption({"--std=c++17\r"})), "control character");
  ExpectInvalid(Compile(WithOption({"-D", "--include-path=/etc"})), "dash");
  ExpectInvalid(Compile(WithOption({"--std=-I/etc"})), "dash");
  ExpectInvalid(Compile(WithOption({"--maxrregcount=-1"})), "number");
  ExpectInvalid(Compile(WithOption({"--split-compile=10000"})), "16");
  ExpectInvalid(Compile(WithOption({"--fmad=maybe"})), "true or false");
  ExpectInvalid(Compile(WithOption({"-Xptxas=-o,/tmp/x"})), "not allowed");
  ExpectInvalid(Compile(WithOption({"--kernels-used=f"})), "NVRTC");
  v1::CompileRequest arch = Cpp("");
  arch.set_arch("99");
  ExpectInvalid(Compile(arch), "compute_99");
  v1::CompileRequest named = Cpp("");
  named.set_name("../../etc/x.cu");
  ExpectInvalid(Compile(named), "directory");
}

TEST_F(CompileBadInputTest, TooMuchSource) {
  const std::string ten_mib(size_t{10} << 20, ' ');
  EXPECT_TRUE(Compile(Cpp(ten_mib)).ok());
  const absl::Status status = Compile(Cpp(ten_mib + " "));
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "10 MiB")) << status;
}

TEST_F(CompileBadInputTest, SourceThatIsNotUtf8) {
  const absl::Status status = Compile(Cpp("int \xff\xfe\xc0\x80;"));
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status;
  EXPECT_FALSE(LogOf(status).empty());
  ExpectInvalid(Compile(Cpp(std::string("int x;\0int y;", 13))), "zero byte");
}

// Some of it ends libNVVM's process, which is told as that.
TEST_F(CompileBadInputTest, BrokenNvvmIr) {
  for (const std::string& ir :
       {std::string(), std::string("BC\xc0\xde\x35\x14"),
        absl::StrCat("BC\xc0\xde", std::string(4096, '\xff')),
        std::string("define void @f( {"), std::string(100000, '(')}) {
    const absl::Status status =
        Compile(Of(v1::SOURCE_LANGUAGE_NVVM_IR, ir, v1::OBJECT_FORMAT_PTX));
    if (absl::IsAborted(status)) {
      EXPECT_TRUE(absl::StrContains(status.message(), "crashed")) << status;
    } else {
      ExpectInvalid(status, "NVVM");
    }
  }
}

TEST_F(CompileBadInputTest, PtxOfAVersionToCome) {
  const std::string ptx = ".version 99.0\n.target sm_90\n.address_size 64\n";
  ExpectInvalid(
      Compile(Of(v1::SOURCE_LANGUAGE_PTX, ptx, v1::OBJECT_FORMAT_CUBIN)),
      "99.0");
  ExpectInvalid(Link(v1::OBJECT_FORMAT_PTX, ptx), "99.0");
}

TEST_F(CompileBadInputTest, PtxOfALaterArchitecture) {
  ExpectInvalid(Compile(Of(v1::SOURCE_LANGUAGE_PTX,
                           ".version 8.8\n.target sm_120\n.address_size 64\n",
                           v1::OBJECT_FORMAT_CUBIN)),
                ".target");
}

TEST_F(CompileBadInputTest, ObjectsThatLie) {
  // For another architecture, and linked already.
  for (const char* option : {"-rdc=true", "-rdc=false"}) {
    v1::CompileRequest request = Cpp("__global__ void f() {}");
    request.set_target(v1::OBJECT_FORMAT_CUBIN);
    request.add_options(option);
    v1::CompileResponse compiled;
    ASSERT_TRUE(Compile(request, &compiled).ok());
    v1::LinkRequest other;
    other.add_objects(compiled.object().sha256());
    other.set_target(v1::OBJECT_FORMAT_CUBIN);
    other.set_arch("80");
    grpc::ClientContext context;
    v1::LinkResponse response;
    ExpectInvalid(
        FromGrpcStatus(stub_->Link(&context, other, &response)),
        option == std::string("-rdc=true") ? "sm_80" : "linked already");
  }
  const std::string elf =
      "\x7f"
      "ELF\x02\x01\x01";
  ExpectInvalid(Link(v1::OBJECT_FORMAT_CUBIN, elf), "truncated");
  const std::string fatbin(
      "\x50\xed\x55\xba\x01\x00\x10\x00"
      "\xff\xff\x00\x00\x00\x00\x00\x00",
      16);
  ExpectInvalid(Link(v1::OBJECT_FORMAT_FATBIN, fatbin), "truncated");
  ExpectInvalid(Link(v1::OBJECT_FORMAT_LTOIR, "not LTO IR"), "input");
  ExpectInvalid(Link(v1::OBJECT_FORMAT_LIBRARY, "not a library"), "library");
}

// Whatever a link does to its process, it is told as that, and is its own end.
TEST_F(CompileBadInputTest, LibraryThatLies) {
  const std::string header =
      "!<arch>\n" + std::string(48, '9') + "9999999999`\n";
  const absl::Status status = Link(v1::OBJECT_FORMAT_LIBRARY, header);
  EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsAborted(status))
      << status;
}

}  // namespace
}  // namespace holdfast
