// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/conformance/driver/api.h"
#include "tests/conformance/driver/kernels.h"

namespace holdfast::conformance {
namespace {

class ModuleTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_OK(Cuda().cuModuleLoadData(&module_, kPtx));
  }
  void TearDown() override {
    EXPECT_OK(Cuda().cuModuleUnload(module_));
    ContextTest::TearDown();
  }

  CUmodule module_ = nullptr;
};

TEST_F(ModuleTest, FunctionsAreFoundByName) {
  CUfunction function = nullptr;
  EXPECT_OK(Cuda().cuModuleGetFunction(&function, module_, "scale"));
  EXPECT_NE(function, nullptr);
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND,
              Cuda().cuModuleGetFunction(&function, module_, "missing"));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuModuleGetFunction(&function, module_, nullptr));
}

TEST_F(ModuleTest, ParametersHaveOffsetsAndSizes) {
  CUfunction function = nullptr;
  ASSERT_OK(Cuda().cuModuleGetFunction(&function, module_, "mixed"));
  const size_t expected[][2] = {{0, 1}, {8, 8}, {16, 2}, {24, 24}};
  for (size_t i = 0; i < 4; ++i) {
    size_t offset = 99, size = 99;
    EXPECT_OK(Cuda().cuFuncGetParamInfo(function, i, &offset, &size));
    EXPECT_EQ(offset, expected[i][0]) << i;
    EXPECT_EQ(size, expected[i][1]) << i;
  }
  size_t offset;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuFuncGetParamInfo(function, 4, &offset, nullptr));
}

TEST_F(ModuleTest, GlobalsHaveAddressSizeAndFirstValue) {
  CUdeviceptr pointer = 0;
  size_t size = 0;
  ASSERT_OK(Cuda().cuModuleGetGlobal_v2(&pointer, &size, module_, "counter"));
  EXPECT_EQ(size, 4u);
  uint32_t value = 0;
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(&value, pointer, 4));
  EXPECT_EQ(value, 7u);
  value = 40;
  EXPECT_OK(Cuda().cuMemcpyHtoD_v2(pointer, &value, 4));
  CUfunction bump = nullptr;
  ASSERT_OK(Cuda().cuModuleGetFunction(&bump, module_, "bump"));
  ASSERT_OK(Cuda().cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                                  nullptr));
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(&value, pointer, 4));
  EXPECT_EQ(value, 41u);
  EXPECT_OK(Cuda().cuModuleGetGlobal_v2(&pointer, &size, module_, "table"));
  EXPECT_EQ(size, 16u);
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND,
              Cuda().cuModuleGetGlobal_v2(&pointer, &size, module_, "missing"));
}

TEST_F(ModuleTest, EachLoadHasItsOwnGlobals) {
  CUmodule other = nullptr;
  ASSERT_OK(Cuda().cuModuleLoadData(&other, kPtx));
  CUdeviceptr first = 0, second = 0;
  ASSERT_OK(Cuda().cuModuleGetGlobal_v2(&first, nullptr, module_, "counter"));
  ASSERT_OK(Cuda().cuModuleGetGlobal_v2(&second, nullptr, other, "counter"));
  EXPECT_NE(first, second);
  EXPECT_OK(Cuda().cuModuleUnload(other));
}

TEST_F(ModuleTest, FunctionAttributesDescribeTheKernel) {
  CUfunction function = nullptr;
  ASSERT_OK(Cuda().cuModuleGetFunction(&function, module_, "scale"));
  const auto attribute = [function](CUfunction_attribute name) {
    int value = -1;
    EXPECT_OK(Cuda().cuFuncGetAttribute(&value, name, function));
    return value;
  };
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION), 75);
  EXPECT_GT(attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), 0);
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152);
}

TEST_F(ModuleTest, AKernelHasNoMoreRegistersThanItsTextAllows) {
  std::string text =
      ".version 7.5\n.target sm_75\n.address_size 64\n"
      ".visible .entry bounded() .maxnreg 24 {\n"
      ".reg .b32 %r<64>;\n";
  for (int i = 0; i < 64; ++i) {
    text += "mov.b32 %r" + std::to_string(i) + ", 1;\n";
  }
  text += "ret;\n}\n";
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(Cuda().cuModuleLoadData(&module, text.c_str()));
  ASSERT_OK(Cuda().cuModuleGetFunction(&function, module, "bounded"));
  int registers = 0;
  EXPECT_OK(Cuda().cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                      function));
  EXPECT_GT(registers, 0);
  EXPECT_LE(registers, 24);
  EXPECT_OK(Cuda().cuModuleUnload(module));
}

TEST_F(ModuleTest, DynamicSharedMemoryGrowsToTheOptInLimit) {
  CUfunction function = nullptr;
  ASSERT_OK(Cuda().cuModuleGetFunction(&function, module_, "empty"));
  const int most =
      Attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  const auto set = [function](int bytes) {
    return Cuda().cuFuncSetAttribute(
        function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
  };
  const auto launch = [function](unsigned shared) {
    return Cuda().cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, shared, nullptr,
                                 nullptr, nullptr);
  };
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch(49152 + 1024));
  EXPECT_OK(set(most));
  EXPECT_OK(launch(most));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, set(most + 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch(most + 1));
}

TEST_F(ModuleTest, OccupancyIsBoundedByTheMultiprocessor) {
  CUfunction function = nullptr;
  ASSERT_OK(Cuda().cuModuleGetFunction(&function, module_, "empty"));
  int blocks = 0;
  ASSERT_OK(Cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function, 1024, 0));
  const int threads =
      Attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  EXPECT_EQ(blocks, threads / 1024);
  int grid = 0, block = 0;
  ASSERT_OK(Cuda().cuOccupancyMaxPotentialBlockSize(&grid, &block, function,
                                                    nullptr, 0, 0));
  EXPECT_GT(block, 0);
  EXPECT_GE(grid, Attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
}

TEST_F(ModuleTest, OccupancyIsNothingBeyondTheKernelsSharedMemory) {
  CUfunction function = nullptr;
  ASSERT_OK(Cuda().cuModuleGetFunction(&function, module_, "empty"));
  const auto blocks = [&](size_t shared) {
    int found = -1;
    EXPECT_OK(Cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &found, function, 64, shared));
    return found;
  };
  EXPECT_GT(blocks(49152), 0);
  EXPECT_EQ(blocks(60000), 0);
  ASSERT_OK(Cuda().cuFuncSetAttribute(
      function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
  EXPECT_GT(blocks(60000), 0);
  EXPECT_EQ(blocks(60001), 0);
}

TEST_F(ModuleTest, PtxIsCompiledForTheDevice) {
  CUfunction function = nullptr;
  ASSERT_OK(Cuda().cuModuleGetFunction(&function, module_, "empty"));
  int version = 0;
  ASSERT_OK(Cuda().cuFuncGetAttribute(
      &version, CU_FUNC_ATTRIBUTE_BINARY_VERSION, function));
  EXPECT_EQ(version,
            10 * Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

TEST_F(ModuleTest, NamesAndPlacesOfResultsAreNeeded) {
  CUfunction function = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuModuleGetFunction(&function, module_, ""));
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND,
              Cuda().cuModuleGetFunction(&function, module_, "none"));
}

using ModuleErrorTest = ContextTest;

TEST_F(ModuleErrorTest, BadPtxIsRefusedWithItsReasonInTheLog) {
  const char* ptx =
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry k() { nonsense.u32 %r1; ret; }\n";
  char log[1024] = "untouched";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  CUmodule module = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_PTX,
              Cuda().cuModuleLoadDataEx(&module, ptx, 2, options, values));
  EXPECT_GT(std::string(log).size(), 10u);
  EXPECT_NE(std::string(log), "untouched");
}

TEST_F(ModuleErrorTest, NewerPtxThanTheDriverIsRefused) {
  CUmodule module = nullptr;
  EXPECT_CUDA(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
              Cuda().cuModuleLoadData(
                  &module, ".version 99.0\n.target sm_75\n.address_size 64\n"));
}

TEST_F(ModuleErrorTest, PtxForANewerDeviceIsRefused) {
  const std::string version = ".version 8.6\n.target ";
  const std::string kernel =
      "\n.address_size 64\n.visible .entry k() { ret; }\n";
  CUmodule module = nullptr;
  const int major = Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  if (major >= 10) GTEST_SKIP() << "the device may be as new";
  for (const char* target : {"sm_100", "sm_100a"}) {
    EXPECT_CUDA(
        CUDA_ERROR_INVALID_PTX,
        Cuda().cuModuleLoadData(&module, (version + target + kernel).c_str()));
  }
  if (major != 9) return;
  for (const char* target : {"sm_75", "sm_90", "sm_90a"}) {
    ASSERT_OK(
        Cuda().cuModuleLoadData(&module, (version + target + kernel).c_str()));
    EXPECT_OK(Cuda().cuModuleUnload(module));
  }
}

TEST_F(ModuleErrorTest, MissingImageIsRefused) {
  CUmodule module = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuModuleLoadData(&module, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuModuleLoadData(nullptr, kPtx));
}

// Some drivers read the image of a library when a kernel is looked up.
TEST_F(ModuleErrorTest, BytesThatAreNoImageAreRefused) {
  for (const char* image : {"garbage", ""}) {
    CUmodule module = nullptr;
    EXPECT_CUDA(CUDA_ERROR_INVALID_IMAGE,
                Cuda().cuModuleLoadData(&module, image));
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUresult result = Cuda().cuLibraryLoadData(&library, image, nullptr,
                                               nullptr, 0, nullptr, nullptr, 0);
    if (result == CUDA_SUCCESS) {
      result = Cuda().cuLibraryGetKernel(&kernel, library, "empty");
      EXPECT_OK(Cuda().cuLibraryUnload(library));
    }
    EXPECT_CUDA(CUDA_ERROR_INVALID_IMAGE, result);
  }
}

// A null handle is an invalid handle for some calls, an invalid value for
// others.
TEST_F(ModuleTest, ANullFunctionIsRefused) {
  const char* name = nullptr;
  size_t offset = 0;
  size_t size = 0;
  CUmodule module = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuFuncGetName(&name, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuKernelGetName(&name, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuFuncGetModule(&module, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuFuncGetParamInfo(nullptr, 0, &offset, &size));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuKernelGetParamInfo(nullptr, 0, &offset, &size));
  int value = 0;
  CUfunction function = nullptr;
  CUlibrary library = nullptr;
  CUfunctionLoadingState state;
  constexpr auto kThreads = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              Cuda().cuFuncGetAttribute(&value, kThreads, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              Cuda().cuKernelGetAttribute(&value, kThreads, nullptr, device_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              Cuda().cuKernelGetFunction(&function, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              Cuda().cuKernelGetLibrary(&library, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              Cuda().cuFuncIsLoaded(&state, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, Cuda().cuFuncLoad(nullptr));
}

using LibraryTest = ContextTest;

// LTO IR, an archive, and an object of the host.
TEST_F(LibraryTest, BytesThatMustBeLinkedAreRefusedWhenAKernelIsLookedUp) {
  std::string object(256, '\0');
  object.replace(0, 7,
                 "\x7f"
                 "ELF\x02\x01\x01");
  object[16] = 1;   // relocatable
  object[18] = 62;  // x86-64
  for (const std::string& image :
       {"\xed\x43\x4e\x7f" + std::string(252, '\x01'), std::string("!<arch>\n"),
        object}) {
    CUlibrary library = nullptr;
    ASSERT_OK(Cuda().cuLibraryLoadData(&library, image.data(), nullptr, nullptr,
                                       0, nullptr, nullptr, 0));
    CUkernel kernel = nullptr;
    EXPECT_NE(Cuda().cuLibraryGetKernel(&kernel, library, "empty"),
              CUDA_SUCCESS);
    EXPECT_OK(Cuda().cuLibraryUnload(library));
  }
}

TEST_F(LibraryTest, KernelsAreEnumeratedAndNamed) {
  CUlibrary library = nullptr;
  ASSERT_OK(Cuda().cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0,
                                     nullptr, nullptr, 0));
  unsigned count = 0;
  ASSERT_OK(Cuda().cuLibraryGetKernelCount(&count, library));
  ASSERT_EQ(count, 5u);
  std::vector<CUkernel> kernels(count);
  ASSERT_OK(Cuda().cuLibraryEnumerateKernels(kernels.data(), count, library));
  std::vector<std::string> names;
  for (CUkernel kernel : kernels) {
    const char* name = nullptr;
    ASSERT_OK(Cuda().cuKernelGetName(&name, kernel));
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"bump", "empty", "mixed", "scale",
                                             "store"}));
  EXPECT_OK(Cuda().cuLibraryUnload(library));
}

TEST_F(LibraryTest, KernelHasParametersAttributesAndAFunction) {
  CUlibrary library = nullptr;
  ASSERT_OK(Cuda().cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0,
                                     nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  ASSERT_OK(Cuda().cuLibraryGetKernel(&kernel, library, "scale"));
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND,
              Cuda().cuLibraryGetKernel(&kernel, library, "missing"));
  size_t offset = 0, size = 0;
  EXPECT_OK(Cuda().cuKernelGetParamInfo(kernel, 2, &offset, &size));
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(size, 4u);
  int threads = 0;
  EXPECT_OK(Cuda().cuKernelGetAttribute(
      &threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, device_));
  EXPECT_EQ(threads, 1024);
  CUfunction function = nullptr;
  EXPECT_OK(Cuda().cuKernelGetFunction(&function, kernel));
  EXPECT_NE(function, nullptr);
  CUdeviceptr pointer = 0;
  EXPECT_OK(Cuda().cuLibraryGetGlobal(&pointer, &size, library, "counter"));
  EXPECT_EQ(size, 4u);
  EXPECT_OK(Cuda().cuLibraryUnload(library));
}

}  // namespace
}  // namespace holdfast::conformance
