// SPDX-License-Identifier: Apache-2.0
// Every device computes a part of a sum, with a copy of the program's variables
// of its own. With one device it does it all.
#include <thread>
#include <vector>

#include "check.h"

__device__ int factor = 1;

__global__ void Multiply(int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

constexpr int kCount = 2000;

// Uses one device, from a thread of its own.
void Run(int device, int* values) {
  CHECK_CUDA(cudaSetDevice(device));
  int current = -1;
  CHECK_CUDA(cudaGetDevice(&current));
  CHECK(current == device);
  const int own_factor = device + 2;
  CHECK_CUDA(cudaMemcpyToSymbol(factor, &own_factor, sizeof(int)));
  int* memory = nullptr;
  CHECK_CUDA(cudaMalloc(&memory, kCount * sizeof(int)));
  CHECK_CUDA(
      cudaMemcpy(memory, values, kCount * sizeof(int), cudaMemcpyHostToDevice));
  Multiply<<<16, 128>>>(memory, kCount);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(
      cudaMemcpy(values, memory, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(memory));
}

// Copies from each device to the next one.
void Pass(int devices) {
  std::vector<int*> memory(devices);
  for (int device = 0; device < devices; ++device) {
    CHECK_CUDA(cudaSetDevice(device));
    CHECK_CUDA(cudaMalloc(&memory[device], sizeof(int)));
    CHECK_CUDA(cudaMemset(memory[device], 0, sizeof(int)));
  }
  const int value = 1234;
  CHECK_CUDA(
      cudaMemcpy(memory[0], &value, sizeof(int), cudaMemcpyHostToDevice));
  for (int device = 1; device < devices; ++device) {
    int can_access = -1;
    CHECK_CUDA(cudaDeviceCanAccessPeer(&can_access, device, device - 1));
    CHECK(can_access == 0 || can_access == 1);
    CHECK_CUDA(cudaMemcpyPeer(memory[device], device, memory[device - 1],
                              device - 1, sizeof(int)));
  }
  int passed = 0;
  CHECK_CUDA(
      cudaMemcpy(&passed, memory[devices - 1], sizeof(int), cudaMemcpyDefault));
  CHECK(passed == value);
  for (int device = 0; device < devices; ++device) {
    CHECK_CUDA(cudaFree(memory[device]));
  }
}

int main() {
  int devices = 0;
  CHECK_CUDA(cudaGetDeviceCount(&devices));
  CHECK(devices >= 1);
  CHECK(cudaSetDevice(devices) == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  std::vector<std::vector<int>> values(devices, std::vector<int>(kCount));
  for (auto& part : values) {
    for (int i = 0; i < kCount; ++i) part[i] = i;
  }
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; ++device) {
    threads.emplace_back(Run, device, values[device].data());
  }
  for (std::thread& thread : threads) thread.join();
  for (int device = 0; device < devices; ++device) {
    for (int i = 0; i < kCount; ++i) {
      CHECK(values[device][i] == i * (device + 2));
    }
  }
  Pass(devices);
  char id[32] = {};
  int same = -1;
  CHECK_CUDA(cudaDeviceGetPCIBusId(id, sizeof(id), devices - 1));
  CHECK_CUDA(cudaDeviceGetByPCIBusId(&same, id));
  CHECK(same == devices - 1);
  std::printf("all devices: right\n");
  return 0;
}
