// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/linker.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/software/driver/containers.h"

namespace holdfast::software {
namespace {

using ::testing::HasSubstr;

constexpr char kHeader[] = ".version 7.0\n.target sm_75\n.address_size 64\n";
constexpr char kKernel[] =
    ".extern .func first();\n"
    ".visible .entry kernel() { call first; ret; }\n";
constexpr char kFirst[] =
    ".extern .func second();\n"
    ".visible .func first() { call second; ret; }\n";
constexpr char kSecond[] = ".visible .func second() { ret; }\n";
constexpr char kOther[] =
    ".visible .func other() { ret; }\n"
    ".visible .entry unneeded() { ret; }\n";

std::string Ptx(const std::string& body) { return kHeader + body; }

std::string PtxFatbin(const std::string& body) {
  return Fatbin(FatbinEntry(kPtxEntry, 75, Ptx(body) + '\0'));
}

class LinkerTest : public testing::Test {
 protected:
  LinkerTest() {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    JitOptions jit;
    EXPECT_EQ(JitOptions::Parse(2, options, values_, &jit), CUDA_SUCCESS);
    linker_ = std::make_unique<Linker>(jit);
  }

  CUresult Add(const std::string& bytes, const char* name,
               CUjitInputType type = CU_JIT_INPUT_LIBRARY) {
    return linker_->Add(type, bytes.data(), bytes.size(), name);
  }

  // The names of the linked image's kernels.
  std::vector<std::string> Complete() {
    void* image = nullptr;
    size_t size = 0;
    EXPECT_EQ(linker_->Complete(&image, &size), CUDA_SUCCESS) << log_;
    if (image == nullptr) return {};
    std::unique_ptr<Executable> code;
    std::string reason;
    EXPECT_EQ(LoadImage(image, JitOptions(), &code, &reason), CUDA_SUCCESS);
    std::vector<std::string> names;
    for (const KernelProperties& kernel : code->kernels()) {
      names.push_back(kernel.name);
    }
    return names;
  }

  CUresult Fail() {
    void* image = nullptr;
    return linker_->Complete(&image, nullptr);
  }

  char log_[4096] = "";
  void* values_[2] = {log_, reinterpret_cast<void*>(sizeof(log_))};
  std::unique_ptr<Linker> linker_;
};

using Names = std::vector<std::string>;

TEST_F(LinkerTest, OfAnArchiveTheMembersThatAreNeededAreLinked) {
  // In the order in which one pass would not find them.
  const std::string archive =
      Archive({{"second.o", HostObject("__nv_relfatbin", PtxFatbin(kSecond))},
               {"other.o", PtxFatbin(kOther)},
               {"first.ptx", Ptx(kFirst)}});
  ASSERT_EQ(Add(archive, "libdevice.a"), CUDA_SUCCESS) << log_;
  ASSERT_EQ(Add(Ptx(kKernel), "kernel.ptx", CU_JIT_INPUT_PTX), CUDA_SUCCESS);
  EXPECT_EQ(Complete(), Names({"kernel"}));
}

TEST_F(LinkerTest, AnInputGoesBeforeAMemberThatDefinesTheSame) {
  ASSERT_EQ(Add(Archive({{"first.ptx", Ptx(kFirst)}}), "lib.a"), CUDA_SUCCESS);
  ASSERT_EQ(Add(Ptx(kKernel), "kernel.ptx"), CUDA_SUCCESS);
  ASSERT_EQ(Add(Ptx(".visible .func first() { ret; }\n"), "own.ptx"),
            CUDA_SUCCESS);
  EXPECT_EQ(Complete(), Names({"kernel"}));
}

TEST_F(LinkerTest, EachFatBinaryOfAnObjectIsLinked) {
  std::string aligned = PtxFatbin(kKernel);
  aligned.resize((aligned.size() + 7) / 8 * 8);
  ASSERT_EQ(Add(HostObject(".nv_fatbin", aligned + PtxFatbin(kFirst)), "x.o",
                CU_JIT_INPUT_OBJECT),
            CUDA_SUCCESS)
      << log_;
  ASSERT_EQ(Add(Ptx(kSecond), "second.ptx"), CUDA_SUCCESS);
  EXPECT_EQ(Complete(), Names({"kernel"}));
}

TEST_F(LinkerTest, AMemberOfMachineCodeIsLeftOutAndNamedIfASymbolIsMissing) {
  const std::string code = Fatbin(FatbinEntry(kMachineCodeEntry, 90, "code"));
  ASSERT_EQ(Add(Archive({{"code.o", HostObject("__nv_relfatbin", code)}}),
                "libcode.a"),
            CUDA_SUCCESS)
      << log_;
  ASSERT_EQ(Add(Ptx(kSecond + std::string(".visible .entry k() { ret; }\n")),
                "complete.ptx"),
            CUDA_SUCCESS);
  EXPECT_EQ(Complete(), Names({"k"}));
  ASSERT_EQ(Add(Ptx(kKernel), "kernel.ptx"), CUDA_SUCCESS);
  EXPECT_NE(Fail(), CUDA_SUCCESS);
  EXPECT_THAT(log_, HasSubstr("first"));
  EXPECT_THAT(log_, HasSubstr("libcode.a(code.o) is left out"));
  EXPECT_THAT(log_, HasSubstr("compute_XX"));
}

TEST_F(LinkerTest, AnArchiveAloneIsAnEmptyImage) {
  ASSERT_EQ(Add(Archive({{"other.ptx", Ptx(kOther)}}), "lib.a"), CUDA_SUCCESS);
  EXPECT_EQ(Complete(), Names());
}

TEST_F(LinkerTest, AnArchiveWithoutDeviceCodeIsRefused) {
  const std::string host = HostObject(".text", "code of the host");
  EXPECT_EQ(Add(Archive({{"host.o", host}}), "libhost.a"),
            CUDA_ERROR_INVALID_IMAGE);
  EXPECT_THAT(log_, HasSubstr("libhost.a: the archive has no code for a GPU"));
  EXPECT_EQ(Add(host, "host.o", CU_JIT_INPUT_OBJECT), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(Add("!<arch>\nnothing", "bad.a"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_THAT(log_, HasSubstr("bad.a: the archive is damaged"));
}

// As in a program of `nvcc -rdc=true`: NVIDIA's driver has the functions that
// the toolkit's device runtime calls, and this one has those of the runtime.
TEST_F(LinkerTest, TheDeviceRuntimeOfTheToolkitIsLeftOut) {
  EXPECT_EQ(
      Add(PtxFatbin(".extern .func (.param .b32 back) cudaCGSynchronize"
                    "(.param .b64 grid, .param .b32 flags);\n"
                    ".visible .entry kernel() {\n"
                    ".param .b64 grid; .param .b32 flags, back;\n"
                    "st.param.b64 [grid], 0; st.param.b32 [flags], 0;\n"
                    "call (back), cudaCGSynchronize, (grid, flags); ret; }\n"),
          "program.o"),
      CUDA_SUCCESS);
  EXPECT_EQ(Add(Fatbin(FatbinEntry(
                    kPtxEntry, 121,
                    ".version 9.0\n.target sm_121\n.address_size 64\n"
                    ".extern .func (.param .b32 back) __cuda_syscall_CGS_sync"
                    "(.param .b64 grid, .param .b32 flags);\n"
                    ".visible .func (.param .b32 back) cudaCGSynchronize"
                    "(.param .b64 grid, .param .b32 flags) { ret; }\n" +
                        std::string(1, '\0'))),
                "cuda_device_runtime.o"),
            CUDA_SUCCESS);
  EXPECT_THAT(Complete(), testing::ElementsAre("kernel"));
}

TEST_F(LinkerTest, NothingAddedIsNothingToLink) {
  EXPECT_EQ(Fail(), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace holdfast::software
