// SPDX-License-Identifier: Apache-2.0
// Variables of the program on the device: constant ones and others.
#include <vector>

#include "check.h"

constexpr int kTaps = 5;

__constant__ float coefficients[kTaps];
__constant__ int scale = 1;
__device__ int calls = 100;
__device__ float history[64];

__global__ void Filter(const float* input, float* output, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) atomicAdd(&calls, 1);
  if (i >= count) return;
  float sum = 0;
  for (int tap = 0; tap < kTaps; ++tap) {
    const int from = i + tap - kTaps / 2;
    if (from >= 0 && from < count) sum += coefficients[tap] * input[from];
  }
  output[i] = sum * scale;
  if (i < 64) history[i] = output[i];
}

int main() {
  constexpr int kCount = 300;
  const float taps[kTaps] = {1, 2, 4, 2, 1};
  CHECK_CUDA(cudaMemcpyToSymbol(coefficients, taps, sizeof(taps)));
  std::vector<float> input(kCount), output(kCount);
  for (int i = 0; i < kCount; ++i) input[i] = static_cast<float>(i % 17);
  float *device_input = nullptr, *device_output = nullptr;
  CHECK_CUDA(cudaMalloc(&device_input, kCount * sizeof(float)));
  CHECK_CUDA(cudaMalloc(&device_output, kCount * sizeof(float)));
  CHECK_CUDA(cudaMemcpy(device_input, input.data(), kCount * sizeof(float),
                        cudaMemcpyHostToDevice));
  for (int factor = 1; factor <= 3; ++factor) {
    CHECK_CUDA(cudaMemcpyToSymbolAsync(scale, &factor, sizeof(int), 0,
                                       cudaMemcpyHostToDevice, nullptr));
    Filter<<<3, 128>>>(device_input, device_output, kCount);
    CHECK_CUDA(cudaMemcpy(output.data(), device_output, kCount * sizeof(float),
                          cudaMemcpyDeviceToHost));
    for (int i = 2; i < kCount - 2; ++i) {
      const float expected = input[i - 2] + 2 * input[i - 1] + 4 * input[i] +
                             2 * input[i + 1] + input[i + 2];
      CHECK(output[i] == expected * factor);
    }
  }
  int counted = 0;
  CHECK_CUDA(cudaMemcpyFromSymbol(&counted, calls, sizeof(int)));
  CHECK(counted == 103);

  // A part of a variable, by its offset and by its address.
  float part[2] = {}, same[2] = {};
  CHECK_CUDA(
      cudaMemcpyFromSymbol(part, history, sizeof(part), 10 * sizeof(float)));
  CHECK(part[0] == output[10] && part[1] == output[11]);
  void* address = nullptr;
  size_t size = 0;
  CHECK_CUDA(cudaGetSymbolAddress(&address, history));
  CHECK_CUDA(cudaGetSymbolSize(&size, history));
  CHECK(size == sizeof(history));
  CHECK_CUDA(cudaMemcpy(same, static_cast<float*>(address) + 10, sizeof(same),
                        cudaMemcpyDeviceToHost));
  CHECK(same[0] == part[0] && same[1] == part[1]);

  // A copy beyond the end of the variable fails, and so does an address that is no variable.
  CHECK(cudaMemcpyFromSymbol(part, history, sizeof(part), size) ==
        cudaErrorInvalidValue);
  int local = 0;
  CHECK(cudaGetSymbolSize(&size, &local) == cudaErrorInvalidSymbol);
  CHECK(cudaGetLastError() == cudaErrorInvalidSymbol);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK_CUDA(cudaFree(device_input));
  CHECK_CUDA(cudaFree(device_output));
  std::printf("%d calls of a filter with %d taps: right\n", counted - 100,
              kTaps);
  return 0;
}
