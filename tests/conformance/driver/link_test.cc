// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>
#include <vector>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

constexpr char kHeader[] = R"(
.version 7.0
.target sm_75
.address_size 64
)";

// Stores the sum of the other module's variable and its own.
constexpr char kUser[] = R"(
.extern .global .align 4 .u32 base;
.global .align 4 .u32 hidden = 100;
.visible .entry sum(.param .u64 p_to)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p_to];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [base];
    ld.global.u32 %r2, [hidden];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%rd2], %r3;
    ret;
}
)";

constexpr char kProvider[] = R"(
.visible .global .align 4 .u32 base = 7;
.global .align 4 .u32 hidden = 40;
.visible .entry other(.param .u64 p_to)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p_to];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [hidden];
    st.global.u32 [%rd2], %r1;
    ret;
}
)";

class LinkTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    values_[0] = log_;
    values_[1] = reinterpret_cast<void*>(sizeof(log_));
    ASSERT_OK(Cuda().cuLinkCreate_v2(2, options, values_, &state_));
  }
  void TearDown() override {
    if (state_ != nullptr) EXPECT_OK(Cuda().cuLinkDestroy(state_));
    ContextTest::TearDown();
  }

  CUresult Add(const std::string& body, const char* name) {
    std::string ptx = kHeader + body;
    return Cuda().cuLinkAddData_v2(state_, CU_JIT_INPUT_PTX, &ptx[0],
                                   ptx.size() + 1, name, 0, nullptr, nullptr);
  }

  // What a kernel with one pointer to an integer stores there.
  unsigned Run(CUmodule module, const char* name) {
    CUfunction function;
    EXPECT_OK(Cuda().cuModuleGetFunction(&function, module, name));
    CUdeviceptr to;
    EXPECT_OK(Cuda().cuMemAlloc_v2(&to, 4));
    void* parameters[] = {&to};
    EXPECT_OK(Cuda().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                                    parameters, nullptr));
    unsigned value = 0;
    EXPECT_OK(Cuda().cuMemcpyDtoH_v2(&value, to, 4));
    EXPECT_OK(Cuda().cuMemFree_v2(to));
    return value;
  }

  char log_[2048] = "";
  void* values_[2];
  CUlinkState state_ = nullptr;
};

TEST_F(LinkTest, VariablesOfOneModuleServeAnother) {
  ASSERT_OK(Add(kUser, "user.ptx"));
  ASSERT_OK(Add(kProvider, "provider.ptx"));
  void* image = nullptr;
  size_t size = 0;
  ASSERT_OK(Cuda().cuLinkComplete(state_, &image, &size));
  ASSERT_NE(image, nullptr);
  // The image may be carried elsewhere.
  const std::vector<char> copy(static_cast<char*>(image),
                               static_cast<char*>(image) + size);
  CUmodule module;
  ASSERT_OK(Cuda().cuModuleLoadData(&module, copy.data()));
  EXPECT_EQ(Run(module, "sum"), 107u);
  EXPECT_EQ(Run(module, "other"), 40u) << "each module has its own 'hidden'";
  EXPECT_OK(Cuda().cuModuleUnload(module));
}

TEST_F(LinkTest, UndefinedSymbolIsNamed) {
  ASSERT_OK(Add(kUser, "user.ptx"));
  void* image = nullptr;
  size_t size = 0;
  EXPECT_NE(Cuda().cuLinkComplete(state_, &image, &size), CUDA_SUCCESS);
  EXPECT_NE(strstr(log_, "base"), nullptr) << log_;
}

TEST_F(LinkTest, SymbolDefinedTwiceIsNamed) {
  ASSERT_OK(Add(kProvider, "one.ptx"));
  // A GPU's linker may find out already here.
  CUresult result = Add(kProvider, "two.ptx");
  void* image = nullptr;
  size_t size = 0;
  if (result == CUDA_SUCCESS) {
    result = Cuda().cuLinkComplete(state_, &image, &size);
  }
  EXPECT_NE(result, CUDA_SUCCESS);
  EXPECT_TRUE(strstr(log_, "base") != nullptr ||
              strstr(log_, "other") != nullptr)
      << log_;
}

TEST_F(LinkTest, BadPtxIsRefusedAtOnce) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_PTX, Add(".entry (", "bad.ptx"));
}

}  // namespace
}  // namespace holdfast::conformance
