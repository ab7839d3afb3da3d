// SPDX-License-Identifier: Apache-2.0
//
// The kernels' computations as C++ that the compiler vectorises for this very
// machine. Each function does its part [begin, end) of the work on the calling
// thread.
#ifndef HOLDFAST_TESTS_BENCH_SOFTWARE_NATIVE_H_
#define HOLDFAST_TESTS_BENCH_SOFTWARE_NATIVE_H_

#include <cstdint>

namespace holdfast::bench::native {

void VectorAdd(const float* a, const float* b, float* sum, int begin, int end);
void Saxpy(const float* x, float* y, float a, int begin, int end);
// Rows of c = a * b, n x n.
void Matmul(const float* a, const float* b, float* c, int n, int begin,
            int end);
float Sum(const float* in, int begin, int end);
// Rows.
void Mandelbrot(int* rounds, int size, int limit, int begin, int end);
void Histogram(const uint8_t* data, uint32_t* bins, int begin, int end);
// Rows, of 1 <= begin < end <= height - 1.
void Stencil(const float* in, float* out, int width, int begin, int end);
// Pairs with begin <= i < end; the caller keeps steps apart.
void BitonicStep(uint32_t* keys, int stride, int size, int begin, int end);
void Nbody(const float* bodies, float* forces, int n, int begin, int end);
// Rows of the result.
void Transpose(const float* in, float* out, int width, int height, int begin,
               int end);
// Inclusive, from `start`; returns the last sum.
int Scan(const int* in, int* out, int start, int begin, int end);
int SumOf(const int* in, int begin, int end);
void Spmv(const int* starts, const int* columns, const float* values,
          const float* x, float* y, int begin, int end);
// With the loops that NVRTC makes of it: what is left over first, then by four.
void SpmvUnrolled(const int* __restrict starts, const int* __restrict columns,
                  const float* __restrict values, const float* __restrict x,
                  float* __restrict y, int begin, int end);
void BlackScholes(const float* price, const float* strike, const float* years,
                  float* call, float* put, float rate, float volatility,
                  int begin, int end);

}  // namespace holdfast::bench::native

#endif  // HOLDFAST_TESTS_BENCH_SOFTWARE_NATIVE_H_
