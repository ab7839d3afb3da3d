// SPDX-License-Identifier: Apache-2.0
//
// The attributes of core dumps. No test switches dumps on.
#include <cstring>
#include <string>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

using Call = CUresult (*)(CUcoredumpSettings, void*, size_t*);

CUresult SetText(Call call, CUcoredumpSettings attribute, const char* text) {
  std::string value = text;
  size_t size = value.size() + 1;
  return call(attribute, value.data(), &size);
}

std::string GetText(Call call, CUcoredumpSettings attribute) {
  char value[1024] = {};
  size_t size = sizeof value;
  EXPECT_OK(call(attribute, value, &size));
  return value;
}

CUresult SetSwitch(Call call, CUcoredumpSettings attribute, bool value) {
  size_t size = sizeof value;
  return call(attribute, &value, &size);
}

bool GetSwitch(Call call, CUcoredumpSettings attribute) {
  bool value = false;
  size_t size = sizeof value;
  EXPECT_OK(call(attribute, &value, &size));
  return value;
}

class CoredumpTest : public ContextTest {
 protected:
  void TearDown() override {
    EXPECT_OK(SetText(set_, CU_COREDUMP_FILE, ""));
    EXPECT_OK(SetText(set_, CU_COREDUMP_PIPE, ""));
    EXPECT_OK(SetSwitch(set_, CU_COREDUMP_LIGHTWEIGHT, false));
    ContextTest::TearDown();
  }

  const Call set_ = Cuda().cuCoredumpSetAttributeGlobal;
  const Call get_ = Cuda().cuCoredumpGetAttributeGlobal;
};

TEST_F(CoredumpTest, TheProcessKeepsItsAttributes) {
  EXPECT_OK(SetText(set_, CU_COREDUMP_FILE, "file"));
  EXPECT_OK(SetText(set_, CU_COREDUMP_PIPE, "pipe"));
  EXPECT_EQ(GetText(get_, CU_COREDUMP_FILE), "file");
  EXPECT_EQ(GetText(get_, CU_COREDUMP_PIPE), "pipe");
  for (const bool value : {true, false}) {
    EXPECT_OK(SetSwitch(set_, CU_COREDUMP_LIGHTWEIGHT, value));
    EXPECT_EQ(GetSwitch(get_, CU_COREDUMP_LIGHTWEIGHT), value);
    EXPECT_OK(SetSwitch(set_, CU_COREDUMP_TRIGGER_HOST, !value));
    EXPECT_EQ(GetSwitch(get_, CU_COREDUMP_TRIGGER_HOST), !value);
  }
  EXPECT_OK(SetSwitch(set_, CU_COREDUMP_ENABLE_ON_EXCEPTION, false));
  EXPECT_FALSE(GetSwitch(get_, CU_COREDUMP_ENABLE_ON_EXCEPTION));
}

TEST_F(CoredumpTest, AContextHasAFileOfItsOwnAndNoPipe) {
  const Call set = Cuda().cuCoredumpSetAttribute;
  EXPECT_OK(SetText(set, CU_COREDUMP_FILE, "own"));
  EXPECT_OK(SetText(set_, CU_COREDUMP_FILE, "file"));
  EXPECT_EQ(GetText(Cuda().cuCoredumpGetAttribute, CU_COREDUMP_FILE), "own");
  EXPECT_EQ(GetText(get_, CU_COREDUMP_FILE), "file");
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, SetText(set, CU_COREDUMP_PIPE, "pipe"));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              SetSwitch(set, CU_COREDUMP_ENABLE_USER_TRIGGER, false));
}

TEST_F(CoredumpTest, ASizeIsThatOfTheValue) {
  EXPECT_OK(SetText(set_, CU_COREDUMP_FILE, "file"));
  // NVIDIA's driver (580) takes sizes that are too small, and writes more.
  // Ours refuses them: coredump_settings_test.
  char value[1024] = {};
  size_t size = 5;
  EXPECT_OK(get_(CU_COREDUMP_FILE, value, &size));
  EXPECT_STREQ(value, "file");
  EXPECT_OK(get_(CU_COREDUMP_FILE, nullptr, &size));
  EXPECT_EQ(size, 1024u);
  size = 4;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              set_(CU_COREDUMP_LIGHTWEIGHT, value, &size));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              get_(CU_COREDUMP_LIGHTWEIGHT, value, &size));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              set_(static_cast<CUcoredumpSettings>(99), value, &size));
}

}  // namespace
}  // namespace holdfast::conformance
