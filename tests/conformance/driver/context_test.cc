// SPDX-License-Identifier: Apache-2.0
//
// Which context a call works in, and what is left when a context ends.
#include <cstring>
#include <thread>

#include "tests/conformance/driver/api.h"
#include "tests/conformance/driver/kernels.h"

namespace holdfast::conformance {
namespace {

// Every test runs on a thread of its own, whose stack of contexts is empty.
class ContextLifeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(Cuda().cuInit(0)); }

  template <typename Body>
  void OnThread(Body body) {
    std::thread(body).join();
  }
};

CUcontext Current() {
  CUcontext current = nullptr;
  EXPECT_OK(Cuda().cuCtxGetCurrent(&current));
  return current;
}

CUresult Allocate() {
  CUdeviceptr pointer;
  const CUresult result = Cuda().cuMemAlloc_v2(&pointer, 64);
  if (result == CUDA_SUCCESS) {
    EXPECT_OK(Cuda().cuMemFree_v2(pointer));
  }
  return result;
}

// One of each, in the current context.
struct Objects {
  CUdeviceptr memory = 0;
  void* host = nullptr;
  CUstream stream = nullptr;
  CUevent start = nullptr, end = nullptr;
  CUmodule module = nullptr;
  CUfunction store = nullptr;
};

Objects MakeObjects() {
  Objects o;
  EXPECT_OK(Cuda().cuMemAlloc_v2(&o.memory, 64));
  EXPECT_OK(Cuda().cuMemHostAlloc(&o.host, 64, 0));
  EXPECT_OK(Cuda().cuStreamCreate(&o.stream, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(Cuda().cuEventCreate(&o.start, 0));
  EXPECT_OK(Cuda().cuEventCreate(&o.end, 0));
  EXPECT_OK(Cuda().cuModuleLoadData(&o.module, kPtx));
  EXPECT_OK(Cuda().cuModuleGetFunction(&o.store, o.module, "store"));
  return o;
}

CUresult Store(const Objects& o, unsigned value, CUstream stream) {
  CUdeviceptr to = o.memory;
  void* parameters[] = {&to, &value};
  return Cuda().cuLaunchKernel(o.store, 1, 1, 1, 1, 1, 1, 0, stream, parameters,
                               nullptr);
}

// Uses each, and the stream's copy of what the kernel stored.
void UseObjects(const Objects& o) {
  EXPECT_OK(Cuda().cuEventRecord(o.start, o.stream));
  EXPECT_OK(Store(o, 77, o.stream));
  EXPECT_OK(Cuda().cuStreamWaitEvent(o.stream, o.start, 0));
  EXPECT_OK(Cuda().cuMemcpyDtoHAsync_v2(o.host, o.memory, 4, o.stream));
  EXPECT_OK(Cuda().cuEventRecord(o.end, o.stream));
  EXPECT_OK(Cuda().cuEventSynchronize(o.end));
  EXPECT_OK(Cuda().cuStreamSynchronize(o.stream));
  EXPECT_OK(Cuda().cuStreamQuery(o.stream));
  float milliseconds = -1;
  EXPECT_OK(Cuda().cuEventElapsedTime_v2(&milliseconds, o.start, o.end));
  EXPECT_GE(milliseconds, 0);
  unsigned stored = 0;
  memcpy(&stored, o.host, sizeof(stored));
  EXPECT_EQ(stored, 77u);
  CUdeviceptr counter;
  size_t size = 0;
  EXPECT_OK(Cuda().cuModuleGetGlobal_v2(&counter, &size, o.module, "counter"));
  EXPECT_EQ(size, 4u);
}

void FreeObjects(const Objects& o) {
  EXPECT_OK(Cuda().cuEventDestroy_v2(o.start));
  EXPECT_OK(Cuda().cuEventDestroy_v2(o.end));
  EXPECT_OK(Cuda().cuModuleUnload(o.module));
  EXPECT_OK(Cuda().cuStreamDestroy_v2(o.stream));
  EXPECT_OK(Cuda().cuMemFreeHost(o.host));
  EXPECT_OK(Cuda().cuMemFree_v2(o.memory));
}

TEST_F(ContextLifeTest, ObjectsNeedNoCurrentContext) {
  OnThread([] {
    CUcontext context = nullptr;
    ASSERT_OK(Cuda().cuCtxCreate_v4(&context, nullptr, 0, 0));
    const Objects objects = MakeObjects();
    ASSERT_OK(Cuda().cuCtxSetCurrent(nullptr));
    UseObjects(objects);
    CUcontext owner = nullptr;
    EXPECT_OK(Cuda().cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT,
                                           objects.memory));
    EXPECT_EQ(owner, context);
    FreeObjects(objects);
    EXPECT_OK(Cuda().cuMemFree_v2(0));
    EXPECT_OK(Cuda().cuMemFreeHost(nullptr));
    EXPECT_OK(Cuda().cuCtxDestroy_v2(context));
  });
}

TEST_F(ContextLifeTest, ObjectsWorkInTheirContextWhateverIsCurrent) {
  OnThread([] {
    CUcontext own = nullptr, other = nullptr;
    ASSERT_OK(Cuda().cuCtxCreate_v4(&own, nullptr, 0, 0));
    const Objects objects = MakeObjects();
    ASSERT_OK(Cuda().cuCtxCreate_v4(&other, nullptr, 0, 0));
    UseObjects(objects);
    FreeObjects(objects);
    EXPECT_OK(Cuda().cuCtxDestroy_v2(other));
    EXPECT_OK(Cuda().cuCtxDestroy_v2(own));
  });
}

TEST_F(ContextLifeTest, WhatIsNewAndDefaultStreamsNeedACurrentContext) {
  OnThread([] {
    CUcontext context = nullptr;
    ASSERT_OK(Cuda().cuCtxCreate_v4(&context, nullptr, 0, 0));
    const Objects objects = MakeObjects();
    ASSERT_OK(Cuda().cuCtxSetCurrent(nullptr));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, Allocate());
    CUstream stream;
    CUevent event;
    CUmodule module;
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, Cuda().cuStreamCreate(&stream, 0));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, Cuda().cuEventCreate(&event, 0));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT,
                Cuda().cuModuleLoadData(&module, kPtx));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, Store(objects, 1, nullptr));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT,
                Cuda().cuStreamSynchronize(nullptr));
    EXPECT_OK(Cuda().cuCtxDestroy_v2(context));
  });
}

TEST_F(ContextLifeTest, AnEndedContextMayBeCurrentAndDoesNothing) {
  OnThread([] {
    CUcontext context = nullptr, popped = nullptr;
    ASSERT_OK(Cuda().cuCtxCreate_v4(&context, nullptr, 0, 0));
    ASSERT_OK(Cuda().cuCtxPushCurrent_v2(context));
    ASSERT_OK(Cuda().cuCtxDestroy_v2(context));
    EXPECT_EQ(Current(), context) << "it was on the stack twice";
    EXPECT_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED, Allocate());
    EXPECT_OK(Cuda().cuCtxSetCurrent(context));
    EXPECT_OK(Cuda().cuCtxPushCurrent_v2(context));
    EXPECT_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED,
                Cuda().cuCtxDestroy_v2(context));
    EXPECT_OK(Cuda().cuCtxPopCurrent_v2(&popped));
    EXPECT_EQ(popped, context);
    EXPECT_OK(Cuda().cuCtxPopCurrent_v2(&popped));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, Cuda().cuCtxPopCurrent_v2(&popped));
  });
}

TEST_F(ContextLifeTest, AContextThatAnotherThreadEndsStaysOnTheStack) {
  OnThread([&] {
    CUcontext context = nullptr, popped = nullptr;
    ASSERT_OK(Cuda().cuCtxCreate_v4(&context, nullptr, 0, 0));
    CUdeviceptr memory;
    ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 64));
    OnThread([&] {
      EXPECT_EQ(Current(), nullptr);
      EXPECT_OK(Cuda().cuMemFree_v2(memory));
      EXPECT_OK(Cuda().cuCtxSetCurrent(context));
      EXPECT_OK(Allocate());
      EXPECT_OK(Cuda().cuCtxDestroy_v2(context));
      EXPECT_EQ(Current(), nullptr);
    });
    EXPECT_EQ(Current(), context);
    EXPECT_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED, Allocate());
    EXPECT_OK(Cuda().cuCtxPopCurrent_v2(&popped));
    EXPECT_EQ(popped, context);
    EXPECT_EQ(Current(), nullptr);
  });
}

TEST_F(ContextLifeTest, NullIsNoContext) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuCtxPushCurrent_v2(nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuCtxDestroy_v2(nullptr));
}

// Expects that the primary context, which is current in this thread, has ended.
void ExpectEnded(CUcontext primary, const Objects& objects) {
  EXPECT_EQ(Current(), primary);
  EXPECT_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED, Allocate());
  EXPECT_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED,
              Cuda().cuMemFree_v2(objects.memory));
  EXPECT_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED,
              Cuda().cuStreamDestroy_v2(objects.stream));
  EXPECT_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED,
              Cuda().cuEventDestroy_v2(objects.start));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, Cuda().cuModuleUnload(objects.module));
  EXPECT_OK(Cuda().cuCtxPushCurrent_v2(primary));
  CUcontext popped = nullptr;
  EXPECT_OK(Cuda().cuCtxPopCurrent_v2(&popped));
}

void ExpectAlive(CUcontext primary) {
  EXPECT_EQ(Current(), primary);
  const Objects objects = MakeObjects();
  UseObjects(objects);
  FreeObjects(objects);
}

TEST_F(ContextLifeTest, APrimaryContextComesBackUnderItsHandle) {
  OnThread([] {
    CUcontext primary = nullptr, again = nullptr;
    ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&primary, 0));
    ASSERT_OK(Cuda().cuCtxSetCurrent(primary));
    Objects objects = MakeObjects();
    ASSERT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(0));
    ExpectEnded(primary, objects);
    ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&again, 0));
    EXPECT_EQ(again, primary);
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemFree_v2(objects.memory));
    ExpectAlive(primary);
    objects = MakeObjects();
    ASSERT_OK(Cuda().cuDevicePrimaryCtxReset_v2(0));
    ExpectEnded(primary, objects);
    ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&again, 0));
    EXPECT_EQ(again, primary);
    ExpectAlive(primary);
    EXPECT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(0));
    ExpectAlive(primary);
    EXPECT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(0));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT,
                Cuda().cuDevicePrimaryCtxRelease_v2(0));
  });
}

TEST_F(ContextLifeTest, APrimaryContextThatCameBackServesEveryThread) {
  OnThread([&] {
    CUcontext primary = nullptr, again = nullptr;
    ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&primary, 0));
    ASSERT_OK(Cuda().cuCtxSetCurrent(primary));
    OnThread([&] {
      ASSERT_OK(Cuda().cuCtxSetCurrent(primary));
      ASSERT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(0));
      EXPECT_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED, Allocate());
      ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&again, 0));
      EXPECT_OK(Allocate());
    });
    EXPECT_OK(Allocate());
    EXPECT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(0));
  });
}

// Returns the value of the library's variable in the current context, after the
// kernel has added 1 to it there.
unsigned Bump(CUlibrary library) {
  CUkernel kernel = nullptr;
  EXPECT_OK(Cuda().cuLibraryGetKernel(&kernel, library, "bump"));
  EXPECT_OK(Cuda().cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1,
                                  1, 1, 1, 0, nullptr, nullptr, nullptr));
  CUdeviceptr counter = 0;
  size_t size = 0;
  EXPECT_OK(Cuda().cuLibraryGetGlobal(&counter, &size, library, "counter"));
  unsigned value = 0;
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(&value, counter, sizeof value));
  return value;
}

TEST_F(ContextLifeTest, EachContextHasTheVariablesOfALibraryForItself) {
  OnThread([] {
    CUcontext primary = nullptr, other = nullptr;
    ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&primary, 0));
    ASSERT_OK(Cuda().cuCtxSetCurrent(primary));
    CUlibrary library = nullptr;
    ASSERT_OK(Cuda().cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0,
                                       nullptr, nullptr, 0));
    EXPECT_EQ(Bump(library), 8u);
    EXPECT_EQ(Bump(library), 9u);
    ASSERT_OK(Cuda().cuCtxCreate_v4(&other, nullptr, 0, 0));
    EXPECT_EQ(Bump(library), 8u);
    ASSERT_OK(Cuda().cuCtxDestroy_v2(other));
    EXPECT_EQ(Bump(library), 10u);
    // A context that comes back has new ones.
    ASSERT_OK(Cuda().cuDevicePrimaryCtxReset_v2(0));
    ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&primary, 0));
    EXPECT_EQ(Bump(library), 8u);
    EXPECT_OK(Cuda().cuLibraryUnload(library));
    EXPECT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(0));
    EXPECT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(0));
  });
}

}  // namespace
}  // namespace holdfast::conformance
