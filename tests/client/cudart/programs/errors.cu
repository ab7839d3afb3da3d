// SPDX-License-Identifier: Apache-2.0
//
// The errors of calls that cannot succeed, in NVIDIA's words: what this program prints is what NVIDIA's runtime 13.0
// answers on an H200.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void Set(int* out, int value) { out[threadIdx.x] = value; }
__device__ int variable;

// Prints what a call returns, and what the thread's last error is then: twice, since the first look forgets it.
void Show(const char* what, cudaError_t error) {
  const cudaError_t last = cudaGetLastError();
  std::printf("%-34s %s, last %s, then %s\n", what, cudaGetErrorName(error), cudaGetErrorName(last),
              cudaGetErrorName(cudaGetLastError()));
}
#define SHOW(call) Show(#call, call)
#define SHOW_LAUNCH(launch) (launch, Show(#launch, cudaPeekAtLastError()))

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int* memory = nullptr;
  int host[4] = {};
  char text[256];
  void* pointer = nullptr;
  size_t size = 0;
  int number = 0;
  cudaDeviceProp properties;
  SHOW(cudaSetDevice(1000));
  SHOW(cudaSetDevice(-1));
  SHOW(cudaGetDevice(nullptr));
  SHOW(cudaGetDeviceCount(nullptr));
  SHOW(cudaGetDeviceProperties(&properties, 1000));
  SHOW(cudaDeviceGetAttribute(&number, cudaDevAttrWarpSize, 1000));
  SHOW(cudaDeviceGetAttribute(&number, (cudaDeviceAttr)100000, 0));
  SHOW(cudaDeviceGetPCIBusId(text, 2, 0));
  SHOW(cudaDeviceGetPCIBusId(text, 256, 1000));
  SHOW(cudaDeviceGetByPCIBusId(&number, "nowhere"));
  SHOW(cudaDeviceCanAccessPeer(&number, 0, 1000));
  SHOW(cudaDeviceEnablePeerAccess(0, 0));
  SHOW(cudaDeviceDisablePeerAccess(0));
  SHOW(cudaDeviceGetLimit(&size, (cudaLimit)1000));
  SHOW(cudaDeviceSetLimit((cudaLimit)1000, 1));
  SHOW(cudaMalloc((void**)nullptr, 16));
  SHOW(cudaMalloc(&pointer, 1ull << 60));
  SHOW(cudaMalloc(&memory, 64));
  SHOW(cudaMallocHost(&pointer, 1ull << 60));
  SHOW(cudaHostAlloc(&pointer, 16, 0x1000));
  SHOW(cudaFree(host));
  SHOW(cudaFree(nullptr));
  SHOW(cudaFreeHost(host));
  SHOW(cudaFreeHost(nullptr));
  SHOW(cudaHostUnregister(host));
  SHOW(cudaHostGetFlags((unsigned*)&number, host));
  SHOW(cudaHostGetDevicePointer(&pointer, host, 0));
  SHOW(cudaMemset(nullptr, 0, 16));
  SHOW(cudaMemset(memory, 0, 0));
  SHOW(cudaMemcpy(memory, host, 16, (cudaMemcpyKind)17));
  SHOW(cudaMemcpy(nullptr, host, 16, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(memory, host, 16, cudaMemcpyHostToHost));
  SHOW(cudaMemcpy2D(memory, 4, host, 8, 8, 1, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy2D(memory, 8, host, 4, 8, 1, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpyToSymbol((const void*)host, host, 4, 0, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpyToSymbol(variable, host, 400, 0, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpyToSymbol(variable, host, 4, 0, cudaMemcpyDeviceToHost));
  SHOW(cudaGetSymbolSize(&size, (const void*)host));
  cudaPointerAttributes attributes;
  SHOW(cudaPointerGetAttributes(&attributes, nullptr));
  SHOW(cudaPointerGetAttributes(nullptr, memory));
  cudaFuncAttributes of_kernel;
  SHOW(cudaFuncGetAttributes(&of_kernel, (const void*)host));
  SHOW(cudaFuncGetAttributes(nullptr, Set));
  SHOW(cudaFuncSetAttribute(Set, (cudaFuncAttribute)1000, 1));
  SHOW(cudaFuncSetAttribute(Set, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30));
  SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&number, Set, 0, 0));
  SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, Set, 32, 0));
  void* arguments[] = {&memory, &number};
  SHOW(cudaLaunchKernel((const void*)host, 1, 32, arguments, 0, nullptr));
  SHOW(cudaLaunchKernel((const void*)nullptr, 1, 32, arguments, 0, nullptr));
  SHOW(cudaLaunchCooperativeKernel(Set, 1 << 30, 32, arguments, 0, nullptr));
  SHOW_LAUNCH((Set<<<1, 2048>>>(memory, 1)));
  SHOW_LAUNCH((Set<<<0, 32>>>(memory, 1)));
  SHOW_LAUNCH((Set<<<1, 0>>>(memory, 1)));
  SHOW_LAUNCH((Set<<<dim3(1, 70000), 1>>>(memory, 1)));
  SHOW_LAUNCH((Set<<<1, dim3(1, 1, 65)>>>(memory, 1)));
  SHOW_LAUNCH((Set<<<1, 4, 1 << 30>>>(memory, 1)));
  SHOW_LAUNCH((Set<<<1, 4>>>(memory, 1)));
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr, other = nullptr;
  float milliseconds = 0;
  SHOW(cudaStreamCreate(nullptr));
  SHOW(cudaStreamCreateWithFlags(&stream, 1000));
  SHOW(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 100));
  SHOW(cudaStreamQuery(stream));
  SHOW(cudaStreamDestroy(nullptr));
  SHOW(cudaEventCreate(nullptr));
  SHOW(cudaEventCreateWithFlags(&event, 1000));
  SHOW(cudaEventCreateWithFlags(&event, cudaEventInterprocess));
  SHOW(cudaEventCreate(&event));
  SHOW(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
  SHOW(cudaEventQuery(event));
  SHOW(cudaEventElapsedTime(&milliseconds, event, event));
  SHOW(cudaEventElapsedTime(&milliseconds, event, other));
  SHOW(cudaEventRecord(nullptr, nullptr));
  SHOW(cudaEventSynchronize(nullptr));
  SHOW(cudaEventDestroy(nullptr));
  SHOW(cudaStreamWaitEvent(stream, nullptr, 0));
  SHOW(cudaStreamWaitEvent(stream, event, 1000));
  SHOW(cudaLaunchHostFunc(stream, nullptr, nullptr));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  SHOW(cudaStreamEndCapture(stream, &graph));
  SHOW(cudaGraphCreate(&graph, 1));
  SHOW(cudaGraphInstantiate(&executable, nullptr, 0));
  SHOW(cudaGraphLaunch(nullptr, stream));
  SHOW(cudaGetDriverEntryPointByVersion("cuNothing", &pointer, 13000, cudaEnableDefault, nullptr));
  std::printf("%s: %s\n", cudaGetErrorName((cudaError_t)12345), cudaGetErrorString((cudaError_t)12345));
  return 0;
}
