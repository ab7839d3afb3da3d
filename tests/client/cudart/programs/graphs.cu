// SPDX-License-Identifier: Apache-2.0
// A graph from a capture, a graph made node by node, and changes of both.
#include <vector>

#include "check.h"

__device__ int offset = 5;

__global__ void Add(int* values, int count, int summand) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += summand;
}

__global__ void AddOffset(int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += offset;
}

void Increment(void* data) { ++*static_cast<int*>(data); }

constexpr int kCount = 1000;
constexpr size_t kSize = kCount * sizeof(int);

// Fills, two kernels in two streams, and a copy back.
void Capture(int* device, int* host) {
  cudaStream_t stream, other;
  cudaEvent_t fork, join;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaStreamCreate(&other));
  CHECK_CUDA(cudaEventCreate(&fork));
  CHECK_CUDA(cudaEventCreate(&join));
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaStreamCaptureStatus status;
  CHECK_CUDA(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK_CUDA(cudaMemsetAsync(device, 0, kSize, stream));
  CHECK_CUDA(cudaEventRecord(fork, stream));
  CHECK_CUDA(cudaStreamWaitEvent(other, fork, 0));
  Add<<<2, 256, 0, stream>>>(device, kCount / 2, 3);
  Add<<<2, 256, 0, other>>>(device + kCount / 2, kCount / 2, 4);
  CHECK_CUDA(cudaEventRecord(join, other));
  CHECK_CUDA(cudaStreamWaitEvent(stream, join, 0));
  CHECK_CUDA(
      cudaMemcpyAsync(host, device, kSize, cudaMemcpyDeviceToHost, stream));
  cudaGraph_t graph;
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));

  size_t nodes = 0, roots = 0, edges = 0;
  CHECK_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK_CUDA(cudaGraphGetRootNodes(graph, nullptr, &roots));
  CHECK_CUDA(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  std::printf("captured: %zu nodes, %zu root, %zu edges\n", nodes, roots,
              edges);
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int run = 0; run < 3; ++run) {
    CHECK_CUDA(cudaGraphLaunch(exec, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < kCount; ++i) {
      CHECK(host[i] == (i < kCount / 2 ? 3 : 4));
      host[i] = -1;
    }
  }
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUDA(cudaEventDestroy(fork));
  CHECK_CUDA(cudaEventDestroy(join));
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_CUDA(cudaStreamDestroy(other));
}

void Build(int* device, int* host) {
  cudaGraph_t graph;
  CHECK_CUDA(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t fill, set, kernel, copy, function;
  cudaMemsetParams zero = {};
  zero.dst = device;
  zero.elementSize = 4;
  zero.width = kCount;
  zero.height = 1;
  CHECK_CUDA(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero));
  int new_offset = 6;
  CHECK_CUDA(cudaGraphAddMemcpyNodeToSymbol(&set, graph, nullptr, 0, offset,
                                            &new_offset, sizeof(int), 0,
                                            cudaMemcpyHostToDevice));
  int count = kCount;
  void* arguments[] = {&device, &count};
  cudaKernelNodeParams launch = {};
  launch.func = reinterpret_cast<void*>(AddOffset);
  launch.gridDim = dim3(4);
  launch.blockDim = dim3(256);
  launch.kernelParams = arguments;
  const cudaGraphNode_t before[] = {fill, set};
  CHECK_CUDA(cudaGraphAddKernelNode(&kernel, graph, before, 2, &launch));
  CHECK_CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host, device,
                                      kSize, cudaMemcpyDeviceToHost));
  int calls = 0;
  cudaHostNodeParams call = {};
  call.fn = Increment;
  call.userData = &calls;
  CHECK_CUDA(cudaGraphAddHostNode(&function, graph, &copy, 1, &call));

  cudaGraphNodeType type;
  CHECK_CUDA(cudaGraphNodeGetType(kernel, &type));
  CHECK(type == cudaGraphNodeTypeKernel);
  cudaKernelNodeParams read = {};
  CHECK_CUDA(cudaGraphKernelNodeGetParams(kernel, &read));
  CHECK(read.gridDim.x == 4 && read.blockDim.x == 256);
  cudaMemcpy3DParms box = {};
  CHECK_CUDA(cudaGraphMemcpyNodeGetParams(copy, &box));
  CHECK(box.dstPtr.ptr == host && box.extent.width == kSize);

  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, nullptr));
  CHECK_CUDA(cudaStreamSynchronize(nullptr));
  CHECK(host[0] == 6 && host[kCount - 1] == 6 && calls == 1);

  // Another kernel in the executable graph, then one by an update.
  int summand = 11;
  void* other_arguments[] = {&device, &count, &summand};
  launch.func = reinterpret_cast<void*>(Add);
  launch.kernelParams = other_arguments;
  CHECK_CUDA(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
  CHECK_CUDA(cudaGraphLaunch(exec, nullptr));
  CHECK_CUDA(cudaStreamSynchronize(nullptr));
  CHECK(host[0] == 11 && calls == 2);
  summand = 12;
  CHECK_CUDA(cudaGraphKernelNodeSetParams(kernel, &launch));
  cudaGraphExecUpdateResultInfo info = {};
  CHECK_CUDA(cudaGraphExecUpdate(exec, graph, &info));
  CHECK(info.result == cudaGraphExecUpdateSuccess);
  CHECK_CUDA(cudaGraphLaunch(exec, nullptr));
  CHECK_CUDA(cudaStreamSynchronize(nullptr));
  CHECK(host[kCount - 1] == 12 && calls == 3);
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
  std::printf("built: %d runs\n", calls);
}

int main() {
  int *device = nullptr, *host = nullptr;
  CHECK_CUDA(cudaMalloc(&device, kSize));
  CHECK_CUDA(cudaMallocHost(&host, kSize));
  Capture(device, host);
  Build(device, host);
  CHECK_CUDA(cudaFree(device));
  CHECK_CUDA(cudaFreeHost(host));
  return 0;
}
