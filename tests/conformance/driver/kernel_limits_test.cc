// SPDX-License-Identifier: Apache-2.0
//
// The options of a load and a link that limit registers and threads, beside the
// directives of a kernel's text.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

using Options = std::vector<std::pair<CUjit_option, uintptr_t>>;

// A kernel that needs more than 128 registers if it may have them: it loads 140
// doubles, and then stores all of them.
std::string Text(const std::string& directives) {
  constexpr int kDoubles = 140;
  std::string text =
      ".version 7.5\n.target sm_75\n.address_size 64\n"
      ".visible .entry k(.param .u64 p)\n" +
      directives + "\n{\n.reg .f64 %f<140>;\n.reg .u64 %a;\n" +
      "ld.param.u64 %a, [p];\n";
  const auto at = [](int i) {
    return "[%a+" + std::to_string(8 * (i % kDoubles)) + "]";
  };
  for (int i = 0; i < kDoubles; ++i) {
    text += "ld.volatile.f64 %f" + std::to_string(i) + ", " + at(i) + ";\n";
  }
  for (int i = 0; i < kDoubles; ++i) {
    text +=
        "st.volatile.f64 " + at(37 * i) + ", %f" + std::to_string(i) + ";\n";
  }
  return text + "ret;\n}\n";
}

struct Seen {
  int registers = 0;
  int threads = 0;
};

class KernelLimitsTest : public ContextTest {
 protected:
  // The program's arrays of options.
  struct Arrays {
    explicit Arrays(const Options& options) {
      for (const auto& [option, value] : options) {
        names.push_back(option);
        values.push_back(reinterpret_cast<void*>(value));
      }
    }
    unsigned count() const { return static_cast<unsigned>(names.size()); }
    std::vector<CUjit_option> names;
    std::vector<void*> values;
  };

  Seen Load(const void* image, const Options& options) {
    Arrays arrays(options);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    Seen seen;
    EXPECT_OK(Cuda().cuModuleLoadDataEx(&module, image, arrays.count(),
                                        arrays.names.data(),
                                        arrays.values.data()));
    EXPECT_OK(Cuda().cuModuleGetFunction(&function, module, "k"));
    EXPECT_OK(Cuda().cuFuncGetAttribute(&seen.registers,
                                        CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    EXPECT_OK(Cuda().cuFuncGetAttribute(
        &seen.threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    EXPECT_OK(Cuda().cuModuleUnload(module));
    return seen;
  }

  Seen LoadText(const std::string& directives, const Options& options) {
    return Load(Text(directives).c_str(), options);
  }

  Seen Link(const std::string& directives, const Options& of_link,
            const Options& of_input) {
    Arrays link(of_link);
    Arrays input(of_input);
    CUlinkState state = nullptr;
    EXPECT_OK(Cuda().cuLinkCreate_v2(link.count(), link.names.data(),
                                     link.values.data(), &state));
    std::string text = Text(directives);
    EXPECT_OK(Cuda().cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, &text[0],
                                      text.size() + 1, "k.ptx", input.count(),
                                      input.names.data(), input.values.data()));
    void* image = nullptr;
    size_t size = 0;
    EXPECT_OK(Cuda().cuLinkComplete(state, &image, &size));
    // The image may be carried elsewhere, and loaded later.
    const std::string copy(static_cast<char*>(image), size);
    EXPECT_OK(Cuda().cuLinkDestroy(state));
    return Load(copy.c_str(), {});
  }
};

TEST_F(KernelLimitsTest, ALoadLimitsRegisters) {
  EXPECT_GT(LoadText("", {}).registers, 128);
  for (const int most : {32, 57, 64, 128}) {
    const int registers =
        LoadText("", {{CU_JIT_MAX_REGISTERS, most}}).registers;
    EXPECT_LE(registers, most);
    EXPECT_GE(registers, most - 8);
  }
  EXPECT_LE(LoadText("", {{CU_JIT_THREADS_PER_BLOCK, 1024}}).registers, 64);
}

TEST_F(KernelLimitsTest, ALinkLimitsRegisters) {
  const Options few = {{CU_JIT_MAX_REGISTERS, 32}};
  const Options more = {{CU_JIT_MAX_REGISTERS, 64}};
  EXPECT_GT(Link("", {}, {}).registers, 128);
  EXPECT_EQ(Link("", few, {}).registers, 32);
  EXPECT_EQ(Link("", {}, few).registers, 32);
  EXPECT_EQ(Link("", more, few).registers, 32) << "an input's option counts";
  EXPECT_EQ(Link("", few, more).registers, 64);
  EXPECT_EQ(Link(".maxnreg 40", few, {}).registers, 40);
  EXPECT_EQ(Link("", {{CU_JIT_MAX_THREADS_PER_BLOCK, 128}}, {}).threads, 128);
}

TEST_F(KernelLimitsTest, DirectivesComeBeforeOptions) {
  const Options registers = {{CU_JIT_MAX_REGISTERS, 32}};
  EXPECT_EQ(LoadText(".maxnreg 40", registers).registers, 40);
  EXPECT_GT(LoadText(".maxntid 256", registers).registers, 128);
  EXPECT_EQ(LoadText(".maxntid 256", registers).threads, 256);
  const Options threads = {{CU_JIT_MAX_THREADS_PER_BLOCK, 128}};
  EXPECT_EQ(LoadText("", threads).threads, 128);
  EXPECT_EQ(LoadText(".maxntid 256", threads).threads, 256);
}

TEST_F(KernelLimitsTest, OptionsMayOverrideDirectives) {
  EXPECT_EQ(LoadText(".maxnreg 40", {{CU_JIT_OVERRIDE_DIRECTIVE_VALUES, 1},
                                     {CU_JIT_MAX_REGISTERS, 64}})
                .registers,
            64);
  EXPECT_EQ(LoadText(".maxntid 256", {{CU_JIT_OVERRIDE_DIRECTIVE_VALUES, 1},
                                      {CU_JIT_MAX_THREADS_PER_BLOCK, 128}})
                .threads,
            128);
}

TEST_F(KernelLimitsTest, RegistersAreLeftForEachThread) {
  EXPECT_LE(LoadText(".maxntid 1024", {}).registers, 64);
  EXPECT_LE(LoadText(".maxntid 1024\n.minnctapersm 2", {}).registers, 32);
  EXPECT_LE(LoadText(".maxntid 256\n.minnctapersm 4", {}).registers, 64);
  EXPECT_LE(LoadText("", {{CU_JIT_MAX_THREADS_PER_BLOCK, 1024},
                          {CU_JIT_MIN_CTA_PER_SM, 2}})
                .registers,
            32);
}

TEST_F(KernelLimitsTest, TheOptionSaysForHowManyThreadsCodeIs) {
  const std::string text = Text("");
  CUjit_option option = CU_JIT_THREADS_PER_BLOCK;
  void* value = reinterpret_cast<void*>(uintptr_t{400});
  CUmodule module = nullptr;
  ASSERT_OK(
      Cuda().cuModuleLoadDataEx(&module, text.c_str(), 1, &option, &value));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(value), 416u);
  EXPECT_OK(Cuda().cuModuleUnload(module));
}

TEST_F(KernelLimitsTest, ALimitOfNoRegistersIsRefused) {
  const std::string text = Text("");
  CUjit_option option = CU_JIT_MAX_REGISTERS;
  void* value = nullptr;
  CUmodule module = nullptr;
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_VALUE,
      Cuda().cuModuleLoadDataEx(&module, text.c_str(), 1, &option, &value));
}

}  // namespace
}  // namespace holdfast::conformance
