// SPDX-License-Identifier: Apache-2.0
//
// The output of kernels reaches the client in order, and no faster than the
// client reads.
#include "server/executor/output/kernel_output.h"

#include <sys/wait.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using executor::KernelOutput;

// say(): each thread prints "line\n". say_and_trap(): and then fails.
// assert_and_fail(): thread 2 prints, and then an assertion of it fails.
constexpr char kPtx[] = R"(
.version 8.0
.target sm_75
.address_size 64

.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 list);
.extern .func __assertfail(.param .b64 text, .param .b64 file, .param .b32 number, .param .b64 function, .param .b64 size);
.global .align 1 .b8 text[6] = {108, 105, 110, 101, 10, 0};
.global .align 1 .b8 expression[6] = {110, 32, 62, 32, 48, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.global .align 1 .b8 function[2] = {102, 0};

.func print()
{
    .reg .b64 %rd<3>;
    .param .b64 format;
    .param .b64 list;
    .param .b32 result;
    mov.u64 %rd1, text;
    cvta.global.u64 %rd2, %rd1;
    st.param.b64 [format], %rd2;
    st.param.b64 [list], 0;
    call (result), vprintf, (format, list);
    ret;
}
.visible .entry say()
{
    call print;
    ret;
}
.visible .entry assert_and_fail()
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    .reg .pred %p;
    .param .b64 text_of;
    .param .b64 file_of;
    .param .b32 number;
    .param .b64 function_of;
    .param .b64 size;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p, %r1, 2;
    @%p ret;
    call print;
    cvta.global.u64 %rd1, expression;
    cvta.global.u64 %rd2, file;
    cvta.global.u64 %rd3, function;
    st.param.b64 [text_of], %rd1;
    st.param.b64 [file_of], %rd2;
    st.param.b32 [number], 4;
    st.param.b64 [function_of], %rd3;
    st.param.b64 [size], 1;
    call __assertfail, (text_of, file_of, number, function_of, size);
    ret;
}
.visible .entry say_and_trap()
{
    call print;
    trap;
    ret;
}
)";

class KernelOutputTest : public ExecutorTest {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::CommandBatch, v1::ResultBatch>;

  // Stream 0; "say" is kernel 0, "say_and_trap" kernel 1, "assert_and_fail"
  // kernel 2. The next number is 6.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ExecutorTest::SetUp());
    Batch batch;
    batch.CreateStream(StreamName(0));
    batch.LoadInline(ModuleName(0), kPtx);
    batch.GetKernel(KernelName(0), ModuleName(0), "say");
    batch.GetKernel(KernelName(1), ModuleName(0), "say_and_trap");
    batch.GetKernel(KernelName(2), ModuleName(0), "assert_and_fail");
    const auto results = Run(batch);
    ASSERT_TRUE(results.empty()) << results.begin()->second.DebugString();
  }

  static void AddLaunch(Batch& batch, uint64_t kernel, uint32_t grid,
                        uint32_t block) {
    v1::Launch& launch = *batch.Add().mutable_launch();
    launch.set_kernel(kernel);
    launch.set_stream(StreamName(0));
    for (v1::Dim3* size : {launch.mutable_grid(), launch.mutable_block()}) {
      size->set_x(size == &launch.grid() ? grid : block);
      size->set_y(1);
      size->set_z(1);
    }
  }

  // Results of an Execute call until the one with this number, in the order in
  // which they come.
  static std::vector<v1::Result> ResultsUntil(Stream& stream,
                                              uint64_t sequence) {
    std::vector<v1::Result> results;
    for (v1::ResultBatch batch; stream.Read(&batch);) {
      for (const v1::Result& result : batch.results()) {
        results.push_back(result);
        if (result.sequence() == sequence) return results;
      }
    }
    ADD_FAILURE() << "the call has ended before number " << sequence;
    return results;
  }

  static std::string Lines(int count) {
    std::string lines;
    for (int i = 0; i < count; ++i) lines += "line\n";
    return lines;
  }
};

TEST_F(KernelOutputTest, ComesAtTheEndOfARun) {
  Batch batch(6);
  AddLaunch(batch, KernelName(0), 2, 3);
  const uint64_t sync = batch.Synchronize(StreamName(0));
  const auto results = Run(batch);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results.at(sync).has_done());
  EXPECT_EQ(results.at(0).output().text(), Lines(6));
  EXPECT_EQ(results.at(0).output().lost_bytes(), 0u);
}

TEST_F(KernelOutputTest, ComesBeforeTheResultOfTheWait) {
  const auto context = Context();
  const auto stream = commands().Execute(context.get());
  uint64_t next = 6;
  for (int round = 0; round < 20; ++round) {
    Batch batch(next);
    AddLaunch(batch, KernelName(0), 1, 4);
    const uint64_t sync = batch.Synchronize(StreamName(0));
    next = sync + 1;
    ASSERT_TRUE(stream->Write(batch.proto()));
    std::string text;
    for (const v1::Result& result : ResultsUntil(*stream, sync)) {
      text += result.output().text();
    }
    EXPECT_EQ(text, Lines(4)) << "round " << round;
  }
  EXPECT_TRUE(stream->WritesDone());
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(KernelOutputTest, ThatAFailedKernelPrintedComesBeforeTheEnd) {
  const auto context = Context();
  const auto stream = commands().Execute(context.get());
  Batch batch(6);
  AddLaunch(batch, KernelName(1), 1, 1);
  batch.Synchronize(StreamName(0));
  ASSERT_TRUE(stream->Write(batch.proto()));
  v1::ResultBatch results;
  ASSERT_TRUE(stream->Read(&results));
  ASSERT_EQ(results.results_size(), 1);
  EXPECT_EQ(results.results(0).output().text(), "line\n");
  EXPECT_TRUE(EndAfterFault());
  EXPECT_FALSE(stream->Read(&results));
}

// The driver writes it to standard error, as libcuda does.
TEST_F(KernelOutputTest, AFailedAssertionComesWithFileLineAndThread) {
  const auto context = Context();
  const auto stream = commands().Execute(context.get());
  Batch batch(6);
  AddLaunch(batch, KernelName(2), 1, 4);
  batch.Synchronize(StreamName(0));
  ASSERT_TRUE(stream->Write(batch.proto()));
  std::string text, assertions;
  const auto read = [&] {
    v1::ResultBatch results;
    if (!stream->Read(&results)) return false;
    for (const v1::Result& result : results.results()) {
      text += result.output().text();
      assertions += result.output().assertions();
    }
    return true;
  };
  while (assertions.empty() && read()) continue;
  EXPECT_TRUE(EndAfterFault());
  while (read()) continue;
  EXPECT_NE(text.find("line\n"), std::string::npos) << text;
  EXPECT_NE(
      assertions.find("a.cu:4: f: block: [0,0,0], thread: [2,0,0] Assertion "
                      "`n > 0` failed.\n"),
      std::string::npos)
      << assertions;
  EXPECT_EQ(text.find("Assertion"), std::string::npos) << text;
  EXPECT_EQ(assertions.find("CUDA_ERROR_ASSERT"), std::string::npos)
      << assertions;
}

TEST_F(KernelOutputTest, ThatNobodyTakesIsKeptToALimitAndThenCounted) {
  constexpr int kLaunches = 6, kThreads = 64 * 256;
  constexpr size_t kPrinted = size_t{kLaunches} * kThreads * 5;
  static_assert(kPrinted > KernelOutput::kMaxKept);
  Batch batch(6);
  for (int i = 0; i < kLaunches; ++i) {
    AddLaunch(batch, KernelName(0), 64, 256);
    batch.Synchronize(StreamName(0));
  }
  const auto results = Run(batch);
  const v1::KernelOutput& output = results.at(0).output();
  EXPECT_EQ(output.text().size(), KernelOutput::kMaxKept);
  EXPECT_EQ(output.lost_bytes(), kPrinted - KernelOutput::kMaxKept);

  Batch after(batch.last_sequence() + 1);
  AddLaunch(after, KernelName(0), 1, 1);
  after.Synchronize(StreamName(0));
  EXPECT_EQ(Run(after).at(0).output().text(), "line\n");
}

// Nobody is held up; what he finds when he reads again says how much he missed.
TEST_F(KernelOutputTest, OfAnExecuteCallThatReadsNothingIsLostAndCounted) {
  constexpr int kLaunches = 200, kThreads = 64 * 256;
  const auto context = Context();
  const auto stream = commands().Execute(context.get());
  Batch first(6);
  const uint64_t fence = first.Fence();
  ASSERT_TRUE(stream->Write(first.proto()));
  ResultsUntil(*stream, fence);

  Batch batch(fence + 1);
  for (int i = 0; i < kLaunches; ++i) {
    AddLaunch(batch, KernelName(0), 64, 256);
  }
  const uint64_t sync = batch.Synchronize(StreamName(0));
  const auto results = Run(batch);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results.at(sync).has_done());

  size_t received = 0, lost = 0;
  v1::ResultBatch outputs;
  while (received + lost < size_t{kLaunches} * kThreads * 5 &&
         stream->Read(&outputs)) {
    for (const v1::Result& result : outputs.results()) {
      received += result.output().text().size();
      lost += result.output().lost_bytes();
    }
  }
  EXPECT_EQ(received + lost, size_t{kLaunches} * kThreads * 5);
  EXPECT_GT(lost, 0u);
  EXPECT_TRUE(stream->WritesDone());
}

}  // namespace
}  // namespace holdfast::testing
