// SPDX-License-Identifier: Apache-2.0
//
// Modules, kernels and launches through the executor, on PTX that needs no
// compiler.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/sha256.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/kernels.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using grpc::StatusCode;

constexpr const char* kPtx =
    test_ptx::kModule<test_ptx::kScale, test_ptx::kWaitFor, test_ptx::kBump>;

class KernelTest : public ExecutorTest {
 protected:
  // Streams 0 and 1, buffer 0 of 256 floats, module 0; "scale" is kernel 0,
  // "wait_for" kernel 1. The next number is 10.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ExecutorTest::SetUp());
    Batch batch;
    batch.CreateStream(StreamName(0));
    batch.CreateStream(StreamName(1));
    batch.Allocate(BufferName(0), 1024);
    batch.LoadInline(ModuleName(0), kPtx);
    (*batch.Add().mutable_load_module()->mutable_symbols())["never"] =
        "used";  // No module: an error.
    batch.GetKernel(KernelName(0), ModuleName(0), "scale");
    batch.GetKernel(KernelName(1), ModuleName(0), "wait_for");
    const auto results = Run(batch);
    ASSERT_EQ(results.size(), 1u) << results.begin()->second.DebugString();
    ASSERT_TRUE(results.at(5).has_error());
  }

  static v1::Launch& AddLaunch(Batch& batch, uint64_t kernel, uint32_t grid,
                               uint32_t block) {
    v1::Launch& launch = *batch.Add().mutable_launch();
    launch.set_kernel(kernel);
    launch.set_stream(StreamName(0));
    const auto set = [](v1::Dim3* dim, uint32_t x) {
      dim->set_x(x);
      dim->set_y(1);
      dim->set_z(1);
    };
    set(launch.mutable_grid(), grid);
    set(launch.mutable_block(), block);
    return launch;
  }

  static v1::Launch& AddScale(Batch& batch, float factor, uint32_t count,
                              uint32_t grid = 1, uint32_t block = 256) {
    v1::Launch& launch = AddLaunch(batch, KernelName(0), grid, block);
    launch.add_arguments()->mutable_buffer()->set_buffer(BufferName(0));
    launch.add_arguments()->set_f32(factor);
    launch.add_arguments()->set_u32(count);
    return launch;
  }

  v1::Error ErrorOf(const Batch& batch) {
    const auto results = Run(batch);
    EXPECT_EQ(results.size(), 1u);
    return results.empty() ? v1::Error() : results.begin()->second.error();
  }
};

TEST_F(KernelTest, LaunchesInStreamOrder) {
  Batch batch(10);
  const float one = 1;
  uint32_t bits = 0;
  std::memcpy(&bits, &one, 4);
  batch.FillWord(StreamName(0), BufferName(0), 0, 1024, bits);
  for (int i = 0; i < 10; ++i) AddScale(batch, 2, 255);
  const uint64_t read = batch.Read(StreamName(0), BufferName(0), 0, 1024);
  const std::string data = Run(batch).at(read).data();
  ASSERT_EQ(data.size(), 1024u);
  for (int i = 0; i < 256; ++i) {
    float value = 0;
    std::memcpy(&value, data.data() + 4 * i, 4);
    EXPECT_EQ(value, i < 255 ? 1024 : 1) << i;
  }
}

TEST_F(KernelTest, ArgumentsMustFitTheParameters) {
  Batch count(10);
  AddScale(count, 2, 1).mutable_arguments()->RemoveLast();
  const v1::Error too_few = ErrorOf(count);
  EXPECT_EQ(too_few.code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(absl::StrContains(too_few.message(), "takes 3 arguments"));
  Batch size(11);
  AddScale(size, 2, 1).mutable_arguments(1)->set_f64(2);
  const v1::Error too_wide = ErrorOf(size);
  EXPECT_EQ(too_wide.code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(absl::StrContains(too_wide.message(), "argument 1"));
  Batch empty(12);
  AddScale(empty, 2, 1).mutable_arguments(2)->Clear();
  EXPECT_EQ(ErrorOf(empty).code(), StatusCode::INVALID_ARGUMENT);
  Batch raw(13);
  AddScale(raw, 2, 1).mutable_arguments(1)->set_raw("12345");
  EXPECT_EQ(ErrorOf(raw).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(KernelTest, BufferArgumentsAreCheckedLikeAnyHandle) {
  Batch batch(10);
  const auto argument = [&](uint64_t buffer, uint64_t offset) {
    auto& value = *AddScale(batch, 1, 0).mutable_arguments(0)->mutable_buffer();
    value.set_buffer(buffer);
    value.set_offset(offset);
    return batch.last_sequence();
  };
  const uint64_t null = argument(0, 0);
  const uint64_t end = argument(BufferName(0), 1024);
  const uint64_t beyond = argument(BufferName(0), 1025);
  const uint64_t null_offset = argument(0, 8);
  const uint64_t forged = argument(BufferName(77), 0);
  const uint64_t kind = argument(StreamName(0), 0);
  const auto results = Run(batch);
  EXPECT_EQ(results.count(null), 0u);
  EXPECT_EQ(results.count(end), 0u);
  EXPECT_EQ(results.at(beyond).error().code(), StatusCode::OUT_OF_RANGE);
  EXPECT_TRUE(results.at(null_offset).has_error());
  EXPECT_EQ(results.at(forged).error().code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(results.at(kind).error().code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(KernelTest, GeometryOverALimitIsRefusedByName) {
  Batch zero(10);
  AddScale(zero, 1, 0, 0);
  EXPECT_EQ(ErrorOf(zero).code(), StatusCode::INVALID_ARGUMENT);
  Batch large(11);
  AddScale(large, 1, 0, 1, 2048);
  const v1::Error error = ErrorOf(large);
  EXPECT_EQ(error.code(), StatusCode::OUT_OF_RANGE);
  EXPECT_TRUE(absl::StrContains(error.message(), "1024")) << error.message();
  Batch missing(12);
  AddScale(missing, 1, 0).clear_grid();
  EXPECT_EQ(ErrorOf(missing).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(KernelTest, UnknownAttributesAreNeverDropped) {
  Batch batch(10);
  AddScale(batch, 1, 0).add_attributes();
  EXPECT_EQ(ErrorOf(batch).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(KernelTest, HintsAreAcceptedAndOtherAttributesRefusedByName) {
  Batch events(10);
  events.Add().mutable_create_event()->set_event(EventName(0));
  ASSERT_TRUE(Run(events).empty());
  std::vector<v1::LaunchAttribute> hints(7);
  hints[0].set_programmatic_stream_serialization(true);
  hints[1].set_priority(0);
  hints[2].set_cluster_scheduling_policy(
      v1::CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
  hints[3].set_mem_sync_domain(v1::MEM_SYNC_DOMAIN_REMOTE);
  hints[4].mutable_mem_sync_domain_map()->set_remote_domain(255);
  hints[5].mutable_access_policy_window()->set_buffer(BufferName(0));
  hints[5].mutable_access_policy_window()->set_size(1024);
  hints[6].set_preferred_shared_memory_carveout(100);
  std::vector<v1::LaunchAttribute> refused(2);
  refused[0].mutable_launch_completion_event()->set_event(EventName(0));
  refused[1].mutable_programmatic_event()->set_event(EventName(0));
  uint64_t sequence = 11;
  for (const v1::LaunchAttribute& hint : hints) {
    Batch batch(sequence++);
    *AddScale(batch, 1, 0).add_attributes() = hint;
    const auto results = Run(batch);
    EXPECT_TRUE(results.empty()) << results.begin()->second.DebugString();
  }
  for (const v1::LaunchAttribute& other : refused) {
    Batch batch(sequence++);
    *AddScale(batch, 1, 0).add_attributes() = other;
    const v1::Error error = ErrorOf(batch);
    EXPECT_EQ(error.code(), StatusCode::UNIMPLEMENTED) << error.DebugString();
  }
}

// As NVIDIA's drivers do: it is an attribute of streams.
TEST_F(KernelTest, ALaunchHasNoSynchronizationPolicy) {
  Batch batch(10);
  AddScale(batch, 1, 0)
      .add_attributes()
      ->set_synchronization_policy(v1::SYNCHRONIZATION_POLICY_BLOCKING_SYNC);
  const v1::Error error = ErrorOf(batch);
  EXPECT_EQ(error.code(), StatusCode::INVALID_ARGUMENT) << error.DebugString();
}

TEST_F(KernelTest, UnknownValuesOfAttributesAreRefused) {
  std::vector<v1::LaunchAttribute> unknown(4);
  unknown[0].set_cluster_scheduling_policy(v1::ClusterSchedulingPolicy(0));
  unknown[1].set_synchronization_policy(v1::SynchronizationPolicy(4));
  unknown[2].set_mem_sync_domain(v1::MemSyncDomain(3));
  unknown[3].mutable_mem_sync_domain_map()->set_default_domain(256);
  const char* const names[] = {"cluster_scheduling_policy",
                               "synchronization_policy", "mem_sync_domain",
                               "mem_sync_domain_map"};
  for (size_t i = 0; i < unknown.size(); ++i) {
    Batch batch(10 + i);
    *AddScale(batch, 1, 0).add_attributes() = unknown[i];
    const v1::Error error = ErrorOf(batch);
    EXPECT_EQ(error.code(),
              i < 3 ? StatusCode::INVALID_ARGUMENT : StatusCode::OUT_OF_RANGE);
    EXPECT_TRUE(absl::StrContains(error.message(), names[i]))
        << error.message();
  }
}

TEST_F(KernelTest, AttributesOutOfTheirRangeAreRefused) {
  uint64_t sequence = 10;
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  for (const int32_t priority : {kLeast, kMost}) {
    Batch batch(sequence++);
    AddScale(batch, 1, 0).add_attributes()->set_priority(priority);
    const v1::Error error = ErrorOf(batch);
    EXPECT_EQ(error.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(absl::StrContains(error.message(), "priority"));
  }
  for (const uint32_t percent : {101u, 4294967295u}) {
    Batch batch(sequence++);
    AddScale(batch, 1, 0)
        .add_attributes()
        ->set_preferred_shared_memory_carveout(percent);
    const v1::Error error = ErrorOf(batch);
    EXPECT_EQ(error.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(absl::StrContains(error.message(), "limit is 100"));
  }
}

TEST_F(KernelTest, KernelsAreListedWhenANameIsWrong) {
  Batch batch(10);
  batch.GetKernel(KernelName(2), ModuleName(0), "skale");
  const v1::Error error = ErrorOf(batch);
  EXPECT_EQ(error.code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(absl::StrContains(error.message(), "scale"));
  EXPECT_TRUE(absl::StrContains(error.message(), "wait_for"));
}

TEST_F(KernelTest, ObjectsOfTheStoreComeWithTheirSymbols) {
  const std::string sha256 = ToBytes(Sha256(kPtx));
  PutObject(sha256, kPtx, {{"scale<float>", "scale"}});
  Batch batch(10);
  auto& load = *batch.Add().mutable_load_module();
  load.set_module(ModuleName(1));
  load.set_object_sha256(sha256);
  batch.GetKernel(KernelName(2), ModuleName(1), "scale<float>");
  batch.Add().mutable_describe_kernel()->set_kernel(KernelName(2));
  const uint64_t describe = batch.last_sequence();
  batch.Add().mutable_describe_module()->set_module(ModuleName(1));
  const uint64_t module = batch.last_sequence();
  const auto results = Run(batch);
  ASSERT_EQ(results.size(), 2u);
  const v1::KernelDescription& kernel = results.at(describe).kernel();
  EXPECT_EQ(kernel.name(), "scale");
  ASSERT_EQ(kernel.parameters_size(), 3);
  EXPECT_EQ(kernel.parameters(1).size(), 4u);
  EXPECT_GT(kernel.attributes().at("max_threads_per_block"), 0);
  EXPECT_EQ(results.at(module).module().kernels_size(), 3);
  EXPECT_EQ(results.at(module).module().symbols().at("scale<float>"), "scale");
}

TEST_F(KernelTest, AModuleOfFewKernelsIsDescribedWithThem) {
  const std::string sha256 = ToBytes(Sha256(kPtx));
  PutObject(sha256, kPtx, {});
  Batch batch(10);
  auto& load = *batch.Add().mutable_load_module();
  load.set_module(ModuleName(1));
  load.set_object_sha256(sha256);
  const auto describe = [&](uint32_t most) {
    auto& command = *batch.Add().mutable_describe_module();
    command.set_module(ModuleName(1));
    command.set_max_described_kernels(most);
    return batch.last_sequence();
  };
  const uint64_t names = describe(2);
  const uint64_t kernels = describe(3);
  batch.GetKernel(KernelName(2), ModuleName(1), "scale");
  batch.Add().mutable_describe_kernel()->set_kernel(KernelName(2));
  const uint64_t alone = batch.last_sequence();
  const auto results = Run(batch);
  EXPECT_EQ(results.at(names).module().kernels_size(), 3);
  EXPECT_EQ(results.at(names).module().descriptions_size(), 0);
  const v1::ModuleDescription& module = results.at(kernels).module();
  ASSERT_EQ(module.descriptions_size(), 3);
  EXPECT_EQ(module.descriptions(0).name(), module.kernels(0));
  const v1::KernelDescription& kernel = results.at(alone).kernel();
  const auto same = std::find_if(
      module.descriptions().begin(), module.descriptions().end(),
      [&](const auto& found) { return found.name() == kernel.name(); });
  ASSERT_NE(same, module.descriptions().end());
  EXPECT_EQ(same->parameters_size(), kernel.parameters_size());
  EXPECT_EQ(same->attributes().at("num_regs"),
            kernel.attributes().at("num_regs"));
}

TEST_F(KernelTest, AnObjectThatIsNotStoredIsNotFound) {
  Batch batch(10);
  auto& load = *batch.Add().mutable_load_module();
  load.set_module(ModuleName(1));
  load.set_object_sha256(std::string(32, 'x'));
  EXPECT_EQ(ErrorOf(batch).code(), StatusCode::NOT_FOUND);
  Batch malformed(11);
  malformed.Add().mutable_load_module()->set_object_sha256("short");
  malformed.Add().mutable_load_module()->set_module(ModuleName(2));
  const auto results = Run(malformed);
  for (const auto& [sequence, result] : results) {
    EXPECT_EQ(result.error().code(), StatusCode::INVALID_ARGUMENT) << sequence;
  }
  EXPECT_EQ(results.size(), 2u);
}

TEST_F(KernelTest, BadPtxCarriesTheDriversLog) {
  Batch batch(10);
  batch.LoadInline(ModuleName(1), ".version 8.0\nnonsense;\n");
  const v1::Error error = ErrorOf(batch);
  EXPECT_EQ(error.code(), StatusCode::INVALID_ARGUMENT);
  ASSERT_EQ(error.details_size(), 1);
  v1::ErrorDetail detail;
  ASSERT_TRUE(error.details(0).UnpackTo(&detail));
  EXPECT_EQ(detail.call(), "cuLibraryLoadData");
  EXPECT_FALSE(detail.log().empty());
}

TEST_F(KernelTest, GlobalsAreBuffersThatEndWithTheirModule) {
  Batch batch(10);
  auto& get = *batch.Add().mutable_get_global();
  get.set_buffer(BufferName(5));
  get.set_module(ModuleName(0));
  get.set_name("counter");
  const uint64_t read = batch.Read(StreamName(0), BufferName(5), 0, 4);
  batch.Add().mutable_unload_module()->set_module(ModuleName(0));
  const uint64_t gone = batch.Read(StreamName(0), BufferName(5), 0, 4);
  AddScale(batch, 1, 0);
  const uint64_t launch = batch.last_sequence();
  const auto results = Run(batch);
  EXPECT_EQ(results.at(read).data(), std::string("\7\0\0\0", 4));
  EXPECT_EQ(results.at(gone).error().code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(results.at(launch).error().code(), StatusCode::FAILED_PRECONDITION);
}

TEST_F(KernelTest, AttributesThatCanBeSetAreReadBack) {
  Batch batch(10);
  const auto set = [&](const char* attribute, int64_t value) {
    auto& command = *batch.Add().mutable_set_kernel_attribute();
    command.set_kernel(KernelName(0));
    command.set_attribute(attribute);
    command.set_value(value);
    return batch.last_sequence();
  };
  const uint64_t good = set("max_dynamic_shared_size_bytes", 65536);
  const uint64_t fixed = set("num_regs", 8);
  const uint64_t unknown = set("colour", 8);
  const uint64_t wide = set("max_dynamic_shared_size_bytes", int64_t{1} << 40);
  batch.Add().mutable_describe_kernel()->set_kernel(KernelName(0));
  const uint64_t describe = batch.last_sequence();
  const auto results = Run(batch);
  EXPECT_EQ(results.count(good), 0u);
  EXPECT_EQ(results.at(fixed).error().code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(results.at(unknown).error().code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(results.at(wide).error().code(), StatusCode::OUT_OF_RANGE);
  const auto& attributes = results.at(describe).kernel().attributes();
  EXPECT_EQ(attributes.at("max_dynamic_shared_size_bytes"), 65536);
  EXPECT_EQ(attributes.size(), 16u);
}

TEST_F(KernelTest, OccupancyIsThatOfTheDriver) {
  Batch batch(10);
  const auto query = [&]() -> v1::QueryOccupancy& {
    auto& command = *batch.Add().mutable_query_occupancy();
    command.set_kernel(KernelName(0));
    return command;
  };
  query().mutable_max_active_blocks_per_multiprocessor()->set_threads(1024);
  const uint64_t blocks = batch.last_sequence();
  query().mutable_max_potential_block_size()->set_max_threads(256);
  const uint64_t block = batch.last_sequence();
  auto& shared = *query().mutable_available_dynamic_shared_per_block();
  shared.set_blocks(2);
  shared.set_threads(128);
  const uint64_t bytes = batch.last_sequence();
  query().mutable_max_potential_block_size()->set_max_threads(1 << 20);
  const uint64_t large = batch.last_sequence();
  query();
  const uint64_t unset = batch.last_sequence();
  query().mutable_max_active_clusters();
  const uint64_t cluster = batch.last_sequence();
  query().set_device(1);
  const uint64_t elsewhere = batch.last_sequence();
  const auto results = Run(batch);
  // 2048 threads a multiprocessor.
  EXPECT_EQ(results.at(blocks).occupancy().value(), 2u);
  EXPECT_EQ(results.at(block).occupancy().value(), 256u);
  EXPECT_GT(results.at(block).occupancy().min_grid(), 0u);
  // What a kernel may have that has not asked for more.
  EXPECT_EQ(results.at(bytes).occupancy().value(), 48u << 10);
  EXPECT_EQ(results.at(large).error().code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(results.at(unset).error().code(), StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(results.at(cluster).has_error());
  EXPECT_EQ(results.at(elsewhere).error().code(), StatusCode::NOT_FOUND);
}

TEST_F(KernelTest, WaitingForOneStreamHoldsUpNoOther) {
  // Stream 0 runs a kernel that only ends when stream 1 has written. While a
  // synchronise of stream 0 is open, commands for stream 1 go through.
  auto context = Context();
  auto stream = commands().Execute(context.get());
  Batch first(10);
  first.AllocateHost(BufferName(1), 4);
  first.FillWord(StreamName(1), BufferName(1), 0, 4, 0);
  first.Synchronize(StreamName(1));
  v1::Launch& launch = AddLaunch(first, KernelName(1), 1, 1);
  launch.add_arguments()->mutable_buffer()->set_buffer(BufferName(1));
  launch.add_arguments()->mutable_buffer()->set_buffer(BufferName(0));
  const uint64_t sync = first.Synchronize(StreamName(0));
  first.Add().mutable_query_stream()->set_stream(StreamName(0));
  const uint64_t query = first.last_sequence();
  const uint64_t fence = first.Fence(/*all_streams=*/false);
  ASSERT_TRUE(stream->Write(first.proto()));
  std::map<uint64_t, v1::Result> results;
  v1::ResultBatch batch;
  while (results.count(query) == 0 || results.count(fence) == 0) {
    ASSERT_TRUE(stream->Read(&batch));
    for (const v1::Result& result : batch.results()) {
      results[result.sequence()] = result;
    }
  }
  EXPECT_FALSE(results.at(query).readiness().finished());
  EXPECT_EQ(results.count(sync), 0u);

  Batch second(100);
  second.FillWord(StreamName(1), BufferName(1), 0, 4, 1);
  ASSERT_TRUE(stream->Write(second.proto()));
  while (results.count(sync) == 0) {
    ASSERT_TRUE(stream->Read(&batch));
    for (const v1::Result& result : batch.results()) {
      results[result.sequence()] = result;
    }
  }
  EXPECT_TRUE(results.at(sync).has_done());
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&batch));
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace holdfast::testing
