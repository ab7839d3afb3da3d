// SPDX-License-Identifier: Apache-2.0
// Marks where the pattern begins.
extern "C" __global__ void string_search(const char* text, int length,
                                         const char* pattern, int size,
                                         unsigned char* found) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= length) return;
  bool match = i + size <= length;
  for (int k = 0; match && k < size; ++k) match = text[i + k] == pattern[k];
  found[i] = match;
}

// Edit distance of two words of 64 letters: anti-diagonals of the table.
extern "C" __global__ void edit_distance(const char* a, const char* b,
                                         int* distances) {
  __shared__ int table[65][65];
  const char* mine = a + blockIdx.x * 64;
  const char* other = b + blockIdx.x * 64;
  const int t = threadIdx.x;
  table[0][t + 1] = t + 1;
  table[t + 1][0] = t + 1;
  if (t == 0) table[0][0] = 0;
  __syncthreads();
  for (int d = 0; d < 127; ++d) {
    const int i = t, j = d - t;
    if (j >= 0 && j < 64) {
      const int swap = table[i][j] + (mine[i] != other[j]);
      const int other_way = min(table[i][j + 1], table[i + 1][j]) + 1;
      table[i + 1][j + 1] = min(swap, other_way);
    }
    __syncthreads();
  }
  if (t == 0) distances[blockIdx.x] = table[64][64];
}

// CRC-32 of one record a thread, by a table in constant memory.
__constant__ unsigned crc_table[256];

extern "C" __global__ void crc32(const unsigned char* data, int size,
                                 unsigned* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned crc = 0xffffffffu;
  for (int k = 0; k < size; ++k) {
    crc = crc_table[(crc ^ data[i * size + k]) & 255] ^ crc >> 8;
  }
  sums[i] = ~crc;
}

__device__ unsigned RotateRight(unsigned x, int n) {
  return __funnelshift_r(x, x, n);
}

__constant__ unsigned sha_table[64];

// One block of SHA-256 a thread.
extern "C" __global__ void sha256(const unsigned* blocks, unsigned* digests,
                                  int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned w[64];
  for (int k = 0; k < 16; ++k) {
    w[k] = __byte_perm(blocks[i * 16 + k], 0, 0x0123);
  }
  for (int k = 16; k < 64; ++k) {
    const unsigned s0 = RotateRight(w[k - 15], 7) ^
                        RotateRight(w[k - 15], 18) ^ w[k - 15] >> 3;
    const unsigned s1 = RotateRight(w[k - 2], 17) ^
                        RotateRight(w[k - 2], 19) ^ w[k - 2] >> 10;
    w[k] = w[k - 16] + s0 + w[k - 7] + s1;
  }
  const unsigned start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned s[8];
  for (int k = 0; k < 8; ++k) s[k] = start[k];
  for (int k = 0; k < 64; ++k) {
    const unsigned s1 = RotateRight(s[4], 6) ^ RotateRight(s[4], 11) ^
                        RotateRight(s[4], 25);
    const unsigned choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const unsigned t1 = s[7] + s1 + choose + sha_table[k] + w[k];
    const unsigned s0 = RotateRight(s[0], 2) ^ RotateRight(s[0], 13) ^
                        RotateRight(s[0], 22);
    const unsigned most = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    for (int m = 7; m > 0; --m) s[m] = s[m - 1];
    s[4] += t1;
    s[0] = t1 + s0 + most;
  }
  for (int k = 0; k < 8; ++k) digests[i * 8 + k] = start[k] + s[k];
}
