// SPDX-License-Identifier: Apache-2.0
//
// The library's output under $HOLDFAST_SOFTWARE_TRACE. The variable is read
// once a process: each of these programs is a process of its own.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "cuda.h"
#include "gtest/gtest.h"

namespace holdfast::software {
namespace {

// The library, loaded as long as the process lives.
class Library {
 public:
  Library() {
    void* library = dlopen(getenv("HOLDFAST_SOFTWARE_DRIVER"), RTLD_NOW);
    if (library == nullptr) _exit(1);
    find_ = reinterpret_cast<decltype(find_)>(
        dlsym(library, "cuGetProcAddress_v2"));
  }

  template <typename Function>
  Function* Find(const char* name, cuuint64_t flags = 0) {
    void* function = nullptr;
    find_(name, &function, 13000, flags, nullptr);
    if (function == nullptr) _exit(2);
    return reinterpret_cast<Function*>(function);
  }

 private:
  decltype(&cuGetProcAddress_v2) find_;
};

// The library's output on stderr while program(Library&) runs.
template <typename Program>
std::string Words(const char* setting, Program program) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    setenv("HOLDFAST_SOFTWARE_TRACE", setting, 1);
    Library library;
    program(library);
    _exit(0);
  }
  close(ends[1]);
  std::string words;
  char some[4096];
  for (ssize_t got; (got = read(ends[0], some, sizeof some)) > 0;) {
    words.append(some, got);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return words;
}

constexpr char kVersion[] =
    "holdfast software driver: cuDriverGetVersion -> CUDA_SUCCESS\n";
constexpr char kDevice[] =
    "holdfast software driver: cuCtxGetDevice_v2 -> "
    "CUDA_ERROR_NOT_INITIALIZED\n";
constexpr char kMissing[] =
    "holdfast software driver: cuTexRefCreate -> CUDA_ERROR_NOT_SUPPORTED\n";

// A call that succeeds, one that fails, and one of no function that there is.
void CallThree(Library& library) {
  int version = 0;
  library.Find<decltype(cuDriverGetVersion)>("cuDriverGetVersion")(&version);
  CUdevice device = 0;
  library.Find<CUresult(CUdevice*, CUcontext)>("cuCtxGetDevice")(&device,
                                                                 nullptr);
  CUtexref texture = nullptr;
  library.Find<CUresult(CUtexref*)>("cuTexRefCreate")(&texture);
}

TEST(TraceTest, ByDefaultNothingIsSaid) {
  EXPECT_EQ(Words("", CallThree), "");
  EXPECT_EQ(Words("0", CallThree), "");
}

TEST(TraceTest, OneNamesCallsThatFailAndFunctionsThatAreMissing) {
  EXPECT_EQ(Words("1", CallThree), std::string(kDevice) + kMissing);
}

TEST(TraceTest, TwoNamesAllCalls) {
  EXPECT_EQ(Words("2", CallThree), std::string(kVersion) + kDevice + kMissing);
}

TEST(TraceTest, AnotherSettingIsComplainedOfOnce) {
  EXPECT_EQ(Words("all", CallThree),
            "holdfast software driver: cannot use "
            "HOLDFAST_SOFTWARE_TRACE=\"all\", its default is taken\n");
}

// Has a kernel store where no memory is.
void Fault(Library& library) {
  constexpr char kPtx[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry bad() { .reg .u64 %a; mov.u64 %a, 64; "
      "st.global.u32 [%a], 1; ret; }";
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const bool launched =
      library.Find<decltype(cuInit)>("cuInit")(0) == CUDA_SUCCESS &&
      library.Find<decltype(cuDevicePrimaryCtxRetain)>(
          "cuDevicePrimaryCtxRetain")(&context, 0) == CUDA_SUCCESS &&
      library.Find<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context) ==
          CUDA_SUCCESS &&
      library.Find<decltype(cuModuleLoadData)>("cuModuleLoadData")(
          &module, kPtx) == CUDA_SUCCESS &&
      library.Find<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(
          &function, module, "bad") == CUDA_SUCCESS &&
      library.Find<decltype(cuLaunchKernel)>("cuLaunchKernel")(
          function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
          CUDA_SUCCESS;
  if (!launched) _exit(3);
  if (library.Find<CUresult(CUcontext)>("cuCtxSynchronize")(context) !=
      CUDA_ERROR_ILLEGAL_ADDRESS) {
    _exit(4);
  }
}

TEST(TraceTest, AFaultIsPrintedUnlessTheProgramTellsIt) {
  EXPECT_NE(Words("0", Fault).find("CUDA_ERROR_ILLEGAL_ADDRESS: kernel bad"),
            std::string::npos);
  EXPECT_EQ(Words("0",
                  [](Library& library) {
                    library.Find<void()>("holdfastSoftwareLeaveFaults")();
                    Fault(library);
                  }),
            "");
}

// Who polls would fill the trace.
TEST(TraceTest, NotReadyIsNoFailure) {
  const auto poll = [](Library& library) {
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    std::atomic<bool> go{false};
    const bool made =
        library.Find<decltype(cuInit)>("cuInit")(0) == CUDA_SUCCESS &&
        library.Find<decltype(cuDevicePrimaryCtxRetain)>(
            "cuDevicePrimaryCtxRetain")(&context, 0) == CUDA_SUCCESS &&
        library.Find<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context) ==
            CUDA_SUCCESS &&
        library.Find<decltype(cuStreamCreate)>("cuStreamCreate")(
            &stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
    if (!made) _exit(3);
    library.Find<decltype(cuLaunchHostFunc)>("cuLaunchHostFunc")(
        stream,
        [](void* go) {
          while (!*static_cast<std::atomic<bool>*>(go)) usleep(1000);
        },
        &go);
    auto* const query = library.Find<decltype(cuStreamQuery)>("cuStreamQuery");
    if (query(stream) != CUDA_ERROR_NOT_READY) _exit(4);
    go = true;
    library.Find<decltype(cuStreamSynchronize)>("cuStreamSynchronize")(stream);
    // A failure, to end with.
    query(reinterpret_cast<CUstream>(uintptr_t{12345}));
  };
  EXPECT_EQ(
      Words("1", poll),
      "holdfast software driver: cuStreamQuery -> CUDA_ERROR_INVALID_HANDLE\n");
}

// The default stream of each thread has entries of its own.
TEST(TraceTest, PerThreadEntriesAreNamedToo) {
  const auto query = [](Library& library) {
    library.Find<decltype(cuStreamQuery)>(
        "cuStreamQuery",
        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)(nullptr);
  };
  EXPECT_EQ(
      Words("1", query),
      "holdfast software driver: cuStreamQuery -> CUDA_ERROR_NOT_INITIALIZED"
      "\n");
}

}  // namespace
}  // namespace holdfast::software
