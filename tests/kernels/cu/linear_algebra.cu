// SPDX-License-Identifier: Apache-2.0
// Fourier transform of 512 points a block, twiddles from a table.
extern "C" __global__ void fft(const float2* in, float2* out,
                               const float2* twiddles) {
  __shared__ float2 s[512];
  const int t = threadIdx.x;
  const float2* mine = in + blockIdx.x * 512;
  for (int i = t; i < 512; i += 256) s[__brev(i) >> 23] = mine[i];
  __syncthreads();
  for (int half = 1; half < 512; half *= 2) {
    const int k = t & (half - 1);
    const int i = 2 * t - k;
    const float2 w = twiddles[k * (256 / half)];
    const float2 a = s[i], b = s[i + half];
    const float re = b.x * w.x - b.y * w.y;
    const float im = b.x * w.y + b.y * w.x;
    s[i] = make_float2(a.x + re, a.y + im);
    s[i + half] = make_float2(a.x - re, a.y - im);
    __syncthreads();
  }
  for (int i = t; i < 512; i += 256) out[blockIdx.x * 512 + i] = s[i];
}

// LU factors of a 16x16 matrix a block, without pivots.
extern "C" __global__ void lu(double* matrices) {
  __shared__ double a[16][17];
  double* mine = matrices + blockIdx.x * 256;
  const int r = threadIdx.y, c = threadIdx.x;
  a[r][c] = mine[r * 16 + c];
  __syncthreads();
  for (int k = 0; k < 15; ++k) {
    if (r > k && c == k) a[r][k] /= a[k][k];
    __syncthreads();
    if (r > k && c > k) a[r][c] -= a[r][k] * a[k][c];
    __syncthreads();
  }
  mine[r * 16 + c] = a[r][c];
}

// Cholesky factor of a 6x6 matrix a thread.
extern "C" __global__ void cholesky(const float* matrices, float* factors,
                                    int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float l[6][6];
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j <= i; ++j) {
      float sum = matrices[(i * 6 + j) * n + t];
      for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      l[i][j] = i == j ? sqrtf(sum) : sum / l[j][j];
      factors[(i * 6 + j) * n + t] = l[i][j];
    }
  }
}

// R of the QR decomposition of a 4x4 matrix a thread, by Givens rotations.
extern "C" __global__ void qr(const float* matrices, float* out, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float a[4][4];
  for (int i = 0; i < 16; ++i) a[i / 4][i % 4] = matrices[t * 16 + i];
  for (int c = 0; c < 4; ++c) {
    for (int r = c + 1; r < 4; ++r) {
      const float x = a[c][c], y = a[r][c];
      const float length = sqrtf(x * x + y * y);
      if (length == 0) continue;
      const float cosine = x / length, sine = y / length;
      for (int k = 0; k < 4; ++k) {
        const float u = a[c][k], v = a[r][k];
        a[c][k] = cosine * u + sine * v;
        a[r][k] = cosine * v - sine * u;
      }
    }
  }
  for (int i = 0; i < 16; ++i) out[t * 16 + i] = a[i / 4][i % 4];
}

// Dot products in double precision with Kahan's compensation, one a thread.
extern "C" __global__ void kahan(const double* in, double* sums, int each,
                                 int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  double sum = 0, error = 0;
  for (int i = 0; i < each; ++i) {
    const double y = __dsub_rn(in[i * n + t], error);
    const double next = __dadd_rn(sum, y);
    error = __dsub_rn(__dsub_rn(next, sum), y);
    sum = next;
  }
  sums[t] = sum;
}
