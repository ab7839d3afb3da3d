// SPDX-License-Identifier: Apache-2.0
// Accelerations of bodies {x, y, z, mass}, tile by tile.
extern "C" __global__ void nbody(const float4* bodies, float4* forces, int n) {
  __shared__ float4 tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  const float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (int start = 0; start < n; start += 64) {
    tile[threadIdx.x] = bodies[start + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < 64; ++j) {
      const float dx = tile[j].x - me.x;
      const float dy = tile[j].y - me.y;
      const float dz = tile[j].z - me.z;
      const float square = dx * dx + dy * dy + dz * dz + 0.01f;
      const float inverse = 1.0f / sqrtf(square);
      const float scale = tile[j].w * inverse * inverse * inverse;
      ax += dx * scale;
      ay += dy * scale;
      az += dz * scale;
    }
    __syncthreads();
  }
  forces[i] = make_float4(ax, ay, az, 0);
}
