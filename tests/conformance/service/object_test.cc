// SPDX-License-Identifier: Apache-2.0
//
// The objects that a daemon compiles, keeps and links equal those of its
// machine's compilers.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/compile/linker.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "core/base/status_macros.h"
#include "core/compile/compiler.h"
#include "holdfast/v1/objects.pb.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

constexpr char kTemplate[] =
    "template <typename T> __global__ void scale(T* x) {"
    "  x[threadIdx.x] = x[threadIdx.x] * T(FACTOR % 100); }";

constexpr char kCaller[] =
    "extern __device__ int twice(int);"
    "extern \"C\" __global__ void caller(int* x) {"
    "  x[threadIdx.x] = twice(x[threadIdx.x]) + 1; }";
constexpr char kCallee[] = "__device__ int twice(int x) { return 2 * x; }";

class ObjectTest : public ServiceTest {
 protected:
  // The kernel's results for 0 to 31.
  static absl::StatusOr<std::vector<int>> Run(const ObjectCode& object,
                                              const std::string& name) {
    std::vector<int> numbers(32);
    for (int i = 0; i < 32; ++i) numbers[i] = i;
    HOLDFAST_ASSIGN_OR_RETURN(const Module module, session().Load(object));
    HOLDFAST_ASSIGN_OR_RETURN(const Kernel kernel, module.GetKernel(name));
    const Device device = session().device(0);
    HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
    HOLDFAST_ASSIGN_OR_RETURN(
        const Buffer buffer,
        device.Allocate(numbers.size() * sizeof(int), stream));
    HOLDFAST_RETURN_IF_ERROR(buffer.Upload(numbers, stream));
    HOLDFAST_RETURN_IF_ERROR(
        Launch(stream, {.grid = 1, .block = 32}, kernel, buffer));
    HOLDFAST_RETURN_IF_ERROR(buffer.Download(numbers, stream));
    return numbers;
  }

  static ObjectCode Lto(const char* source) {
    const auto compiled = Program(source, {.options = {"-rdc=true"}})
                              .Compile(daemon(), {}, v1::OBJECT_FORMAT_LTOIR);
    EXPECT_OK(compiled);
    return compiled.ok() ? compiled->object : ObjectCode();
  }
};

TEST_F(ObjectTest, CachedObjectIsTheFreshOneAndWhatTheCompilerMakes) {
  // No daemon has seen this one.
  const int64_t factor = absl::ToUnixNanos(absl::Now()) / 100 * 100 + 3;
  const std::string definition = absl::StrCat("-DFACTOR=", factor, "ll");
  const Program program(kTemplate, {.options = {definition}});
  const auto compiler = compile::Compiler::Load({});
  for (const auto& [target, format] :
       {std::pair{v1::OBJECT_FORMAT_PTX, compile::ObjectFormat::kPtx},
        std::pair{v1::OBJECT_FORMAT_CUBIN, compile::ObjectFormat::kCubin},
        std::pair{v1::OBJECT_FORMAT_LTOIR, compile::ObjectFormat::kLtoir}}) {
    SCOPED_TRACE(v1::ObjectFormat_Name(target));
    ASSERT_OK_AND_ASSIGN(const Compilation fresh,
                         program.Compile(daemon(), {"scale<int>"}, target));
    ASSERT_OK_AND_ASSIGN(const Compilation cached,
                         program.Compile(daemon(), {"scale<int>"}, target));
    EXPECT_FALSE(fresh.cache_hit);
    EXPECT_TRUE(cached.cache_hit);
    EXPECT_EQ(cached.object.sha256, fresh.object.sha256);
    EXPECT_EQ(cached.object.symbols, fresh.object.symbols);
    EXPECT_EQ(cached.kernels, fresh.kernels);
    EXPECT_EQ(fresh.kernels.size(),
              target == v1::OBJECT_FORMAT_LTOIR ? 0u : 1u);
    for (const auto& [name, kinds] : fresh.kernels) {
      EXPECT_EQ(name, fresh.object.symbols.at("scale<int>"));
      EXPECT_EQ(kinds.front(), kIntegerParameter);
    }
    EXPECT_EQ(cached.log, fresh.log);
    EXPECT_EQ(cached.arch, fresh.arch);
    EXPECT_EQ(cached.compiler, fresh.compiler);
    compile::ProgramSource source;
    source.source = kTemplate;
    source.options = {definition};
    source.name_expressions = {"scale<int>"};
    source.target = format;
    source.arch = fresh.arch;
    // LTO IR names the directory that it was compiled in.
    const std::filesystem::path here = std::filesystem::current_path();
    std::filesystem::current_path("/");
    const auto compiled = compiler->Compile(source);
    std::filesystem::current_path(here);
    ASSERT_OK_AND_ASSIGN(const compile::ObjectCode direct, compiled);
    ASSERT_OK_AND_ASSIGN(const std::string bytes,
                         cached.object.Fetch(daemon()));
    EXPECT_TRUE(bytes == direct.bytes) << "other bytes than the compiler's";
    EXPECT_EQ(cached.object.symbols, direct.symbols);
  }
  ASSERT_OK_AND_ASSIGN(const Compilation again,
                       program.Compile(daemon(), {"scale<int>"}));
  ASSERT_OK_AND_ASSIGN(const std::vector<int> numbers,
                       Run(again.object, "scale<int>"));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(numbers[i], 3 * i);
}

TEST_F(ObjectTest, TwoSourcesLinkedAsLtoIrRun) {
  const ObjectCode caller = Lto(kCaller);
  const ObjectCode callee = Lto(kCallee);
  // To what the device runs best: a cubin on a GPU.
  ASSERT_OK_AND_ASSIGN(const Compilation linked,
                       Linker().Add(caller).Add(callee).Link(daemon()));
  EXPECT_EQ(linked.object.format,
            IsGpu() ? v1::OBJECT_FORMAT_CUBIN : v1::OBJECT_FORMAT_PTX);
  ASSERT_OK_AND_ASSIGN(
      const Compilation kept,
      Linker().Add(caller).Add(callee).Link(daemon(), v1::OBJECT_FORMAT_LTOIR));
  ASSERT_OK_AND_ASSIGN(const Compilation again,
                       Linker().Add(kept.object).Link(daemon()));
  for (const ObjectCode& object : {linked.object, again.object}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<int> numbers, Run(object, "caller"));
    for (int i = 0; i < 32; ++i) EXPECT_EQ(numbers[i], 2 * i + 1);
  }
}

}  // namespace
}  // namespace holdfast::conformance
