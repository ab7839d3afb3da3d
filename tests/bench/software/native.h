// SPDX-License-Identifier: Apache-2.0
//
// The kernels' computations in C++, vectorised by the compiler for this
// machine. Each function computes the part [begin, end) of the result on the
// calling thread.
#ifndef HOLDFAST_TESTS_BENCH_SOFTWARE_NATIVE_H_
#define HOLDFAST_TESTS_BENCH_SOFTWARE_NATIVE_H_

#include <cstdint>

namespace holdfast::bench::native {

void VectorAdd(const float* a, const float* b, float* sum, int begin, int end);
void Saxpy(const float* x, float* y, float a, int begin, int end);
// Computes rows of c = a * b, n x n.
void Matmul(const float* a, const float* b, float* c, int n, int begin,
            int end);
float Sum(const float* in, int begin, int end);
// Computes rows.
void Mandelbrot(int* rounds, int size, int limit, int begin, int end);
void Histogram(const uint8_t* data, uint32_t* bins, int begin, int end);
// Computes rows. REQUIRES: 1 <= begin < end <= height - 1.
void Stencil(const float* in, float* out, int width, int begin, int end);
// Sorts the pairs with begin <= i < end. The caller separates the steps.
void BitonicStep(uint32_t* keys, int stride, int size, int begin, int end);
void Nbody(const float* bodies, float* forces, int n, int begin, int end);
// Computes rows of `out`.
void Transpose(const float* in, float* out, int width, int height, int begin,
               int end);
// Computes the inclusive prefix sums, beginning with `start`. Returns the last.
int Scan(const int* in, int* out, int start, int begin, int end);
int SumOf(const int* in, int begin, int end);
void Spmv(const int* starts, const int* columns, const float* values,
          const float* x, float* y, int begin, int end);
// Spmv with the loops that NVRTC generates: first the remainder modulo four,
// then four elements at a time.
void SpmvUnrolled(const int* __restrict starts, const int* __restrict columns,
                  const float* __restrict values, const float* __restrict x,
                  float* __restrict y, int begin, int end);
void BlackScholes(const float* price, const float* strike, const float* years,
                  float* call, float* put, float rate, float volatility,
                  int begin, int end);

}  // namespace holdfast::bench::native

#endif  // HOLDFAST_TESTS_BENCH_SOFTWARE_NATIVE_H_
