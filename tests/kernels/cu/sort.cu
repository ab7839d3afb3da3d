// SPDX-License-Identifier: Apache-2.0
// Bitonic sort of 512 keys a block in shared memory.
extern "C" __global__ void bitonic_shared(unsigned* keys) {
  __shared__ unsigned s[512];
  const int t = threadIdx.x;
  unsigned* mine = keys + blockIdx.x * 512;
  s[t] = mine[t];
  s[t + 256] = mine[t + 256];
  for (int size = 2; size <= 512; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const int i = 2 * t - (t & (stride - 1));
      const bool up = (i & size) == 0;
      const unsigned a = s[i], b = s[i + stride];
      if ((a > b) == up) {
        s[i] = b;
        s[i + stride] = a;
      }
    }
  }
  __syncthreads();
  mine[t] = s[t];
  mine[t + 256] = s[t + 256];
}

// One step of the sort of everything.
extern "C" __global__ void bitonic_step(unsigned* keys, int stride, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int other = i ^ stride;
  if (other <= i) return;
  const bool up = (i & size) == 0;
  const unsigned a = keys[i], b = keys[other];
  if ((a > b) == up) {
    keys[i] = b;
    keys[other] = a;
  }
}

// One stable pass of a radix sort by 4 bits, one block of 256: each thread has
// four keys in a row.
extern "C" __global__ void radix_pass(const unsigned* in, unsigned* out,
                                      int shift) {
  __shared__ unsigned counts[16 * 256];
  const int t = threadIdx.x;
  unsigned mine[16];
  for (int d = 0; d < 16; ++d) mine[d] = 0;
  for (int k = 0; k < 4; ++k) ++mine[in[4 * t + k] >> shift & 15];
  for (int d = 0; d < 16; ++d) counts[d * 256 + t] = mine[d];
  __syncthreads();
  if (t == 0) {
    unsigned sum = 0;
    for (int i = 0; i < 16 * 256; ++i) {
      const unsigned count = counts[i];
      counts[i] = sum;
      sum += count;
    }
  }
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    const unsigned key = in[4 * t + k];
    out[counts[(key >> shift & 15) * 256 + t]++] = key;
  }
}

// Merges two sorted lists; each thread finds where its part of the result
// begins and merges 8 elements from there.
extern "C" __global__ void merge_path(const int* a, int na, const int* b,
                                      int nb, int* out) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (first >= na + nb) return;
  int low = first > nb ? first - nb : 0;
  int high = first < na ? first : na;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[first - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int i = low, j = first - low;
  for (int k = first; k < first + 8 && k < na + nb; ++k) {
    out[k] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
  }
}
