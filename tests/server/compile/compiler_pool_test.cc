// SPDX-License-Identifier: Apache-2.0
//
// Real workers with the real NVRTC.
#include "server/compile/compiler_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "core/base/error_detail.h"
#include "core/base/memfd.h"
#include "core/base/sanitizer.h"
#include "core/compile/compile_options.h"
#include "server/channel/channel.h"
#include "server/process/spawner.h"
#include "tests/server/testing/endless_source.h"

namespace holdfast {
namespace {

constexpr char kSaxpy[] = R"(
extern "C" __global__ void saxpy(float a, float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
})";

v1::CompileRequest Request(const std::string& source) {
  v1::CompileRequest request;
  request.set_source(source);
  request.set_name("test.cu");
  request.set_target(v1::OBJECT_FORMAT_PTX);
  request.set_arch("90");
  return request;
}

absl::StatusOr<CompilerWorker::Result> Compile(
    CompilerPool& pool, const v1::CompileRequest& request,
    const CompileCaller& caller = {}) {
  internal::ToCompiler job;
  *job.mutable_compile() = request;
  return pool.Run(caller, job);
}

std::string PtxModule(const std::string& variables, const std::string& body) {
  return absl::StrCat(".version 8.0\n.target sm_90\n.address_size 64\n",
                      variables, "\n.visible .entry f(.param .u64 p) {\n", body,
                      "ret;\n}\n");
}

// Each value is used thousands of lines later: ptxas, which has 255 registers,
// takes minutes for 20,000 of them.
std::string EndlessBody() {
  constexpr int kValues = 20000;
  constexpr int kApart = 3001;
  std::string body =
      absl::StrCat(".reg .b64 %p; .reg .f32 %f<", kValues,
                   ">;\nld.param.u64 %p, [p];\ncvta.to.global.u64 %p, %p;\n");
  for (int i = 0; i < kApart; ++i) {
    absl::StrAppend(&body, "ld.global.f32 %f", i, ", [%p+", 4 * i, "];\n");
  }
  for (int i = kApart; i < kValues; ++i) {
    absl::StrAppend(&body, "fma.rn.f32 %f", i, ", %f", i - 1 - i * 7 % kApart,
                    ", %f", i - 1 - i * 11 % kApart, ", %f", i - kApart, ";\n");
  }
  for (int i = kValues - kApart; i < kValues; ++i) {
    absl::StrAppend(&body, "st.global.f32 [%p+", 4 * i, "], %f", i, ";\n");
  }
  return body;
}

absl::StatusOr<CompilerWorker::Result> Link(CompilerPool& pool,
                                            const std::string& ptx,
                                            const CompileCaller& caller = {}) {
  internal::ToCompiler job;
  job.mutable_link()->set_target(v1::OBJECT_FORMAT_CUBIN);
  job.mutable_link()->set_arch("90");
  internal::LinkPart& part = *job.mutable_link()->add_parts();
  part.set_name("test.ptx");
  part.set_format(v1::OBJECT_FORMAT_PTX);
  part.set_size(ptx.size());
  return pool.Run(caller, job, [&] { return CreateSealedMemfd("test", ptx); });
}

class CompilerPoolTest : public testing::Test {
 protected:
  struct Limits {
    const char* cpu_seconds = "100";
    const char* memory_mib = "8192";
    absl::Duration time = absl::Minutes(5);
    size_t workers = 1;
    size_t queue = 8;
    size_t jobs = 500;
    Namespaces namespaces = Namespaces::kNone;
  };

  CompilerPool& Pool(const Limits& limits) {
    pool_ = std::make_unique<CompilerPool>(CompilerPool::Options{
        .start =
            [this, limits]() {
              auto child = spawner_->Spawn(
                  {limits.cpu_seconds, limits.memory_mib}, limits.namespaces);
              if (child.ok()) last_pid_ = (*child)->pid();
              return child;
            },
        .workers = limits.workers,
        .max_queue = limits.queue,
        .max_jobs = limits.jobs,
        .time_limit = limits.time});
    return *pool_;
  }
  CompilerPool& Pool() { return Pool(Limits()); }

  std::unique_ptr<Spawner> spawner_ =
      Spawner::Create({.executable = getenv("COMPILER_WORKER")}).value();
  std::atomic<pid_t> last_pid_ = 0;  // also set by the pool's own thread
  std::unique_ptr<CompilerPool> pool_;
};

TEST_F(CompilerPoolTest, CompilesToASealedObject) {
  CompilerPool& pool = Pool();
  ASSERT_TRUE(pool.Prestart().ok());
  EXPECT_EQ(pool.backend().substr(0, 6), "NVRTC ");
  const auto result = Compile(pool, Request(kSaxpy));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(IsSealed(result->object.get()));
  const auto bytes =
      FileMapping::Map(result->object.get(), FileMapping::Access::kReadOnly);
  EXPECT_NE(bytes->bytes().find(".visible .entry saxpy"),
            absl::string_view::npos);
  // A text, not a C string.
  EXPECT_FALSE(absl::StrContains(bytes->bytes(), '\0'));
  EXPECT_EQ(result->response.object().size(), bytes->size());
  EXPECT_EQ(result->response.arch(), "compute_90");
  EXPECT_EQ(result->response.backend(), "NVRTC");
}

TEST_F(CompilerPoolTest, ErrorHasTheLogAndTheWorkerGoesOn) {
  CompilerPool& pool = Pool();
  const auto bad = Compile(pool, Request("__global__ void f() { x = 1; }"));
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
  const auto detail = GetErrorDetail(bad.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_NE(detail->log.find("test.cu(1): error:"), std::string::npos)
      << detail->log;
  const pid_t worker = last_pid_;
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
  EXPECT_EQ(last_pid_, worker);
}

// A job that does not reach the worker is no crash of the compiler.
TEST_F(CompilerPoolTest, JobThatCannotBeSentLeavesTheWorker) {
  CompilerPool& pool = Pool();
  ASSERT_TRUE(pool.Prestart().ok());
  const pid_t worker = last_pid_;
  const absl::Status status =
      Compile(pool, Request(std::string(Channel::kMaxMessageBytes, ' ')))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "over the limit")) << status;
  EXPECT_EQ(pool.statistics().workers_lost, 0);
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
  EXPECT_EQ(last_pid_, worker);
}

TEST_F(CompilerPoolTest, LogThatIsNotUtf8Arrives) {
  const auto bad = Compile(Pool(), Request("#error \xff\xfe"));
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(GetErrorDetail(bad.status())->log.find("#error"),
            std::string::npos);
}

TEST_F(CompilerPoolTest, EndlessTemplatesEndWithTheProcessorTimeLimit) {
  CompilerPool& pool = Pool({.cpu_seconds = "1"});
  EXPECT_EQ(Compile(pool, Request(kEndlessSource)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
}

TEST_F(CompilerPoolTest, EndlessTemplatesEndWithTheTimeLimit) {
  CompilerPool& pool = Pool({.time = absl::Milliseconds(300)});
  ASSERT_TRUE(pool.Prestart().ok());
  const pid_t worker = last_pid_;
  EXPECT_EQ(Compile(pool, Request(kEndlessSource)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(pool.Prestart().ok());
  EXPECT_NE(last_pid_, worker);
}

TEST_F(CompilerPoolTest, EndlessTemplatesEndWithTheMemoryLimit) {
  if (kSanitized) GTEST_SKIP() << "compilers have no memory limit";
  CompilerPool& pool = Pool({.memory_mib = "600"});
  ASSERT_TRUE(Compile(pool, Request(kSaxpy)).ok());
  const absl::Status status = Compile(pool, Request(kEndlessSource)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
}

// The optimizer aborts, where the front end reports an error.
TEST_F(CompilerPoolTest, DataWithoutEndMeetsTheMemoryLimit) {
  if (kSanitized) GTEST_SKIP() << "compilers have no memory limit";
  CompilerPool& pool = Pool({.memory_mib = "600"});
  const absl::Status status =
      Compile(pool, Request("__device__ const int a[25ull << 30] = {1};"
                            "__global__ void f(int* p) { *p = a[*p]; }"))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
}

// nvJitLink only says so in its log.
TEST_F(CompilerPoolTest, LinkMeetsTheMemoryLimit) {
  if (kSanitized) GTEST_SKIP() << "compilers have no memory limit";
  CompilerPool& pool = Pool({.memory_mib = "600"});
  const absl::Status status =
      Link(pool, PtxModule(".visible .global .u32 a[1500000000] = {1};", ""))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "--compile-memory"))
      << status;
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
}

TEST_F(CompilerPoolTest, KilledWorkerIsAbortedWithItsSignalAndReplaced) {
  CompilerPool& pool = Pool();
  ASSERT_TRUE(pool.Prestart().ok());
  const pid_t worker = last_pid_;
  std::thread killer([&] { kill(worker, SIGKILL); });
  const absl::Status status = Compile(pool, Request(kEndlessSource)).status();
  killer.join();
  // Killed while it was idle, it is replaced before the compilation instead,
  // which then has to be killed, too.
  if (last_pid_ == worker) {
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
    EXPECT_NE(status.message().find("SIGKILL"), absl::string_view::npos);
  }
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
}

TEST_F(CompilerPoolTest, FullQueueIsRefused) {
  absl::Notification taken;  // The only worker's place is.
  CompilerPool pool({.start =
                         [&] {
                           // Not for its replacement.
                           if (!taken.HasBeenNotified()) taken.Notify();
                           return spawner_->Spawn({"100", "8192"});
                         },
                     .max_queue = 0,
                     .time_limit = absl::Seconds(2)});
  std::thread busy([&] {
    EXPECT_EQ(Compile(pool, Request(kEndlessSource)).status().code(),
              absl::StatusCode::kDeadlineExceeded);
  });
  taken.WaitForNotification();
  // One request of a client may always wait, the other one is refused.
  std::atomic<int> refused{0};
  const auto compile = [&] {
    const absl::Status status = Compile(pool, Request(kSaxpy)).status();
    if (absl::IsResourceExhausted(status)) ++refused;
  };
  std::thread other(compile);
  compile();
  other.join();
  EXPECT_EQ(refused, 1);
  busy.join();
}

TEST_F(CompilerPoolTest, WorkerThatCannotStartIsUnavailable) {
  spawner_ = Spawner::Create({.executable = "/nonexistent"}).value();
  EXPECT_EQ(Compile(Pool(), Request(kSaxpy)).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(CompilerPoolTest, OptionThatNamesAFileIsRefusedByTheWorker) {
  v1::CompileRequest request = Request(kSaxpy);
  request.add_options("--include-path=/etc");
  EXPECT_EQ(Compile(Pool(), request).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(CompilerPoolTest, ACallerWhoGoesEndsTheCompilation) {
  CompilerPool& pool = Pool();
  ASSERT_TRUE(pool.Prestart().ok());
  const pid_t worker = last_pid_;
  CompileCaller caller;
  caller.gone = [looks = 0]() mutable { return ++looks > 3; };
  EXPECT_EQ(Compile(pool, Request(kEndlessSource), caller).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
  EXPECT_NE(last_pid_, worker);
}

// The link would take minutes.
TEST_F(CompilerPoolTest, ACallerWhoGoesEndsTheLink) {
  CompilerPool& pool = Pool();
  ASSERT_TRUE(pool.Prestart().ok());
  const pid_t worker = last_pid_;
  CompileCaller caller;
  caller.gone = [looks = 0]() mutable { return ++looks > 3; };
  EXPECT_EQ(Link(pool, PtxModule("", EndlessBody()), caller).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
  EXPECT_NE(last_pid_, worker);
}

TEST_F(CompilerPoolTest, AWorkerIsReplacedAfterItsLastJob) {
  CompilerPool& pool = Pool({.jobs = 2});
  std::set<pid_t> workers;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
    workers.insert(last_pid_);
  }
  EXPECT_GE(workers.size(), 3u);
}

TEST_F(CompilerPoolTest, SaysWhatConfinesTheWorkers) {
  CompilerPool& pool = Pool();
  EXPECT_EQ(pool.confinement(), "");
  ASSERT_TRUE(pool.Prestart().ok());
  EXPECT_NE(pool.confinement().find("limits of memory"), std::string::npos)
      << pool.confinement();
}

// Where the machine has nothing to keep a file from being read, the daemon says
// so, and there is nothing to test.
TEST_F(CompilerPoolTest, IncludeOfAServerFileReadsNothing) {
  CompilerPool& pool = Pool();
  ASSERT_TRUE(pool.Prestart().ok());
  if (pool.confinement().find("files by") == std::string::npos) {
    GTEST_SKIP() << pool.confinement();
  }
  for (const char* file :
       {"/etc/passwd", "/proc/self/environ", "/proc/self/maps", "/dev/zero",
        "/usr/lib/os-release", "../../../../../../etc/passwd"}) {
    for (const char* source : {"#include \"%s\"\n", "#include <%s>\n",
                               "#define FILE \"%s\"\n#include FILE\n"}) {
      const std::string text =
          absl::StrFormat(*absl::ParsedFormat<'s'>::New(source), file);
      const absl::Status status = Compile(pool, Request(text)).status();
      ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
          << text << status;
      const std::string log = GetErrorDetail(status)->log;
      // The file's own name, and nothing that stands in it.
      EXPECT_NE(log.find(file), std::string::npos) << log;
      for (const char* content : {"root:", "PATH", "r-xp", "PRETTY"}) {
        EXPECT_EQ(log.find(content), std::string::npos) << log;
      }
    }
  }
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
}

// With the mounts of a real worker, where the machine allows them.
TEST_F(CompilerPoolTest, ToolkitsHeadersAreFound) {
  CompilerPool& pool = Pool({.namespaces = Namespaces::kAll});
  for (const char* header :
       {"cuda_fp16.h", "cooperative_groups.h", "cuda/std/cstdint",
        "cub/block/block_reduce.cuh"}) {
    const auto result = Compile(
        pool,
        Request(absl::StrCat("#include <", header,
                             ">\n__global__ void f(int* x) { *x = 1; }")));
    EXPECT_TRUE(result.ok()) << pool.confinement() << ": " << result.status();
  }
}

// Sensitive to what the options change: arguments that may be one memory,
// arithmetic, loops, arrays that are indexed, a warning.
constexpr char kSensitive[] = R"(
extern "C" __global__ void copies(const int* from, int* to) {
  to[0] = from[0];
  to[1] = from[1];
}
__device__ __noinline__ float f(const float* x, int n) {
  float a[8];
  for (int i = 0; i < 8; ++i) a[i] = x[i] * x[i + 1] + x[i] / sqrtf(x[i + 2]);
  return a[n % 8];
}
extern "C" __global__ void sums(const float* x, float* y, int n) {
  int unused;
  for (int i = 0; i < n; ++i) y[i] += f(x + i, n) / 3;
})";

std::string SampleOf(const compile::OptionSpec& spec) {
  static const auto& texts = *new std::map<absl::string_view, std::string>{
      {"--Ofast-compile", "max"},   {"--define-macro", "to=from"},
      {"--diag-error", "177"},      {"--diag-suppress", "177"},
      {"--diag-warn", "177"},       {"--frandom-seed", "7"},
      {"--ptxas-options", "-v"},    {"--optimization-info", "inline"},
      {"--std", "c++11"},           {"--undefine-macro", "N"},
      {"--jump-table-density", "0"}};
  const auto text = texts.find(spec.name);
  if (text != texts.end()) return absl::StrCat(spec.name, "=", text->second);
  switch (spec.value) {
    case compile::Value::kNone:
      return std::string(spec.name);
    case compile::Value::kBool:
      return absl::StrCat(spec.name, spec.name == "--ftz" ? "=true" : "=false");
    case compile::Value::kOn:
      return absl::StrCat(spec.name, "=on");
    default:
      return absl::StrCat(spec.name, "=2");
  }
}

struct Made {
  std::string bytes;
  std::string log;
};

Made Make(CompilerPool& pool, v1::ObjectFormat target) {
  v1::CompileRequest request = Request(kSensitive);
  request.set_target(target);
  const auto result = Compile(pool, request);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  const auto bytes =
      FileMapping::Map(result->object.get(), FileMapping::Access::kReadOnly);
  return {std::string(bytes->bytes()), result->response.log()};
}

class CompilerStateTest : public CompilerPoolTest,
                          public ::testing::WithParamInterface<int> {};

constexpr int kParts = 4;

// Each option by one client, between the same program by another.
TEST_P(CompilerStateTest, OptionsDoNotReachLaterPrograms) {
  constexpr v1::ObjectFormat kTargets[] = {v1::OBJECT_FORMAT_PTX,
                                           v1::OBJECT_FORMAT_CUBIN};
  CompilerPool& pool = Pool();
  const Made before[] = {Make(pool, kTargets[0]), Make(pool, kTargets[1])};
  const auto table = compile::OptionTable();
  for (size_t i = GetParam(); i < table.size(); i += kParts) {
    const compile::OptionSpec& spec = table[i];
    if (spec.nvrtc.empty()) continue;
    v1::CompileRequest request = Request(kSensitive);
    request.add_options(SampleOf(spec));
    for (const v1::ObjectFormat target : kTargets) {
      request.set_target(target);
      (void)Compile(pool, request);  // Some are errors; they are programs, too.
    }
    for (const int t : {0, 1}) {
      const Made after = Make(pool, kTargets[t]);
      EXPECT_EQ(after.bytes, before[t].bytes) << request.options(0);
      EXPECT_EQ(after.log, before[t].log) << request.options(0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Options, CompilerStateTest,
                         ::testing::Range(0, kParts));

TEST_F(CompilerPoolTest, AStrangerGetsACompilerFromAClientThatHasAll) {
  CompilerPool& pool = Pool({.workers = 2});
  std::atomic<bool> over = false;
  std::atomic<int> running = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      CompileCaller greedy;
      greedy.name = "greedy";
      greedy.gone = [&over] { return over.load(); };
      greedy.report = [&running, told = false](const CompileStage& at) mutable {
        if (!told && at.queue_position == 0) ++running;
        told = true;
      };
      // Not the same for both, though no cache is asked here.
      const auto result = Compile(
          pool, Request(absl::StrCat(kEndlessSource, "// ", i)), greedy);
      EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
    });
  }
  while (running < 2) std::this_thread::yield();
  CompileCaller stranger;
  stranger.name = "stranger";
  EXPECT_TRUE(Compile(pool, Request(kSaxpy), stranger).ok());
  // The other one's slot is still his.
  EXPECT_TRUE(Compile(pool, Request(kSaxpy), stranger).ok());
  over = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CompilerPoolTest, WorkerEndsAfterAnOptionThatStays) {
  CompilerPool& pool = Pool();
  v1::CompileRequest request = Request(kSaxpy);
  EXPECT_TRUE(Compile(pool, request).ok());
  const pid_t worker = last_pid_;
  request.add_options("--fmad=false");
  EXPECT_TRUE(Compile(pool, request).ok());
  EXPECT_TRUE(Compile(pool, request).ok());
  EXPECT_EQ(last_pid_, worker);
  request.add_options("-restrict");
  EXPECT_TRUE(Compile(pool, request).ok());
  EXPECT_TRUE(Compile(pool, Request(kSaxpy)).ok());
  EXPECT_NE(last_pid_, worker);
}

}  // namespace
}  // namespace holdfast
