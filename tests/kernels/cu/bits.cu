// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void bit_tricks(const unsigned* in, unsigned* out,
                                      int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned x = in[i];
  const unsigned y = in[(i + 1) % n];
  const unsigned long long wide = (unsigned long long)x << 32 | y;
  unsigned* mine = out + i * 16;
  mine[0] = __popc(x);
  mine[1] = __brev(x);
  mine[2] = __clz(x);
  mine[3] = __ffs(x);
  mine[4] = __popcll(wide);
  mine[5] = __clzll(wide);
  mine[6] = (unsigned)(__brevll(wide) >> 32);
  mine[7] = __byte_perm(x, y, 0x5140);
  mine[8] = __byte_perm(x, y, y & 0x7777);
  mine[9] = __funnelshift_l(x, y, x & 63);
  mine[10] = __funnelshift_r(x, y, y & 63);
  mine[11] = __funnelshift_lc(x, y, x & 63);
  mine[12] = __umulhi(x, y);
  mine[13] = (unsigned)__mulhi((int)x, (int)y);
  mine[14] = __usad(x, y, 7);
  mine[15] = x << (y & 31) ^ (unsigned)((int)x >> (y & 31));
}

// Sixteen-bit and 64-bit integers, division included.
extern "C" __global__ void integers(const long long* in, long long* out,
                                    int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const long long a = in[i], b = in[(i + 1) % n] >> (i % 60) | 1;
  const short s = (short)a, r = (short)(b | 1);
  long long* mine = out + i * 8;
  mine[0] = a / b;
  mine[1] = a % b;
  mine[2] = (unsigned long long)a / (unsigned long long)b;
  mine[3] = a * b;
  mine[4] = __mul64hi(a, b);
  mine[5] = (short)(s * r) + (unsigned short)(s / r);
  mine[6] = min(a, b) ^ max((unsigned long long)a, (unsigned long long)b);
  mine[7] = (signed char)a + (unsigned char)b + ((a >> 7) & (b << 3));
}
