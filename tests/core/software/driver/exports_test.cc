// SPDX-License-Identifier: Apache-2.0
//
// The library as a loader sees it.
#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

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
#define HOLDFAST_UNSUPPORTED_SYMBOL(symbol)
#include "core/cuda/entry_points.inc"
#undef HOLDFAST_ENTRY
#undef HOLDFAST_STREAM_ENTRY
#undef HOLDFAST_UNSUPPORTED
#undef HOLDFAST_UNSUPPORTED_SYMBOL
};
constexpr EntryPoint kUnsupported[] = {
#define HOLDFAST_ENTRY(symbol, name, version)
#define HOLDFAST_STREAM_ENTRY(symbol, name, version)
#define HOLDFAST_UNSUPPORTED(symbol, version) \
  {#symbol, #symbol, version, false},
#define HOLDFAST_UNSUPPORTED_SYMBOL(symbol) {#symbol, "", 0, false},
#include "core/cuda/entry_points.inc"
#undef HOLDFAST_ENTRY
#undef HOLDFAST_STREAM_ENTRY
#undef HOLDFAST_UNSUPPORTED
#undef HOLDFAST_UNSUPPORTED_SYMBOL
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

  template <typename F>
  F* Symbol(const char* name) {
    return reinterpret_cast<F*>(dlsym(library_, name));
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
    void* const exported = dlsym(library_, entry.symbol);
    EXPECT_NE(exported, nullptr) << entry.symbol;
    if (*entry.name == 0) continue;
    EXPECT_EQ(Find(entry.name, entry.version), exported) << entry.name;
  }
}

// Whatever cuda.h declares, or calls by another name, is a symbol.
TEST_F(ExportsTest, EveryFormThatCudaDeclaresIsExported) {
  std::ifstream file(getenv("HOLDFAST_CUDA_HEADER"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::regex declaration(R"(CUresult\s+CUDAAPI\s+(cu\w+)\s*\()");
  const std::regex renamed(R"(#define\s+cu\w+\s+(cu\w+)\s*\n)");
  const std::regex per_thread(R"(__CUDA_API_(PTDS|PTSZ)\((cu\w+)\))");
  std::set<std::string> symbols;
  const auto each = [&](const std::regex& what, auto add) {
    for (std::sregex_iterator at(text.begin(), text.end(), what), end;
         at != end; ++at) {
      add(*at);
    }
  };
  each(declaration, [&](const std::smatch& m) { symbols.insert(m[1]); });
  each(renamed, [&](const std::smatch& m) { symbols.insert(m[1]); });
  each(per_thread, [&](const std::smatch& m) {
    symbols.insert(m[2]);
    const bool waits = m[1] == "PTDS";
    symbols.insert(m[2].str() + (waits ? "_ptds" : "_ptsz"));
    // Programs look for one form and then for the other.
    const std::string other = m[2].str() + (waits ? "_ptsz" : "_ptds");
    EXPECT_EQ(dlsym(library_, other.c_str()), nullptr) << other;
  });
  EXPECT_GT(symbols.size(), 600u);
  for (const std::string& symbol : symbols) {
    EXPECT_NE(dlsym(library_, symbol.c_str()), nullptr) << symbol;
  }
}

// NVIDIA's own libraries ask for private tables, and go on without.
TEST_F(ExportsTest, ThereIsNoExportTable) {
  auto* get = reinterpret_cast<CUresult (*)(const void**, const CUuuid*)>(
      dlsym(library_, "cuGetExportTable"));
  ASSERT_NE(get, nullptr);
  const CUuuid id{};
  const void* table = &id;
  EXPECT_EQ(get(&table, &id), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(table, nullptr);
}

TEST_F(ExportsTest, APerThreadFormIsTheFunction) {
  ASSERT_EQ(reinterpret_cast<decltype(&cuInit)>(dlsym(library_, "cuInit"))(0),
            CUDA_SUCCESS);
  auto* retain = reinterpret_cast<decltype(&cuDevicePrimaryCtxRetain)>(
      dlsym(library_, "cuDevicePrimaryCtxRetain"));
  auto* set = reinterpret_cast<decltype(&cuCtxSetCurrent)>(
      dlsym(library_, "cuCtxSetCurrent"));
  CUcontext context = nullptr;
  ASSERT_EQ(retain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(set(context), CUDA_SUCCESS);
  using GetId = CUresult (*)(CUstream, unsigned long long*);
  const auto id = [&](const char* symbol, CUstream stream) {
    unsigned long long value = 0;
    const auto get = reinterpret_cast<GetId>(dlsym(library_, symbol));
    EXPECT_EQ(get(stream, &value), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(id("cuStreamGetId_ptsz", nullptr),
            id("cuStreamGetId", CU_STREAM_PER_THREAD));
  EXPECT_NE(id("cuStreamGetId_ptsz", nullptr), id("cuStreamGetId", nullptr));
}

// The child of a program that uses the driver has none of its threads, and gets
// what an H200's driver answers there.
TEST_F(ExportsTest, AForkedProcessIsNotInitialized) {
  const auto init = Symbol<decltype(cuInit)>("cuInit");
  const auto count = Symbol<decltype(cuDeviceGetCount)>("cuDeviceGetCount");
  const auto version =
      Symbol<decltype(cuDriverGetVersion)>("cuDriverGetVersion");
  ASSERT_EQ(init(0), CUDA_SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    int value = 0;
    const bool right = init(0) == CUDA_ERROR_NOT_INITIALIZED &&
                       init(1) == CUDA_ERROR_INVALID_VALUE &&
                       count(&value) == CUDA_ERROR_NOT_INITIALIZED &&
                       version(&value) == CUDA_SUCCESS && value >= 13000;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  int value = 0;
  EXPECT_EQ(count(&value), CUDA_SUCCESS);
}

// A program that retained the context releases it, also after a reset.
TEST_F(ExportsTest, AResetLeavesThePrimaryContextRetained) {
  const auto find = [&](const char* symbol) {
    return reinterpret_cast<CUresult (*)(CUdevice)>(dlsym(library_, symbol));
  };
  ASSERT_EQ(reinterpret_cast<decltype(&cuInit)>(dlsym(library_, "cuInit"))(0),
            CUDA_SUCCESS);
  auto* retain = reinterpret_cast<decltype(&cuDevicePrimaryCtxRetain)>(
      dlsym(library_, "cuDevicePrimaryCtxRetain"));
  auto* set = reinterpret_cast<decltype(&cuCtxSetCurrent)>(
      dlsym(library_, "cuCtxSetCurrent"));
  auto* allocate = reinterpret_cast<decltype(&cuMemAlloc_v2)>(
      dlsym(library_, "cuMemAlloc_v2"));
  const auto reset = find("cuDevicePrimaryCtxReset_v2");
  const auto release = find("cuDevicePrimaryCtxRelease_v2");
  while (release(0) == CUDA_SUCCESS) continue;  // other tests'
  CUcontext first = nullptr, second = nullptr;
  ASSERT_EQ(retain(&first, 0), CUDA_SUCCESS);
  ASSERT_EQ(set(first), CUDA_SUCCESS);
  EXPECT_EQ(reset(0), CUDA_SUCCESS);
  ASSERT_EQ(retain(&second, 0), CUDA_SUCCESS);
  EXPECT_EQ(second, first);
  CUdeviceptr memory = 0;
  EXPECT_EQ(allocate(&memory, 16), CUDA_SUCCESS);
  EXPECT_EQ(release(0), CUDA_SUCCESS);
  EXPECT_EQ(allocate(&memory, 16), CUDA_SUCCESS);
  EXPECT_EQ(release(0), CUDA_SUCCESS);
  EXPECT_EQ(release(0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ExportsTest, TheHeapOfDeviceCodeEndsWithTheLastContext) {
  const auto limit = Symbol<decltype(cuCtxSetLimit)>("cuCtxSetLimit");
  const auto reset = Symbol<decltype(cuDevicePrimaryCtxReset_v2)>(
      "cuDevicePrimaryCtxReset_v2");
  const auto release = Symbol<decltype(cuDevicePrimaryCtxRelease_v2)>(
      "cuDevicePrimaryCtxRelease_v2");
  const auto retain =
      Symbol<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain");
  ASSERT_EQ(Symbol<decltype(cuInit)>("cuInit")(0), CUDA_SUCCESS);
  while (release(0) == CUDA_SUCCESS) continue;  // other tests'
  CUcontext context = nullptr;
  ASSERT_EQ(retain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(Symbol<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context),
            CUDA_SUCCESS);
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  ASSERT_EQ(Symbol<decltype(cuModuleLoadData)>("cuModuleLoadData")(
                &module,
                ".version 7.5\n.target sm_75\n.address_size 64\n"
                ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
                ".visible .entry k() { .param .b64 n; .param .b64 r;\n"
                "st.param.b64 [n], 64; call (r), malloc, (n); ret; }\n"),
            CUDA_SUCCESS);
  ASSERT_EQ(Symbol<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(
                &kernel, module, "k"),
            CUDA_SUCCESS);
  EXPECT_EQ(limit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 20), CUDA_SUCCESS);
  ASSERT_EQ(Symbol<decltype(cuLaunchKernel)>("cuLaunchKernel")(
                kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(Symbol<decltype(cuCtxSynchronize)>("cuCtxSynchronize")(),
            CUDA_SUCCESS);
  EXPECT_EQ(limit(CU_LIMIT_MALLOC_HEAP_SIZE, 2 << 20),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(reset(0), CUDA_SUCCESS);
  ASSERT_EQ(retain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(limit(CU_LIMIT_MALLOC_HEAP_SIZE, 2 << 20), CUDA_SUCCESS);
  EXPECT_EQ(release(0), CUDA_SUCCESS);
  EXPECT_EQ(release(0), CUDA_SUCCESS);
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

// The library registers no destructors with the process; exit_handlers.cc says
// why. To register one it would have to import the C library's __cxa_atexit.
TEST_F(ExportsTest, ItsObjectsOutliveTheThreadsOfStreams) {
  link_map* map = nullptr;
  ASSERT_EQ(dlinfo(library_, RTLD_DI_LINKMAP, &map), 0);
  const char* names = nullptr;
  size_t size = 0;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) {
      names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    }
    if (entry->d_tag == DT_STRSZ) size = entry->d_un.d_val;
  }
  ASSERT_NE(names, nullptr);
  const std::string all(names, size);
  EXPECT_NE(all.find("cuGetProcAddress"), std::string::npos);
  EXPECT_EQ(all.find("__cxa_atexit"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::software
