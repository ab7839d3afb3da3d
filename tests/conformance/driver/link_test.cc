// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <fstream>
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
    if (state_ != nullptr) {
      EXPECT_OK(Cuda().cuLinkDestroy(state_));
    }
    ContextTest::TearDown();
  }

  CUresult Add(const std::string& body, const char* name) {
    std::string ptx = kHeader + body;
    return Cuda().cuLinkAddData_v2(state_, CU_JIT_INPUT_PTX, &ptx[0],
                                   ptx.size() + 1, name, 0, nullptr, nullptr);
  }

  // The integer that a kernel with one pointer stores there.
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

// Calls a function of another module, through a variable of a third one; the
// weak definitions give way.
constexpr char kCaller[] = R"(
.extern .func (.param .b32 result) twice(.param .b32 value);
.extern .func count(.param .b64 where);
.extern .const .align 4 .b32 addend;
.weak .global .align 4 .u32 preferred = 1;
.weak .func (.param .b32 result) thrice(.param .b32 value)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [value];
    mul.lo.u32 %r2, %r1, 1000;
    st.param.b32 [result], %r2;
    ret;
}
.visible .global .align 8 .u64 table[2] = {twice, thrice};
.visible .entry calls(.param .u64 p_to)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [p_to];
    ld.const.b32 %r1, [addend];
    {
    .param .b32 argument;
    .param .b32 result;
    st.param.b32 [argument], %r1;
    call (result), twice, (argument);
    ld.param.b32 %r2, [result];
    }
    {
    .param .b32 argument;
    .param .b32 result;
    st.param.b32 [argument], %r2;
    call (result), thrice, (argument);
    ld.param.b32 %r3, [result];
    }
    ld.global.u32 %r4, [preferred];
    add.u32 %r5, %r3, %r4;
    {
    .param .b64 where;
    st.param.b64 [where], %rd1;
    call count, (where);
    }
    st.global.u32 [%rd1], %r5;
    ret;
}
)";

constexpr char kLibrary[] = R"(
.visible .const .align 4 .b32 addend = 5;
.global .align 4 .u32 calls_made;
.visible .global .align 4 .u32 preferred = 7;
.func (.param .b32 result) helper(.param .b32 value)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [value];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
}
.visible .func (.param .b32 result) twice(.param .b32 value)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [value];
    {
    .param .b32 argument;
    .param .b32 back;
    st.param.b32 [argument], %r1;
    call (back), helper, (argument);
    ld.param.b32 %r2, [back];
    }
    st.param.b32 [result], %r2;
    ret;
}
.visible .func (.param .b32 result) thrice(.param .b32 value)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [value];
    mul.lo.u32 %r2, %r1, 3;
    st.param.b32 [result], %r2;
    ret;
}
)";

// Has a helper of its own, of the same name.
constexpr char kCounter[] = R"(
.visible .global .align 4 .u32 counted = 0;
.func helper(.param .b64 where)
{
    .reg .b32 %r<2>;
    atom.global.add.u32 %r1, [counted], 1;
    ret;
}
.visible .func count(.param .b64 where)
{
    .reg .b64 %rd<2>;
    ld.param.b64 %rd1, [where];
    {
    .param .b64 argument;
    st.param.b64 [argument], %rd1;
    call helper, (argument);
    }
    ret;
}
)";

// Calls what the table of another module holds.
constexpr char kIndirect[] = R"(
.extern .global .align 8 .u64 table[];
.visible .entry indirect(.param .u64 p_to)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p_to];
    ld.global.u64 %rd2, [table+8];
    mov.u32 %r1, 11;
    {
    .param .b32 argument;
    .param .b32 result;
    st.param.b32 [argument], %r1;
    prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (result), %rd2, (argument), prototype;
    ld.param.b32 %r2, [result];
    }
    st.global.u32 [%rd1], %r2;
    ret;
}
)";

unsigned Variable(CUmodule module, const char* name) {
  CUdeviceptr address;
  size_t size = 0;
  unsigned value = 0;
  EXPECT_OK(Cuda().cuModuleGetGlobal_v2(&address, &size, module, name));
  EXPECT_EQ(size, 4u);
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(&value, address, 4));
  return value;
}

TEST_F(LinkTest, FunctionsOfOneModuleServeAnother) {
  ASSERT_OK(Add(kCaller, "caller.ptx"));
  ASSERT_OK(Add(kLibrary, "library.ptx"));
  ASSERT_OK(Add(kCounter, "counter.ptx"));
  ASSERT_OK(Add(kIndirect, "indirect.ptx"));
  void* image = nullptr;
  size_t size = 0;
  ASSERT_OK(Cuda().cuLinkComplete(state_, &image, &size));
  CUmodule module;
  ASSERT_OK(Cuda().cuModuleLoadData(&module, image));
  EXPECT_EQ(Run(module, "calls"), 5u * 2 * 3 + 7)
      << "what is weak gives way to what is not";
  EXPECT_EQ(Variable(module, "counted"), 1u);
  EXPECT_EQ(Run(module, "calls"), 37u);
  EXPECT_EQ(Variable(module, "counted"), 2u);
  EXPECT_EQ(Run(module, "indirect"), 33u) << "through a table of pointers";
  EXPECT_OK(Cuda().cuModuleUnload(module));
}

template <typename T>
void Put(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A fat binary with one entry, uncompressed PTX for compute capability 7.5, as
// the toolkit's fatbinary writes it.
std::string FatBinary(std::string ptx) {
  ptx.resize((ptx.size() + 8) & ~size_t{7});  // zeros
  std::string entry;
  Put(uint16_t{1}, &entry);  // PTX
  Put(uint16_t{0x101}, &entry);
  Put(uint32_t{80}, &entry);  // bytes of this header
  Put(uint64_t{ptx.size()}, &entry);
  Put(uint32_t{0}, &entry);   // compressed
  Put(uint32_t{64}, &entry);  // place of the compiler's options
  Put(uint32_t{0x00070000}, &entry);
  Put(uint32_t{75}, &entry);
  Put(uint64_t{0}, &entry);     // name
  Put(uint64_t{0x11}, &entry);  // flags
  Put(uint64_t{0}, &entry);
  Put(uint64_t{0}, &entry);   // uncompressed
  Put(uint32_t{72}, &entry);  // place of the options' text, and its length
  Put(uint32_t{0}, &entry);
  Put(uint64_t{0}, &entry);
  entry += ptx;
  std::string binary;
  Put(uint32_t{0xba55ed50}, &binary);
  Put(uint32_t{0x00100001}, &binary);
  Put(uint64_t{entry.size()}, &binary);
  return binary + entry;
}

TEST_F(LinkTest, FatBinariesOfPtxAreLinked) {
  for (const char* body : {kUser, kProvider}) {
    std::string binary = FatBinary(kHeader + std::string(body));
    ASSERT_OK(Cuda().cuLinkAddData_v2(state_, CU_JIT_INPUT_FATBINARY,
                                      binary.data(), binary.size(), "part", 0,
                                      nullptr, nullptr));
  }
  void* image = nullptr;
  size_t size = 0;
  ASSERT_OK(Cuda().cuLinkComplete(state_, &image, &size));
  CUmodule module;
  ASSERT_OK(Cuda().cuModuleLoadData(&module, image));
  EXPECT_EQ(Run(module, "sum"), 107u);
  EXPECT_OK(Cuda().cuModuleUnload(module));
}

TEST_F(LinkTest, AWeakDefinitionServesWhereThereIsNoOther) {
  ASSERT_OK(Add(".weak .global .align 4 .u32 base = 3;\n", "weak.ptx"));
  ASSERT_OK(Add(kUser, "user.ptx"));
  void* image = nullptr;
  size_t size = 0;
  ASSERT_OK(Cuda().cuLinkComplete(state_, &image, &size));
  CUmodule module;
  ASSERT_OK(Cuda().cuModuleLoadData(&module, image));
  EXPECT_EQ(Run(module, "sum"), 103u);
  EXPECT_OK(Cuda().cuModuleUnload(module));
}

TEST_F(LinkTest, UndefinedFunctionIsNamed) {
  ASSERT_OK(Add(kCaller, "caller.ptx"));
  ASSERT_OK(Add(kLibrary, "library.ptx"));
  void* image = nullptr;
  size_t size = 0;
  EXPECT_NE(Cuda().cuLinkComplete(state_, &image, &size), CUDA_SUCCESS);
  EXPECT_NE(strstr(log_, "count"), nullptr) << log_;
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

// Each block leaves its number, waits for the whole grid, and sums the numbers
// of all, twice. Thread 0 of a block stores the last sum, and what the library
// says of the grid.
constexpr char kGridGroup[] = R"(
.extern .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.extern .func (.param .b32 result) cudaCGGetSize(.param .b64 threads, .param .b64 grids, .param .b64 handle);
.extern .func (.param .b32 result) cudaCGGetRank(.param .b64 thread, .param .b64 grid, .param .b64 handle);
.global .align 4 .u32 numbers[64];
.visible .entry sums(.param .u64 p_to)
{
    .reg .pred %p<3>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<20>;
    ld.param.u64 %rd1, [p_to];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    mul.wide.u32 %rd2, %r1, 24;
    add.u64 %rd3, %rd1, %rd2;
    {
    .param .b32 scope;
    .param .b64 result;
    st.param.b32 [scope], 1;
    call (result), cudaCGGetIntrinsicHandle, (scope);
    ld.param.b64 %rd4, [result];
    }
    mov.u32 %r3, %tid.x;
    setp.ne.u32 %p1, %r3, 0;
    mov.u32 %r9, 0;
AGAIN:
    mul.wide.u32 %rd5, %r1, 4;
    mov.u64 %rd6, numbers;
    add.u64 %rd5, %rd6, %rd5;
    add.u32 %r4, %r1, %r9;
    @!%p1 st.volatile.global.u32 [%rd5], %r4;
    {
    .param .b64 handle;
    .param .b32 flags;
    .param .b32 result;
    st.param.b64 [handle], %rd4;
    st.param.b32 [flags], 0;
    call (result), cudaCGSynchronize, (handle, flags);
    ld.param.b32 %r5, [result];
    }
    mov.u32 %r6, 0;
    mov.u32 %r7, 0;
SUM:
    ld.volatile.global.u32 %r8, [%rd6];
    add.u32 %r6, %r6, %r8;
    add.u64 %rd6, %rd6, 4;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p2, %r7, %r2;
    @%p2 bra SUM;
    {
    .param .b64 handle;
    .param .b32 flags;
    .param .b32 result;
    st.param.b64 [handle], %rd4;
    st.param.b32 [flags], 0;
    call (result), cudaCGSynchronize, (handle, flags);
    ld.param.b32 %r10, [result];
    }
    or.b32 %r5, %r5, %r10;
    add.u32 %r9, %r9, 100;
    setp.lt.u32 %p2, %r9, 200;
    @%p2 bra AGAIN;
    add.u64 %rd7, %rd3, 8;
    add.u64 %rd8, %rd3, 12;
    add.u64 %rd9, %rd3, 16;
    add.u64 %rd10, %rd3, 20;
    setp.ne.u32 %p2, %r3, 5;
    @%p2 bra SIZE;
    {
    .param .b64 thread;
    .param .b64 grid;
    .param .b64 handle;
    .param .b32 result;
    st.param.b64 [thread], %rd8;
    st.param.b64 [grid], %rd10;
    st.param.b64 [handle], %rd4;
    call (result), cudaCGGetRank, (thread, grid, handle);
    ld.param.b32 %r11, [result];
    }
SIZE:
    @%p1 bra DONE;
    st.global.u32 [%rd3], %r6;
    st.global.u32 [%rd3+4], %r5;
    {
    .param .b64 threads;
    .param .b64 grids;
    .param .b64 handle;
    .param .b32 result;
    st.param.b64 [threads], %rd7;
    st.param.b64 [grids], %rd9;
    st.param.b64 [handle], %rd4;
    call (result), cudaCGGetSize, (threads, grids, handle);
    ld.param.b32 %r12, [result];
    }
DONE:
    ret;
}
)";

// The toolkit's device runtime, which a GPU's driver needs for these functions.
std::string DeviceRuntime() {
  const char* home = getenv("CUDA_HOME");
  const std::string path =
      std::string(home == nullptr ? "/usr/local/cuda" : home) +
      "/lib64/libcudadevrt.a";
  return std::ifstream(path).good() ? path : "";
}

TEST_F(LinkTest, AGridsBlocksMeetInTheDeviceRuntime) {
  if (Attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) == 0) {
    GTEST_SKIP() << "no cooperative launch";
  }
  ASSERT_OK(Add(kGridGroup, "grid.ptx"));
  if (const std::string path = DeviceRuntime(); !path.empty()) {
    ASSERT_OK(Cuda().cuLinkAddFile_v2(state_, CU_JIT_INPUT_LIBRARY,
                                      path.c_str(), 0, nullptr, nullptr));
  }
  void* image = nullptr;
  size_t size = 0;
  ASSERT_OK(Cuda().cuLinkComplete(state_, &image, &size));
  CUmodule module;
  ASSERT_OK(Cuda().cuModuleLoadData(&module, image));
  CUfunction function;
  ASSERT_OK(Cuda().cuModuleGetFunction(&function, module, "sums"));
  constexpr unsigned kBlocks = 3, kThreads = 40;
  struct OfBlock {
    uint32_t sum, error, threads, rank, grids, grid_rank;
  } blocks[kBlocks] = {};
  CUdeviceptr to;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&to, sizeof(blocks)));
  void* parameters[] = {&to};
  ASSERT_OK(Cuda().cuLaunchCooperativeKernel(function, kBlocks, 1, 1, kThreads,
                                             1, 1, 0, nullptr, parameters));
  ASSERT_OK(Cuda().cuMemcpyDtoH_v2(blocks, to, sizeof(blocks)));
  for (unsigned i = 0; i < kBlocks; ++i) {
    EXPECT_EQ(blocks[i].sum, 100u + 101u + 102u) << i;
    EXPECT_EQ(blocks[i].error, 0u) << i;
    EXPECT_EQ(blocks[i].threads, kBlocks * kThreads) << i;
    EXPECT_EQ(blocks[i].rank, i * kThreads + 5) << i;
    EXPECT_EQ(blocks[i].grids, 1u) << i;
  }
  EXPECT_OK(Cuda().cuMemFree_v2(to));
  EXPECT_OK(Cuda().cuModuleUnload(module));
}

TEST_F(LinkTest, BadPtxIsRefusedAtOnce) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_PTX, Add(".entry (", "bad.ptx"));
}

}  // namespace
}  // namespace holdfast::conformance
