// SPDX-License-Identifier: Apache-2.0
//
// The executor's part of a command: decoding, and carrying out on the software
// driver, without gRPC and without a second thread. The driver's own share is
// measured alone.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "client/bench/kernels.h"
#include "core/base/handle.h"
#include "core/memory/device_allocator.h"
#include "holdfast/v1/commands.pb.h"
#include "server/account/account.h"
#include "server/executor/command/command_processor.h"
#include "server/executor/service/batch_pool.h"
#include "tests/testing/software_driver.h"

namespace holdfast::executor {
namespace {

constexpr int kBatch = 512;

uint64_t NameOf(HandleKind kind, uint32_t index, uint32_t generation = 1) {
  return Handle{kind, generation, index}.Pack();
}

void AddLaunch(v1::CommandBatch* batch) {
  v1::Launch& launch = *batch->add_commands()->mutable_launch();
  launch.set_kernel(NameOf(HandleKind::kKernel, 0));
  launch.set_stream(NameOf(HandleKind::kStream, 0));
  for (v1::Dim3* dim : {launch.mutable_grid(), launch.mutable_block()}) {
    dim->set_x(1);
    dim->set_y(1);
    dim->set_z(1);
  }
  for (int i = 0; i < 2; ++i) {
    launch.add_arguments()->mutable_buffer()->set_buffer(
        NameOf(HandleKind::kBuffer, 0));
  }
  launch.add_arguments()->set_f32(1);
  launch.add_arguments()->set_u64(1);
}

void BM_DecodeLaunches(benchmark::State& state) {
  v1::CommandBatch batch;
  for (int i = 0; i < kBatch; ++i) AddLaunch(&batch);
  const std::string bytes = batch.SerializeAsString();
  const auto pool = std::make_shared<BatchPool>();
  for (auto _ : state) {
    const auto decoded = pool->Get();
    decoded->Decode(bytes);
    benchmark::DoNotOptimize(decoded->bytes());
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_DecodeLaunches);

// A session with stream 0, buffer 0, and kernel 0.
class Dispatch : public benchmark::Fixture {
 public:
  void SetUp(const benchmark::State&) override {
    ResourceOptions options;
    options.api = &testing::SoftwareDriver().api;
    options.account = std::make_shared<Account>(Account::Options{});
    resources_ = std::make_unique<Resources>(options);
    processor_ = std::make_unique<CommandProcessor>(
        *resources_, counts_,
        [](absl::string_view) {
          return absl::StatusOr<FetchedObject>(absl::NotFoundError("none"));
        },
        /*journal=*/nullptr, [] {});
    v1::CommandBatch batch;
    batch.set_first_sequence(1);
    v1::CreateStream& stream = *batch.add_commands()->mutable_create_stream();
    stream.set_stream(NameOf(HandleKind::kStream, 0));
    v1::AllocateBuffer& buffer =
        *batch.add_commands()->mutable_allocate_buffer();
    buffer.set_buffer(NameOf(HandleKind::kBuffer, 0));
    buffer.set_size(4096);
    buffer.set_device(0);
    v1::LoadModule& module = *batch.add_commands()->mutable_load_module();
    module.set_module(NameOf(HandleKind::kModule, 0));
    module.set_inline_(bench::kEmptyKernels);
    v1::GetKernel& kernel = *batch.add_commands()->mutable_get_kernel();
    kernel.set_kernel(NameOf(HandleKind::kKernel, 0));
    kernel.set_module(NameOf(HandleKind::kModule, 0));
    kernel.set_name("four");
    Process(batch);
  }
  void TearDown(const benchmark::State&) override {
    processor_.reset();
    resources_.reset();
  }

 protected:
  // Ends the program if a command has a result: none should.
  void Process(const v1::CommandBatch& batch) {
    int next = 0;
    processor_->Process(batch, /*encoded=*/nullptr, results_, &next);
    if (results_->waiting() != 0) abort();
  }

  void Repeat(benchmark::State& state, const v1::CommandBatch& batch) {
    for (auto _ : state) Process(batch);
    state.SetItemsProcessed(state.iterations() * batch.commands_size());
  }

  std::unique_ptr<Resources> resources_;
  CommandCounts counts_;
  std::unique_ptr<CommandProcessor> processor_;
  std::shared_ptr<ResultQueue> results_ = std::make_shared<ResultQueue>();
};

BENCHMARK_F(Dispatch, Launch)(benchmark::State& state) {
  v1::CommandBatch batch;
  for (int i = 0; i < kBatch; ++i) AddLaunch(&batch);
  Repeat(state, batch);
}

// Made and ended again: the tables alone.
BENCHMARK_F(Dispatch, View)(benchmark::State& state) {
  uint32_t generation = 0;
  v1::CommandBatch batch;
  for (auto _ : state) {
    state.PauseTiming();
    batch.Clear();
    for (int i = 0; i < kBatch / 2; ++i) {
      const uint64_t view = NameOf(HandleKind::kBuffer, 1, ++generation);
      v1::CreateSubBuffer& create =
          *batch.add_commands()->mutable_create_sub_buffer();
      create.set_buffer(view);
      create.set_parent(NameOf(HandleKind::kBuffer, 0));
      create.set_size(16);
      batch.add_commands()->mutable_free_buffer()->set_buffer(view);
    }
    state.ResumeTiming();
    Process(batch);
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

BENCHMARK_F(Dispatch, AllocateAndFree)(benchmark::State& state) {
  uint32_t generation = 0;
  v1::CommandBatch batch;
  for (auto _ : state) {
    state.PauseTiming();
    batch.Clear();
    for (int i = 0; i < kBatch / 2; ++i) {
      const uint64_t buffer = NameOf(HandleKind::kBuffer, 1, ++generation);
      v1::AllocateBuffer& allocate =
          *batch.add_commands()->mutable_allocate_buffer();
      allocate.set_buffer(buffer);
      allocate.set_size(1 << 20);
      allocate.set_device(0);
      allocate.set_stream(NameOf(HandleKind::kStream, 0));
      batch.add_commands()->mutable_free_buffer()->set_buffer(buffer);
    }
    state.ResumeTiming();
    Process(batch);
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void BM_DriverLaunch(benchmark::State& state) {
  const auto context = testing::SoftwareContext();
  const auto module = cuda::Module::Load(context, bench::kEmptyKernels);
  const auto kernel = cuda::Kernel::Find(*module, "four");
  const auto stream = cuda::Stream::Create(context, {});
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = (*stream)->handle();
  uint64_t values[4] = {};
  void* arguments[] = {&values[0], &values[1], &values[2], &values[3]};
  const auto& api = testing::SoftwareDriver().api;
  api.cuCtxSetCurrent(context->handle());
  for (auto _ : state) {
    api.cuLaunchKernelEx(&config,
                         reinterpret_cast<CUfunction>((*kernel)->handle()),
                         arguments, nullptr);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_DriverLaunch);

void BM_AllocatorAllocateAndFree(benchmark::State& state) {
  const auto context = testing::SoftwareContext();
  const auto allocator = memory::DeviceAllocator::Create(context, {});
  const auto stream = cuda::Stream::Create(context, {});
  for (auto _ : state) {
    const auto memory = (*allocator)->Allocate(1 << 20, stream->get());
    (*allocator)->Free(*memory, stream->get()).IgnoreError();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_AllocatorAllocateAndFree);

}  // namespace
}  // namespace holdfast::executor

BENCHMARK_MAIN();
