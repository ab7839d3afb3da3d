// SPDX-License-Identifier: Apache-2.0
// Sum over 7 neighbours, with a halo in shared memory.
extern "C" __global__ void stencil_1d(const int* in, int* out, int n) {
  __shared__ int cells[256 + 6];
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int t = threadIdx.x + 3;
  cells[t] = i < n ? in[i] : 0;
  if (threadIdx.x < 3) {
    cells[t - 3] = i >= 3 ? in[i - 3] : 0;
    cells[t + 256] = i + 256 < n ? in[i + 256] : 0;
  }
  __syncthreads();
  int sum = 0;
  for (int o = -3; o <= 3; ++o) sum += cells[t + o];
  if (i < n) out[i] = sum;
}

extern "C" __global__ void stencil_2d(const float* in, float* out, int width,
                                      int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  const float* at = in + y * width + x;
  out[y * width + x] =
      0.5f * at[0] + 0.125f * (at[-1] + at[1] + at[-width] + at[width]);
}

// 7 points in three dimensions; each thread walks along z.
extern "C" __global__ void stencil_3d(const float* in, float* out, int nx,
                                      int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  const int plane = nx * ny;
  int i = y * nx + x;
  float below = in[i], here = in[i + plane];
  for (int z = 1; z < nz - 1; ++z) {
    i += plane;
    const float above = in[i + plane];
    out[i] = 0.4f * here + 0.1f * (below + above + in[i - 1] + in[i + 1] +
                                   in[i - nx] + in[i + nx]);
    below = here;
    here = above;
  }
}

// Relaxation of one row by Jacobi's method, many rounds in one block.
extern "C" __global__ void jacobi(double* line, int rounds) {
  __shared__ double s[2][258];
  const int t = threadIdx.x + 1;
  s[0][t] = line[t];
  if (t == 1) {
    s[0][0] = s[1][0] = line[0];
    s[0][257] = s[1][257] = line[257];
  }
  __syncthreads();
  int which = 0;
  for (int r = 0; r < rounds; ++r) {
    s[1 - which][t] = 0.5 * (s[which][t - 1] + s[which][t + 1]);
    which = 1 - which;
    __syncthreads();
  }
  line[t] = s[which][t];
}

// Gauss-Seidel: a cell needs its left and upper neighbours of this round, so
// threads go along the diagonals.
extern "C" __global__ void gauss_seidel(float* grid, int n) {
  const int row = threadIdx.x + 1;
  for (int diagonal = 2; diagonal <= 2 * (n - 2); ++diagonal) {
    const int col = diagonal - row;
    if (row <= n - 2 && col >= 1 && col <= n - 2) {
      float* at = grid + row * n + col;
      *at = 0.25f * (at[-1] + at[1] + at[-n] + at[n]);
    }
    __syncthreads();
  }
}

extern "C" __global__ void life(const unsigned char* in, unsigned char* out,
                                int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int neighbours = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx == 0 && dy == 0) continue;
      const int cx = (x + dx + width) % width;
      const int cy = (y + dy + height) % height;
      neighbours += in[cy * width + cx];
    }
  }
  const bool alive = in[y * width + x];
  out[y * width + x] = neighbours == 3 || (alive && neighbours == 2);
}
