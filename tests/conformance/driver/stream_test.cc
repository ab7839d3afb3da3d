// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>
#include <vector>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

class StreamTest : public ContextTest {
 protected:
  CUstream Create(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream stream = nullptr;
    EXPECT_OK(Cuda().cuStreamCreate(&stream, flags));
    return stream;
  }

  void Destroy(CUstream stream) {
    EXPECT_OK(Cuda().cuStreamDestroy_v2(stream));
  }
};

void Set(void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }

TEST_F(StreamTest, WorkIsDoneInOrder) {
  const CUstream stream = Create();
  std::vector<int> order;
  struct Item {
    std::vector<int>* order;
    int number;
  };
  std::vector<Item> items;
  for (int i = 0; i < 100; ++i) items.push_back({&order, i});
  for (Item& item : items) {
    ASSERT_OK(Cuda().cuLaunchHostFunc(
        stream,
        [](void* data) {
          auto* item = static_cast<Item*>(data);
          item->order->push_back(item->number);
        },
        &item));
  }
  ASSERT_OK(Cuda().cuStreamSynchronize(stream));
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
  Destroy(stream);
}

TEST_F(StreamTest, QueryTellsWhetherWorkIsLeft) {
  const CUstream stream = Create();
  EXPECT_OK(Cuda().cuStreamQuery(stream));
  Gate gate;
  gate.Block(stream);
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(stream));
  gate.Open();
  EXPECT_OK(Cuda().cuStreamSynchronize(stream));
  EXPECT_OK(Cuda().cuStreamQuery(stream));
  Destroy(stream);
}

TEST_F(StreamTest, StreamsDoNotWaitForEachOther) {
  const CUstream blocked = Create(), free = Create();
  CUdeviceptr memory = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4096));
  Gate gate;
  gate.Block(blocked);
  // Not a host function: a GPU runs all of them on one thread.
  ASSERT_OK(Cuda().cuMemsetD8Async(memory, 1, 4096, free));
  ASSERT_OK(Cuda().cuStreamSynchronize(free));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(blocked));
  gate.Open();
  EXPECT_OK(Cuda().cuStreamSynchronize(blocked));
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
  Destroy(blocked);
  Destroy(free);
}

TEST_F(StreamTest, AnEventOrdersOneStreamAfterAnother) {
  const CUstream first = Create(), second = Create();
  CUevent event = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  Gate gate;
  gate.Block(first);
  ASSERT_OK(Cuda().cuEventRecord(event, first));
  ASSERT_OK(Cuda().cuStreamWaitEvent(second, event, 0));
  std::atomic<bool> done{false};
  ASSERT_OK(Cuda().cuLaunchHostFunc(second, &Set, &done));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(second));
  EXPECT_FALSE(done);
  gate.Open();
  ASSERT_OK(Cuda().cuStreamSynchronize(second));
  EXPECT_TRUE(done);
  EXPECT_OK(Cuda().cuEventDestroy_v2(event));
  Destroy(first);
  Destroy(second);
}

TEST_F(StreamTest, DefaultStreamWaitsForBlockingStreams) {
  const CUstream blocking = Create(CU_STREAM_DEFAULT);
  Gate gate;
  gate.Block(blocking);
  std::atomic<bool> done{false};
  ASSERT_OK(Cuda().cuLaunchHostFunc(nullptr, &Set, &done));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(nullptr));
  gate.Open();
  ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
  EXPECT_TRUE(done);
  EXPECT_OK(Cuda().cuStreamQuery(blocking));
  Destroy(blocking);
}

TEST_F(StreamTest, BlockingStreamsWaitForTheDefaultStream) {
  const CUstream blocking = Create(CU_STREAM_DEFAULT);
  const CUstream non_blocking = Create();
  CUdeviceptr memory = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4096));
  Gate gate;
  gate.Block(CU_STREAM_LEGACY);
  ASSERT_OK(Cuda().cuMemsetD8Async(memory, 1, 4096, blocking));
  ASSERT_OK(Cuda().cuMemsetD8Async(memory, 1, 4096, non_blocking));
  ASSERT_OK(Cuda().cuStreamSynchronize(non_blocking));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(blocking));
  gate.Open();
  ASSERT_OK(Cuda().cuStreamSynchronize(blocking));
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
  Destroy(blocking);
  Destroy(non_blocking);
}

TEST_F(StreamTest, PerThreadDefaultStreamsAreApart) {
  Gate gate;
  gate.Block(CU_STREAM_PER_THREAD);
  std::thread([this] {
    ASSERT_OK(Cuda().cuCtxSetCurrent(context_));
    EXPECT_OK(Cuda().cuStreamQuery(CU_STREAM_PER_THREAD));
  }).join();
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(CU_STREAM_PER_THREAD));
  gate.Open();
  EXPECT_OK(Cuda().cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

TEST_F(StreamTest, DestroyedStreamFinishesItsWork) {
  const CUstream stream = Create();
  std::atomic<bool> done{false};
  {
    Gate gate;
    gate.Block(stream);
    ASSERT_OK(Cuda().cuLaunchHostFunc(stream, &Set, &done));
    Destroy(stream);
    EXPECT_FALSE(done);
  }
  ASSERT_OK(Cuda().cuCtxSynchronize_v2(context_));
  EXPECT_TRUE(done);
}

TEST_F(StreamTest, AsynchronousCopyFromPageableMemoryTakesItsBytesAtOnce) {
  const CUstream stream = Create();
  CUdeviceptr memory = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4096));
  std::vector<char> host(4096, 'a');
  {
    Gate gate;
    gate.Block(stream);
    ASSERT_OK(Cuda().cuMemcpyHtoDAsync_v2(memory, host.data(), 4096, stream));
    host.assign(4096, 'b');
  }
  ASSERT_OK(Cuda().cuStreamSynchronize(stream));
  ASSERT_OK(Cuda().cuMemcpyDtoH_v2(host.data(), memory, 4096));
  EXPECT_EQ(host.front(), 'a');
  EXPECT_EQ(host.back(), 'a');
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
  Destroy(stream);
}

TEST_F(StreamTest, AsynchronousCopyOfPinnedMemoryIsDoneInStreamOrder) {
  const CUstream stream = Create();
  CUdeviceptr memory = 0;
  void* pinned = nullptr;
  constexpr size_t kSize = 1 << 20;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, kSize));
  ASSERT_OK(Cuda().cuMemHostAlloc(&pinned, kSize, 0));
  auto* bytes = static_cast<unsigned char*>(pinned);
  bytes[kSize - 1] = 1;
  Gate gate;
  gate.Block(stream);
  ASSERT_OK(Cuda().cuMemsetD8Async(memory, 9, kSize, stream));
  ASSERT_OK(Cuda().cuMemcpyDtoHAsync_v2(pinned, memory, kSize, stream));
  EXPECT_EQ(bytes[kSize - 1], 1);
  gate.Open();
  ASSERT_OK(Cuda().cuStreamSynchronize(stream));
  EXPECT_EQ(bytes[kSize - 1], 9);
  EXPECT_OK(Cuda().cuMemFreeHost(pinned));
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
  Destroy(stream);
}

TEST_F(StreamTest, PrioritiesAreClampedToTheRange) {
  int least = 0, greatest = 0, priority = 1;
  ASSERT_OK(Cuda().cuCtxGetStreamPriorityRange(&least, &greatest));
  CUstream stream = nullptr;
  ASSERT_OK(Cuda().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING,
                                              greatest - 100));
  EXPECT_OK(Cuda().cuStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, greatest);
  unsigned flags = 0;
  EXPECT_OK(Cuda().cuStreamGetFlags(stream, &flags));
  EXPECT_EQ(flags, CU_STREAM_NON_BLOCKING);
  Destroy(stream);
}

class StreamAttributeTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    stream_ = Create();
  }
  void TearDown() override {
    Destroy(stream_);
    StreamTest::TearDown();
  }
  CUresult Set(CUstreamAttrID id, const CUstreamAttrValue& value) {
    return Cuda().cuStreamSetAttribute(stream_, id, &value);
  }
  CUresult SetWindow(size_t bytes, float hit_ratio, CUaccessProperty miss) {
    CUstreamAttrValue value{};
    value.accessPolicyWindow.num_bytes = bytes;
    value.accessPolicyWindow.hitRatio = hit_ratio;
    value.accessPolicyWindow.hitProp = CU_ACCESS_PROPERTY_PERSISTING;
    value.accessPolicyWindow.missProp = miss;
    return Set(CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, value);
  }
  CUstreamAttrValue Get(CUstreamAttrID id) { return GetOf(stream_, id); }
  static CUstreamAttrValue GetOf(CUstream stream, CUstreamAttrID id) {
    CUstreamAttrValue value{};
    EXPECT_OK(Cuda().cuStreamGetAttribute(stream, id, &value));
    return value;
  }

  CUstream stream_ = nullptr;
};

TEST_F(StreamAttributeTest, AWindowIsKeptWithinTheDevicesLimit) {
  const auto limit = static_cast<size_t>(
      Attribute(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE));
  const auto window = [&] {
    return Get(CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow;
  };
  EXPECT_EQ(window().num_bytes, 0u);
  EXPECT_OK(SetWindow(limit, 0.5F, CU_ACCESS_PROPERTY_STREAMING));
  EXPECT_EQ(window().num_bytes, limit);
  EXPECT_EQ(window().hitRatio, 0.5F);
  EXPECT_EQ(window().hitProp, CU_ACCESS_PROPERTY_PERSISTING);
  EXPECT_EQ(window().missProp, CU_ACCESS_PROPERTY_STREAMING);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              SetWindow(limit + 1, 0.5F, CU_ACCESS_PROPERTY_NORMAL));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              SetWindow(0, 1.5F, CU_ACCESS_PROPERTY_NORMAL));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              SetWindow(0, 1, CU_ACCESS_PROPERTY_PERSISTING));
  EXPECT_EQ(window().num_bytes, limit);
}

TEST_F(StreamAttributeTest, SynchronizationPolicyIsOneOfFour) {
  CUstreamAttrValue value{};
  value.syncPolicy = CU_SYNC_POLICY_BLOCKING_SYNC;
  EXPECT_OK(Set(CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, value));
  value.syncPolicy = static_cast<CUsynchronizationPolicy>(0);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Set(CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, value));
  EXPECT_EQ(Get(CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy,
            CU_SYNC_POLICY_BLOCKING_SYNC);
}

TEST_F(StreamAttributeTest, ThePriorityIsTheStreams) {
  CUstreamAttrValue value{};
  value.priority = -100;
  EXPECT_OK(Set(CU_STREAM_ATTRIBUTE_PRIORITY, value));
  int greatest = 0, priority = 1;
  EXPECT_OK(Cuda().cuCtxGetStreamPriorityRange(nullptr, &greatest));
  EXPECT_OK(Cuda().cuStreamGetPriority(stream_, &priority));
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(Get(CU_STREAM_ATTRIBUTE_PRIORITY).priority, greatest);
}

TEST_F(StreamAttributeTest, DomainsAreThoseOfTheDevice) {
  const int domains = Attribute(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
  CUstreamAttrValue value{};
  value.memSyncDomainMap.default_ = static_cast<unsigned char>(domains - 1);
  EXPECT_OK(Set(CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, value));
  EXPECT_EQ(
      Get(CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP).memSyncDomainMap.default_,
      domains - 1);
  value.memSyncDomainMap.default_ = static_cast<unsigned char>(domains);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Set(CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, value));
}

TEST_F(StreamAttributeTest, ACopyHasAllAndAnUnknownOneIsRefused) {
  CUstreamAttrValue value{};
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  EXPECT_OK(Set(CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, value));
  EXPECT_OK(SetWindow(0, 0.25F, CU_ACCESS_PROPERTY_NORMAL));
  const CUstream other = Create();
  EXPECT_OK(Cuda().cuStreamCopyAttributes(other, stream_));
  EXPECT_EQ(GetOf(other, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy,
            CU_SYNC_POLICY_YIELD);
  EXPECT_EQ(GetOf(other, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW)
                .accessPolicyWindow.hitRatio,
            0.25F);
  Destroy(other);
  // An attribute of launches.
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Set(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuStreamGetAttribute(
                  stream_, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
}

TEST_F(StreamTest, UnknownFlagsAreRefused) {
  CUstream stream = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuStreamCreate(&stream, 0x80));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuStreamCreate(nullptr, 0));
}

TEST_F(StreamTest, HostFunctionMustNotCallCuda) {
  static std::atomic<int> result;
  result = CUDA_SUCCESS;
  ASSERT_OK(Cuda().cuLaunchHostFunc(
      nullptr,
      [](void*) {
        CUdeviceptr memory = 0;
        result = Cuda().cuMemAlloc_v2(&memory, 16);
      },
      nullptr));
  ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
  EXPECT_CUDA(CUDA_ERROR_NOT_PERMITTED, static_cast<CUresult>(result.load()));
}

TEST_F(StreamTest, ManyThreadsMayUseOneStream) {
  const CUstream stream = Create();
  std::atomic<int> count{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      ASSERT_OK(Cuda().cuCtxSetCurrent(context_));
      for (int i = 0; i < 200; ++i) {
        ASSERT_OK(Cuda().cuLaunchHostFunc(
            stream, [](void* data) { ++*static_cast<std::atomic<int>*>(data); },
            &count));
        if (i % 50 == 0) {
          ASSERT_OK(Cuda().cuStreamSynchronize(stream));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(Cuda().cuStreamSynchronize(stream));
  EXPECT_EQ(count, 800);
  Destroy(stream);
}

class EventTest : public StreamTest {};

TEST_F(EventTest, AnEventThatWasNeverRecordedIsDone) {
  CUevent event = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(&event, CU_EVENT_DEFAULT));
  EXPECT_OK(Cuda().cuEventQuery(event));
  EXPECT_OK(Cuda().cuEventSynchronize(event));
  EXPECT_OK(Cuda().cuEventDestroy_v2(event));
}

TEST_F(EventTest, QueryAndSynchronizeFollowTheStream) {
  const CUstream stream = Create();
  CUevent event = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(&event, CU_EVENT_BLOCKING_SYNC));
  {
    Gate gate;
    gate.Block(stream);
    ASSERT_OK(Cuda().cuEventRecord(event, stream));
    EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuEventQuery(event));
  }
  EXPECT_OK(Cuda().cuEventSynchronize(event));
  EXPECT_OK(Cuda().cuEventQuery(event));
  EXPECT_OK(Cuda().cuEventDestroy_v2(event));
  Destroy(stream);
}

TEST_F(EventTest, TimeRunsForwardsAlongAStream) {
  CUevent start = nullptr, end = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(&start, CU_EVENT_DEFAULT));
  ASSERT_OK(Cuda().cuEventCreate(&end, CU_EVENT_DEFAULT));
  const CUstream stream = Create();
  float ms = -1;
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              Cuda().cuEventElapsedTime_v2(&ms, start, end));
  ASSERT_OK(Cuda().cuEventRecord(start, stream));
  {
    Gate gate;
    gate.Block(stream);
    ASSERT_OK(Cuda().cuEventRecord(end, stream));
    EXPECT_CUDA(CUDA_ERROR_NOT_READY,
                Cuda().cuEventElapsedTime_v2(&ms, start, end));
  }
  ASSERT_OK(Cuda().cuEventSynchronize(end));
  EXPECT_OK(Cuda().cuEventElapsedTime_v2(&ms, start, end));
  EXPECT_GE(ms, 0.0f);
  EXPECT_OK(Cuda().cuEventDestroy_v2(start));
  EXPECT_OK(Cuda().cuEventDestroy_v2(end));
  Destroy(stream);
}

TEST_F(EventTest, AnUntimedEventHasNoTime) {
  CUevent event = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(Cuda().cuEventRecord(event, nullptr));
  ASSERT_OK(Cuda().cuEventSynchronize(event));
  float ms = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              Cuda().cuEventElapsedTime_v2(&ms, event, event));
  EXPECT_OK(Cuda().cuEventDestroy_v2(event));
}

TEST_F(EventTest, InterprocessEventsCannotBeTimed) {
  CUevent event = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuEventCreate(&event, CU_EVENT_INTERPROCESS));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuEventCreate(&event, 0x100));
}

}  // namespace
}  // namespace holdfast::conformance
