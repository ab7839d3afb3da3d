// SPDX-License-Identifier: Apache-2.0
// Every thread of the grid increments under one lock; threads of one warp
// compete as well.
extern "C" __global__ void spin_lock(int* lock, volatile int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *counter = *counter + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// Tickets: served in the order of their numbers.
extern "C" __global__ void ticket_lock(unsigned* next, volatile unsigned* now,
                                       volatile int* counter) {
  const unsigned mine = atomicAdd(next, 1);
  while (*now != mine) {
  }
  __threadfence();
  *counter = *counter * 3 + 1;
  __threadfence();
  *now = mine + 1;
}

// Even lanes make values for odd lanes.
extern "C" __global__ void producer_consumer(const int* in, int* out) {
  __shared__ int box[128];
  const int t = threadIdx.x;
  int sum = 0;
  for (int round = 0; round < 8; ++round) {
    if (t % 2 == 0) box[t] = in[t] * round + t;
    __syncwarp();
    if (t % 2 == 1) sum = sum * 7 + box[t - 1];
    __syncwarp();
  }
  out[t] = sum;
}

// A shared-memory ring between two warps, by flags.
extern "C" __global__ void ring(const int* in, int* out, int n) {
  __shared__ volatile int slots[8];
  __shared__ volatile int filled;
  __shared__ volatile int taken;
  if (threadIdx.x == 0) {
    filled = 0;
    taken = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      while (i - taken >= 8) {
      }
      slots[i % 8] = in[i] * 3;
      __threadfence_block();
      filled = i + 1;
    }
  } else if (threadIdx.x == 32) {
    for (int i = 0; i < n; ++i) {
      while (filled <= i) {
      }
      __threadfence_block();
      out[i] = slots[i % 8] + 1;
      taken = i + 1;
    }
  }
}

// All operations on all types; each result does not depend on the order.
extern "C" __global__ void atomics(int* i32, unsigned* u32,
                                   unsigned long long* u64, long long* s64,
                                   float* f32, double* f64) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i32[0], t);
  atomicSub(&i32[1], t);
  atomicMin(&i32[2], -t);
  atomicMax(&i32[3], t);
  atomicAnd(&i32[4], ~(1 << (t & 31)));
  atomicOr(&i32[5], 1 << (t & 31));
  atomicXor(&i32[6], t);
  atomicInc(&u32[0], 99);
  atomicDec(&u32[1], 99);
  atomicMin(&u32[2], 5000u - t);
  atomicMax(&u32[3], 5000u - t);
  atomicAdd(&u64[0], (unsigned long long)t << 20);
  atomicMin(&u64[1], 1000000ull - t);
  atomicMax(&u64[2], (unsigned long long)t * t);
  atomicAnd(&u64[3], ~(1ull << (t & 63)));
  atomicOr(&u64[4], 1ull << (t & 63));
  atomicXor(&u64[5], (unsigned long long)t << 33);
  atomicMin(&s64[0], -(long long)t);
  atomicMax(&s64[1], (long long)t * 5);
  atomicAdd(&f32[0], 1.0f);
  atomicAdd(&f64[0], 0.5);
}
