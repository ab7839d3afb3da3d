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
        if (i % 50 == 0) ASSERT_OK(Cuda().cuStreamSynchronize(stream));
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
