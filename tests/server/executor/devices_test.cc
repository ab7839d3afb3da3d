// SPDX-License-Identifier: Apache-2.0
//
// Every command on each device of a session that has some of the machine's
// devices, in an order of its own.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using grpc::StatusCode;

// add(unsigned* to, const unsigned* from): *to += *from + ++calls, by one
// thread; `calls` starts at 0. `shared` has dynamic shared memory.
constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64

.visible .global .align 4 .u32 calls;
.extern .shared .align 16 .b8 room[];

.visible .entry add(.param .u64 p_to, .param .u64 p_from)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [p_to];
    ld.param.u64 %rd2, [p_from];
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    ld.global.u32 %r1, [calls];
    add.u32 %r2, %r1, 1;
    st.global.u32 [calls], %r2;
    ld.global.u32 %r3, [%rd3];
    ld.global.u32 %r4, [%rd4];
    add.u32 %r5, %r3, %r4;
    add.u32 %r5, %r5, %r2;
    st.global.u32 [%rd3], %r5;
    ret;
}

.visible .entry shared(.param .u64 p_to)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p_to];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, 77;
    st.shared.u32 [room+65000], %r1;
    ld.shared.u32 %r2, [room+65000];
    st.global.u32 [%rd2], %r2;
    ret;
}
)";

std::string Word(uint32_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

class DevicesTest : public ExecutorTest {
 protected:
  int SoftwareDevices() const override { return 3; }
  std::vector<uint32_t> SessionDevices() const override { return {2, 0}; }

  // Handles are numbered by device: stream, event and so on N is of device N.
  static void AddStream(Batch& batch, uint32_t device) {
    v1::CreateStream& stream = *batch.Add().mutable_create_stream();
    stream.set_stream(StreamName(device));
    stream.set_device(device);
  }
  static void AddBuffer(Batch& batch, uint32_t index, uint32_t device,
                        uint64_t size = 4096) {
    v1::AllocateBuffer& buffer = *batch.Add().mutable_allocate_buffer();
    buffer.set_buffer(BufferName(index));
    buffer.set_device(device);
    buffer.set_size(size);
  }
  static v1::Launch& AddLaunch(Batch& batch, uint64_t kernel, uint32_t device) {
    v1::Launch& launch = *batch.Add().mutable_launch();
    launch.set_kernel(kernel);
    launch.set_stream(StreamName(device));
    for (v1::Dim3* dim : {launch.mutable_grid(), launch.mutable_block()}) {
      dim->set_x(1);
      dim->set_y(1);
      dim->set_z(1);
    }
    return launch;
  }
  static void AddArgument(v1::Launch& launch, uint32_t buffer) {
    launch.add_arguments()->mutable_buffer()->set_buffer(BufferName(buffer));
  }
  // buffer `to` += buffer `from` + calls so far, on `device`.
  static void AddAdd(Batch& batch, uint32_t device, uint32_t to,
                     uint32_t from) {
    v1::Launch& launch = AddLaunch(batch, KernelName(0), device);
    AddArgument(launch, to);
    AddArgument(launch, from);
  }
  template <typename Command>
  static void SetPair(Command* command, uint32_t device, uint32_t peer) {
    command->set_device(device);
    command->set_peer(peer);
  }

  // Streams and buffers of 4 KiB, zeroed, of the session's devices; module and
  // kernels.
  void SetUpResources() {
    Batch batch(NextNumber());
    for (const uint32_t device : SessionDevices()) {
      AddStream(batch, device);
      AddBuffer(batch, device, device);
      batch.FillWord(StreamName(device), BufferName(device), 0, 4096, 0);
    }
    batch.LoadInline(ModuleName(0), kPtx);
    batch.GetKernel(KernelName(0), ModuleName(0), "add");
    batch.GetKernel(KernelName(1), ModuleName(0), "shared");
    ExpectNoFailure(batch);
  }

  // Runs it with a fence, which must find no failure.
  std::map<uint64_t, v1::Result> ExpectNoFailure(Batch& batch) {
    const uint64_t fence = batch.Fence();
    auto results = Run(batch);
    EXPECT_EQ(results.at(fence).fence().failures(), 0u)
        << results.at(fence).DebugString();
    used_ = batch.last_sequence();
    return results;
  }
  // Runs a batch of which the last command fails.
  v1::Error ErrorOf(Batch& batch) {
    const uint64_t last = batch.last_sequence();
    batch.Fence();  // the failure is not for a later one to report
    const auto results = Run(batch);
    used_ = batch.last_sequence();
    const auto it = results.find(last);
    return it == results.end() ? v1::Error() : it->second.error();
  }
  uint64_t NextNumber() const { return used_ + 1; }

 private:
  uint64_t used_ = 0;
};

TEST_F(DevicesTest, OthersAreNotTheSessions) {
  for (const uint32_t device : {1u, 3u}) {
    Batch batch(NextNumber());
    AddStream(batch, device);
    const v1::Error error = ErrorOf(batch);
    EXPECT_EQ(error.code(), StatusCode::PERMISSION_DENIED);
    EXPECT_TRUE(absl::StrContains(error.message(), "2, 0")) << error.message();
  }
}

TEST_F(DevicesTest, MemoryWorksOnEach) {
  SetUpResources();
  Batch batch(NextNumber());
  std::vector<uint64_t> reads;
  for (const uint32_t device : SessionDevices()) {
    const uint64_t stream = StreamName(device);
    const uint32_t host = 10 + device, view = 20 + device;
    batch.AllocateHost(BufferName(host), 4096);
    batch.Write(stream, BufferName(host), 0, Word(100 + device));
    v1::CreateSubBuffer& sub = *batch.Add().mutable_create_sub_buffer();
    sub.set_buffer(BufferName(view));
    sub.set_parent(BufferName(device));
    sub.set_offset(512);
    sub.set_size(512);
    batch.Copy(stream, BufferName(view), 4, BufferName(host), 0, 4);
    v1::CopyRect& rect = *batch.Add().mutable_copy_rect();
    rect.set_stream(stream);
    rect.mutable_source()->set_buffer(BufferName(view));
    rect.mutable_source()->set_offset(4);
    rect.mutable_destination()->set_buffer(BufferName(device));
    rect.set_width(4);
    rect.set_height(1);
    rect.set_depth(1);
    v1::FillRect& fill = *batch.Add().mutable_fill_rect();
    fill.set_stream(stream);
    fill.mutable_destination()->set_buffer(BufferName(device));
    fill.mutable_destination()->set_offset(4);
    fill.set_width(4);
    fill.set_height(1);
    fill.set_word(9);
    v1::CopyBatch& copies = *batch.Add().mutable_copy_batch();
    copies.set_stream(stream);
    v1::BatchedCopy& copy = *copies.add_copies();
    copy.set_source(BufferName(device));
    copy.set_destination(BufferName(device));
    copy.set_destination_offset(8);
    copy.set_size(8);
    reads.push_back(batch.Read(stream, BufferName(device), 0, 16));
    batch.Add().mutable_describe_buffer()->set_buffer(BufferName(device));
    reads.push_back(batch.last_sequence());
    batch.Free(BufferName(host));
    batch.Free(BufferName(device), stream);
  }
  const auto results = ExpectNoFailure(batch);
  for (size_t i = 0; i < SessionDevices().size(); ++i) {
    const uint32_t device = SessionDevices()[i];
    const std::string pair = Word(100 + device) + Word(9);
    EXPECT_EQ(results.at(reads[2 * i]).data(), pair + pair);
    EXPECT_EQ(results.at(reads[2 * i + 1]).buffer().device(), device);
  }
}

TEST_F(DevicesTest, StreamsAndEventsWorkOnEachAndAcross) {
  SetUpResources();
  Batch batch(NextNumber());
  for (const uint32_t device : SessionDevices()) {
    for (const uint32_t index : {device, 10 + device}) {
      v1::CreateEvent& event = *batch.Add().mutable_create_event();
      event.set_event(EventName(index));
      event.set_device(device);
      event.set_timing(true);
      v1::RecordEvent& record = *batch.Add().mutable_record_event();
      record.set_event(EventName(index));
      record.set_stream(StreamName(device));
    }
    batch.Add().mutable_synchronize_event()->set_event(EventName(device));
    batch.Add().mutable_query_event()->set_event(EventName(device));
    batch.Add().mutable_query_stream()->set_stream(StreamName(device));
    batch.Synchronize(StreamName(device));
    v1::ElapsedTime& time = *batch.Add().mutable_elapsed_time();
    time.set_start(EventName(device));
    time.set_end(EventName(10 + device));
  }
  v1::WaitEvent& wait = *batch.Add().mutable_wait_event();
  wait.set_event(EventName(2));
  wait.set_stream(StreamName(0));
  for (const uint32_t device : SessionDevices()) {
    batch.Add().mutable_destroy_event()->set_event(EventName(device));
    batch.Add().mutable_destroy_stream()->set_stream(StreamName(device));
  }
  ExpectNoFailure(batch);
}

TEST_F(DevicesTest, AModulesVariablesAreEachDevicesOwn) {
  SetUpResources();
  Batch batch(NextNumber());
  std::map<uint32_t, uint64_t> calls, sums;
  for (const uint32_t device : SessionDevices()) {
    for (uint32_t i = 0; i <= device; ++i)
      AddAdd(batch, device, device, device);
    v1::GetGlobal& global = *batch.Add().mutable_get_global();
    global.set_buffer(BufferName(10 + device));
    global.set_module(ModuleName(0));
    global.set_device(device);
    global.set_name("calls");
    calls[device] =
        batch.Read(StreamName(device), BufferName(10 + device), 0, 4);
    sums[device] = batch.Read(StreamName(device), BufferName(device), 0, 4);
  }
  const auto results = ExpectNoFailure(batch);
  EXPECT_EQ(results.at(calls[0]).data(), Word(1));
  EXPECT_EQ(results.at(calls[2]).data(), Word(3));
  EXPECT_EQ(results.at(sums[0]).data(), Word(1));
  EXPECT_EQ(results.at(sums[2]).data(), Word(2 * (2 * 1 + 2) + 3));
}

TEST_F(DevicesTest, LargeSharedMemoryWorksOnEach) {
  SetUpResources();
  Batch batch(NextNumber());
  std::vector<uint64_t> reads;
  for (const uint32_t device : SessionDevices()) {
    v1::Launch& launch = AddLaunch(batch, KernelName(1), device);
    launch.set_dynamic_shared_bytes(64 << 10);
    AddArgument(launch, device);
    reads.push_back(batch.Read(StreamName(device), BufferName(device), 0, 4));
  }
  const auto results = ExpectNoFailure(batch);
  for (const uint64_t read : reads) {
    EXPECT_EQ(results.at(read).data(), Word(77));
  }
}

TEST_F(DevicesTest, KernelAttributesAreSetAndReadDeviceByDevice) {
  SetUpResources();
  constexpr char kName[] = "preferred_shared_memory_carveout";
  Batch batch(NextNumber());
  std::map<uint32_t, uint64_t> descriptions, occupancies;
  for (const uint32_t device : SessionDevices()) {
    v1::SetKernelAttribute& set = *batch.Add().mutable_set_kernel_attribute();
    set.set_kernel(KernelName(0));
    set.set_device(device);
    set.set_attribute(kName);
    set.set_value(10 + device);
  }
  for (const uint32_t device : SessionDevices()) {
    v1::DescribeKernel& describe = *batch.Add().mutable_describe_kernel();
    describe.set_kernel(KernelName(0));
    describe.set_device(device);
    descriptions[device] = batch.last_sequence();
    v1::QueryOccupancy& query = *batch.Add().mutable_query_occupancy();
    query.set_kernel(KernelName(0));
    query.set_device(device);
    query.mutable_max_potential_block_size();
    occupancies[device] = batch.last_sequence();
  }
  const auto results = ExpectNoFailure(batch);
  for (const uint32_t device : SessionDevices()) {
    const auto& attributes =
        results.at(descriptions[device]).kernel().attributes();
    EXPECT_EQ(attributes.at(kName), 10 + device);
    EXPECT_GT(results.at(occupancies[device]).occupancy().value(), 0u);
  }
  Batch other(NextNumber());
  v1::DescribeKernel& describe = *other.Add().mutable_describe_kernel();
  describe.set_kernel(KernelName(0));
  describe.set_device(1);
  EXPECT_EQ(ErrorOf(other).code(), StatusCode::PERMISSION_DENIED);
}

TEST_F(DevicesTest, CopiesBetweenDevicesNeedNoPeerAccess) {
  SetUpResources();
  Batch batch(NextNumber());
  batch.Write(StreamName(0), BufferName(0), 0, Word(5));
  batch.Synchronize(StreamName(0));
  batch.Copy(StreamName(2), BufferName(2), 0, BufferName(0), 0, 4);
  v1::CopyRect& rect = *batch.Add().mutable_copy_rect();
  rect.set_stream(StreamName(2));
  rect.mutable_source()->set_buffer(BufferName(0));
  rect.mutable_destination()->set_buffer(BufferName(2));
  rect.mutable_destination()->set_offset(4);
  rect.set_width(4);
  rect.set_height(1);
  rect.set_depth(1);
  const uint64_t read = batch.Read(StreamName(2), BufferName(2), 0, 8);
  const auto results = ExpectNoFailure(batch);
  EXPECT_EQ(results.at(read).data(), Word(5) + Word(5));
}

TEST_F(DevicesTest, ALaunchWithAPeersBufferIsRefusedWithoutAccess) {
  SetUpResources();
  Batch batch(NextNumber());
  AddAdd(batch, 0, 0, 2);
  const v1::Error error = ErrorOf(batch);
  EXPECT_EQ(error.code(), StatusCode::FAILED_PRECONDITION);
  for (const char* part :
       {"argument 1", "buffer 0x", "is on device 2", "runs on device 0"}) {
    EXPECT_TRUE(absl::StrContains(error.message(), part))
        << part << ": " << error.message();
  }
}

TEST_F(DevicesTest, AKernelUsesAPeersMemoryWhileItMay) {
  SetUpResources();
  Batch batch(NextNumber());
  // The second buffer of device 2 is made after access was enabled.
  SetPair(batch.Add().mutable_enable_peer_access(), 0, 2);
  SetPair(batch.Add().mutable_enable_peer_access(), 0, 2);
  AddBuffer(batch, 12, 2, uint64_t{64} << 20);
  batch.Write(StreamName(2), BufferName(2), 0, Word(30));
  batch.Write(StreamName(2), BufferName(12), 0, Word(500));
  batch.Synchronize(StreamName(2));
  AddAdd(batch, 0, 0, 2);
  AddAdd(batch, 0, 12, 0);
  const uint64_t first = batch.Read(StreamName(0), BufferName(0), 0, 4);
  const uint64_t second = batch.Read(StreamName(0), BufferName(12), 0, 4);
  const auto results = ExpectNoFailure(batch);
  EXPECT_EQ(results.at(first).data(), Word(30 + 1));
  EXPECT_EQ(results.at(second).data(), Word(500 + 31 + 2));

  Batch back(NextNumber());
  AddAdd(back, 2, 2, 0);  // the other direction
  EXPECT_EQ(ErrorOf(back).code(), StatusCode::FAILED_PRECONDITION);
  Batch disabled(NextNumber());
  SetPair(disabled.Add().mutable_disable_peer_access(), 0, 2);
  SetPair(disabled.Add().mutable_disable_peer_access(), 0, 2);
  AddAdd(disabled, 0, 0, 2);
  EXPECT_EQ(ErrorOf(disabled).code(), StatusCode::FAILED_PRECONDITION);
  Batch again(NextNumber());
  SetPair(again.Add().mutable_enable_peer_access(), 0, 2);
  AddAdd(again, 0, 0, 2);
  ExpectNoFailure(again);
}

TEST_F(DevicesTest, PairsAreQueriedAndNonsenseIsRefused) {
  Batch batch(NextNumber());
  SetPair(batch.Add().mutable_query_peer_access(), 2, 0);
  const uint64_t before = batch.last_sequence();
  SetPair(batch.Add().mutable_enable_peer_access(), 2, 0);
  SetPair(batch.Add().mutable_query_peer_access(), 2, 0);
  const uint64_t after = batch.last_sequence();
  const auto results = ExpectNoFailure(batch);
  EXPECT_TRUE(results.at(before).peer_access().can_access());
  EXPECT_FALSE(results.at(before).peer_access().enabled());
  EXPECT_TRUE(results.at(after).peer_access().enabled());
  EXPECT_TRUE(results.at(after).peer_access().native_atomics());
  const auto code = [&](uint32_t device, uint32_t peer) {
    Batch refused(NextNumber());
    SetPair(refused.Add().mutable_enable_peer_access(), device, peer);
    return ErrorOf(refused).code();
  };
  EXPECT_EQ(code(0, 0), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(0, 1), StatusCode::PERMISSION_DENIED);
}

// A session without device 0 is a session like any other.
class OneDeviceTest : public DevicesTest {
 protected:
  std::vector<uint32_t> SessionDevices() const override { return {1}; }
};

TEST_F(OneDeviceTest, ItNeedsNoOther) {
  SetUpResources();
  Batch batch(NextNumber());
  batch.AllocateHost(BufferName(10), 64);
  batch.Write(StreamName(1), BufferName(10), 0, Word(40));
  AddAdd(batch, 1, 1, 10);
  v1::Launch& launch = AddLaunch(batch, KernelName(1), 1);
  launch.set_dynamic_shared_bytes(64 << 10);
  AddArgument(launch, 10);
  const uint64_t read = batch.Read(StreamName(1), BufferName(1), 0, 4);
  batch.Free(BufferName(10));
  batch.Add().mutable_unload_module()->set_module(ModuleName(0));
  const auto results = ExpectNoFailure(batch);
  EXPECT_EQ(results.at(read).data(), Word(41));
}

}  // namespace
}  // namespace holdfast::testing
