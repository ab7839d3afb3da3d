// SPDX-License-Identifier: Apache-2.0
//
// The library as a loader sees it.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "cuda.h"
#include "gtest/gtest.h"

namespace holdfast::software {
namespace {

// A line of the list. A table, for a compiler takes minutes for a test with a
// statement a line.
struct EntryPoint {
  const char* symbol;
  const char* name;
  int version;
  bool per_thread;  // has a variant for per-thread default streams
};
constexpr EntryPoint kEntryPoints[] = {
#define HOLDFAST_ENTRY(symbol, name, version) {#symbol, name, version, false},
#define HOLDFAST_STREAM_ENTRY(symbol, name, version) \
  {#symbol, name, version, true},
#define HOLDFAST_UNSUPPORTED(symbol, version)
#include "core/software/driver/entry_points.inc"
#undef HOLDFAST_ENTRY
#undef HOLDFAST_STREAM_ENTRY
#undef HOLDFAST_UNSUPPORTED
};
constexpr EntryPoint kUnsupported[] = {
#define HOLDFAST_ENTRY(symbol, name, version)
#define HOLDFAST_STREAM_ENTRY(symbol, name, version)
#define HOLDFAST_UNSUPPORTED(symbol, version) \
  {nullptr, #symbol, version, false},
#include "core/software/driver/entry_points.inc"
#undef HOLDFAST_ENTRY
#undef HOLDFAST_STREAM_ENTRY
#undef HOLDFAST_UNSUPPORTED
};

class ExportsTest : public testing::Test {
 protected:
  void SetUp() override {
    library_ =
        dlopen(getenv("HOLDFAST_SOFTWARE_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    find_ = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(
        dlsym(library_, "cuGetProcAddress_v2"));
    ASSERT_NE(find_, nullptr);
  }

  void* Find(const char* name, int version, cuuint64_t flags = 0) {
    void* function = nullptr;
    find_(name, &function, version, flags, nullptr);
    return function;
  }

  void* library_ = nullptr;
  decltype(&cuGetProcAddress_v2) find_ = nullptr;
};

TEST_F(ExportsTest, EveryEntryPointIsExportedAndFound) {
  for (const EntryPoint& entry : kEntryPoints) {
    SCOPED_TRACE(entry.symbol);
    void* const exported = dlsym(library_, entry.symbol);
    EXPECT_NE(exported, nullptr);
    EXPECT_EQ(Find(entry.name, entry.version), exported);
    if (!entry.per_thread) continue;
    EXPECT_NE(Find(entry.name, entry.version,
                   CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
              exported);
  }
  for (const EntryPoint& entry : kUnsupported) {
    EXPECT_NE(Find(entry.name, entry.version), nullptr) << entry.name;
  }
}

TEST_F(ExportsTest, WhatIsNotImplementedSaysSo) {
  auto* create =
      reinterpret_cast<CUresult (*)(CUtexref*)>(Find("cuTexRefCreate", 13000));
  ASSERT_NE(create, nullptr);
  CUtexref texture = nullptr;
  EXPECT_EQ(create(&texture), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(ExportsTest, NothingButTheApiIsExported) {
  EXPECT_EQ(dlsym(library_, "_ZN8holdfast8software6Driver3GetEv"), nullptr);
  EXPECT_NE(dlsym(library_, "holdfastSoftwareLastFault"), nullptr);
  EXPECT_NE(dlsym(library_, "holdfastSoftwareLastRefusal"), nullptr);
  EXPECT_NE(dlsym(library_, "holdfastSoftwareSetCodeStore"), nullptr);
}

TEST_F(ExportsTest, NoFaultMeansNoMessage) {
  auto* last = reinterpret_cast<const char* (*)()>(
      Find("holdfastSoftwareLastFault", 13000));
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last(), nullptr);
}

}  // namespace
}  // namespace holdfast::software
