// SPDX-License-Identifier: Apache-2.0
__device__ __noinline__ int Ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return Ackermann(m - 1, 1);
  return Ackermann(m - 1, Ackermann(m, n - 1));
}

extern "C" __global__ void ackermann(int* out) {
  out[threadIdx.x] = Ackermann(threadIdx.x % 3, threadIdx.x / 3);
}

// Quicksort of a few keys a thread, by recursion.
__device__ void Quicksort(int* keys, int low, int high) {
  if (low >= high) return;
  const int pivot = keys[(low + high) / 2];
  int i = low, j = high;
  while (i <= j) {
    while (keys[i] < pivot) ++i;
    while (keys[j] > pivot) --j;
    if (i <= j) {
      const int key = keys[i];
      keys[i++] = keys[j];
      keys[j--] = key;
    }
  }
  Quicksort(keys, low, j);
  Quicksort(keys, i, high);
}

extern "C" __global__ void quicksort(int* keys, int each, int threads) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < threads) Quicksort(keys + t * each, 0, each - 1);
}
