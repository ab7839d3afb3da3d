// SPDX-License-Identifier: Apache-2.0
// Several streams with copies, kernels, functions of the program and events
// between them.
#include <vector>

#include "check.h"

__global__ void Scale(int* values, int count, int factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

struct Notes {
  int function = 0;
  int callback = 0;
  cudaError_t status = cudaErrorUnknown;
};

void Note(void* data) { static_cast<Notes*>(data)->function = 1; }

void NoteStatus(cudaStream_t, cudaError_t status, void* data) {
  auto* notes = static_cast<Notes*>(data);
  notes->callback = notes->function + 1;  // Runs after Note.
  notes->status = status;
}

int main() {
  constexpr int kStreams = 4;
  constexpr int kCount = 4096;
  constexpr size_t kSize = kCount * sizeof(int);
  int least = 0, greatest = 0;
  CHECK_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(greatest <= least);

  int *host = nullptr, *device = nullptr;
  CHECK_CUDA(cudaMallocHost(&host, kStreams * kSize));
  CHECK_CUDA(cudaMalloc(&device, kStreams * kSize));
  cudaStream_t streams[kStreams];
  for (int s = 0; s < kStreams; ++s) {
    CHECK_CUDA(cudaStreamCreateWithPriority(
        &streams[s], s % 2 == 0 ? cudaStreamNonBlocking : cudaStreamDefault,
        s < 2 ? least : greatest));
    for (int i = 0; i < kCount; ++i) host[s * kCount + i] = i;
  }
  int priority = 1;
  CHECK_CUDA(cudaStreamGetPriority(streams[3], &priority));
  CHECK(priority == greatest);
  unsigned flags = 0;
  CHECK_CUDA(cudaStreamGetFlags(streams[2], &flags));
  CHECK(flags == cudaStreamNonBlocking);

  cudaEvent_t start, end;
  CHECK_CUDA(cudaEventCreate(&start));
  CHECK_CUDA(cudaEventCreate(&end));
  CHECK_CUDA(cudaEventRecord(start, streams[0]));
  for (int s = 0; s < kStreams; ++s) {
    int* const from = host + s * kCount;
    int* const to = device + s * kCount;
    CHECK_CUDA(
        cudaMemcpyAsync(to, from, kSize, cudaMemcpyHostToDevice, streams[s]));
    Scale<<<kCount / 128, 128, 0, streams[s]>>>(to, kCount, s + 2);
    CHECK_CUDA(
        cudaMemcpyAsync(from, to, kSize, cudaMemcpyDeviceToHost, streams[s]));
  }
  Notes notes;
  CHECK_CUDA(cudaLaunchHostFunc(streams[1], Note, &notes));
  CHECK_CUDA(cudaStreamAddCallback(streams[1], NoteStatus, &notes, 0));
  CHECK_CUDA(cudaStreamSynchronize(streams[1]));
  CHECK(notes.callback == 2 && notes.status == cudaSuccess);

  // The first stream waits for the last one.
  cudaEvent_t done;
  CHECK_CUDA(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  CHECK_CUDA(cudaEventRecord(done, streams[3]));
  CHECK_CUDA(cudaStreamWaitEvent(streams[0], done, 0));
  CHECK_CUDA(cudaEventRecord(end, streams[0]));
  CHECK_CUDA(cudaEventSynchronize(end));
  CHECK_CUDA(cudaEventQuery(done));
  float milliseconds = -1;
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 0);
  CHECK(cudaEventElapsedTime(&milliseconds, start, done) ==
        cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);

  CHECK_CUDA(cudaDeviceSynchronize());
  for (int s = 0; s < kStreams; ++s) {
    CHECK_CUDA(cudaStreamQuery(streams[s]));
    for (int i = 0; i < kCount; ++i) {
      CHECK(host[s * kCount + i] == i * (s + 2));
    }
    CHECK_CUDA(cudaStreamDestroy(streams[s]));
  }
  CHECK_CUDA(cudaEventDestroy(start));
  CHECK_CUDA(cudaEventDestroy(end));
  CHECK_CUDA(cudaEventDestroy(done));
  CHECK_CUDA(cudaFree(device));
  CHECK_CUDA(cudaFreeHost(host));
  std::printf("%d streams: right\n", kStreams);
  return 0;
}
