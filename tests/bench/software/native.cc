// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/software/native.h"

#include <algorithm>
#include <cmath>

namespace holdfast::bench::native {

void VectorAdd(const float* __restrict a, const float* __restrict b,
               float* __restrict sum, int begin, int end) {
  for (int i = begin; i < end; ++i) sum[i] = a[i] + b[i];
}

void Saxpy(const float* __restrict x, float* __restrict y, float a, int begin,
           int end) {
  for (int i = begin; i < end; ++i) y[i] = a * x[i] + y[i];
}

void Matmul(const float* __restrict a, const float* __restrict b,
            float* __restrict c, int n, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    std::fill_n(c + i * n, n, 0.0f);
    for (int k = 0; k < n; ++k) {
      const float factor = a[i * n + k];
      for (int j = 0; j < n; ++j) c[i * n + j] += factor * b[k * n + j];
    }
  }
}

// In 64 sums, as the grid's threads have sums of their own.
float Sum(const float* in, int begin, int end) {
  float sums[64] = {};
  int i = begin;
  for (; i + 64 <= end; i += 64) {
    for (int k = 0; k < 64; ++k) sums[k] += in[i + k];
  }
  float sum = 0;
  for (; i < end; ++i) sum += in[i];
  for (const float part : sums) sum += part;
  return sum;
}

void Mandelbrot(int* rounds, int size, int limit, int begin, int end) {
  for (int y = begin; y < end; ++y) {
    for (int x = 0; x < size; ++x) {
      const float cr = -2.0f + 3.0f * static_cast<float>(x) / size;
      const float ci = -1.5f + 3.0f * static_cast<float>(y) / size;
      float zr = 0, zi = 0;
      int i = 0;
      while (i < limit && zr * zr + zi * zi <= 4.0f) {
        const float next = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = next;
        ++i;
      }
      rounds[y * size + x] = i;
    }
  }
}

void Histogram(const uint8_t* data, uint32_t* bins, int begin, int end) {
  for (int i = begin; i < end; ++i) ++bins[data[i]];
}

void Stencil(const float* __restrict in, float* __restrict out, int width,
             int begin, int end) {
  for (int y = begin; y < end; ++y) {
    const float* row = in + static_cast<int64_t>(y) * width;
    float* to = out + static_cast<int64_t>(y) * width;
    for (int x = 1; x < width - 1; ++x) {
      to[x] = 0.5f * row[x] + 0.125f * (row[x - 1] + row[x + 1] +
                                        row[x - width] + row[x + width]);
    }
  }
}

void BitonicStep(uint32_t* keys, int stride, int size, int begin, int end) {
  for (int first = begin; first < end; first += 2 * stride) {
    const bool up = (first & size) == 0;
    uint32_t* low = keys + first;
    uint32_t* high = low + stride;
    for (int i = 0; i < stride; ++i) {
      const uint32_t a = std::min(low[i], high[i]);
      const uint32_t b = std::max(low[i], high[i]);
      low[i] = up ? a : b;
      high[i] = up ? b : a;
    }
  }
}

void Nbody(const float* __restrict bodies, float* __restrict forces, int n,
           int begin, int end) {
  // Bodies beside each other, so that several are done at once.
  constexpr int kTogether = 16;
  for (int first = begin; first < end; first += kTogether) {
    float ax[kTogether] = {}, ay[kTogether] = {}, az[kTogether] = {};
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < kTogether; ++k) {
        const float* me = bodies + 4 * (first + k);
        const float dx = bodies[4 * j] - me[0];
        const float dy = bodies[4 * j + 1] - me[1];
        const float dz = bodies[4 * j + 2] - me[2];
        const float square = dx * dx + dy * dy + dz * dz + 0.01f;
        const float inverse = 1.0f / std::sqrt(square);
        const float scale = bodies[4 * j + 3] * inverse * inverse * inverse;
        ax[k] += dx * scale;
        ay[k] += dy * scale;
        az[k] += dz * scale;
      }
    }
    for (int k = 0; k < kTogether; ++k) {
      float* force = forces + 4 * (first + k);
      force[0] = ax[k];
      force[1] = ay[k];
      force[2] = az[k];
      force[3] = 0;
    }
  }
}

void Transpose(const float* __restrict in, float* __restrict out, int width,
               int height, int begin, int end) {
  constexpr int kTile = 32;
  for (int x0 = begin; x0 < end; x0 += kTile) {
    for (int y0 = 0; y0 < height; y0 += kTile) {
      for (int x = x0; x < std::min(x0 + kTile, end); ++x) {
        for (int y = y0; y < std::min(y0 + kTile, height); ++y) {
          out[static_cast<int64_t>(x) * height + y] =
              in[static_cast<int64_t>(y) * width + x];
        }
      }
    }
  }
}

int Scan(const int* in, int* out, int start, int begin, int end) {
  int sum = start;
  for (int i = begin; i < end; ++i) out[i] = sum += in[i];
  return sum;
}

int SumOf(const int* in, int begin, int end) {
  int sum = 0;
  for (int i = begin; i < end; ++i) sum += in[i];
  return sum;
}

void Spmv(const int* starts, const int* columns, const float* values,
          const float* x, float* y, int begin, int end) {
  for (int row = begin; row < end; ++row) {
    float sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; ++k) {
      sum += values[k] * x[columns[k]];
    }
    y[row] = sum;
  }
}

void SpmvUnrolled(const int* __restrict starts, const int* __restrict columns,
                  const float* __restrict values, const float* __restrict x,
                  float* __restrict y, int begin, int end) {
  for (int row = begin; row < end; ++row) {
    float sum = 0;
    int k = starts[row];
    const int last = starts[row + 1];
#pragma GCC unroll 1
    for (int left = (last - k) & 3; left > 0; --left, ++k) {
      sum += values[k] * x[columns[k]];
    }
#pragma GCC unroll 1
    for (; k < last; k += 4) {
      sum += values[k] * x[columns[k]];
      sum += values[k + 1] * x[columns[k + 1]];
      sum += values[k + 2] * x[columns[k + 2]];
      sum += values[k + 3] * x[columns[k + 3]];
    }
    y[row] = sum;
  }
}

namespace {

float Normal(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
  const float tail =
      0.39894228f * std::exp(-0.5f * d * d) *
      (k * (0.31938153f +
            k * (-0.356563782f +
                 k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - tail : tail;
}

}  // namespace

void BlackScholes(const float* price, const float* strike, const float* years,
                  float* call, float* put, float rate, float volatility,
                  int begin, int end) {
  for (int i = begin; i < end; ++i) {
    const float root = std::sqrt(years[i]);
    const float d1 = (std::log(price[i] / strike[i]) +
                      (rate + 0.5f * volatility * volatility) * years[i]) /
                     (volatility * root);
    const float d2 = d1 - volatility * root;
    const float discount = strike[i] * std::exp(-rate * years[i]);
    call[i] = price[i] * Normal(d1) - discount * Normal(d2);
    put[i] = discount * (1.0f - Normal(d2)) - price[i] * (1.0f - Normal(d1));
  }
}

}  // namespace holdfast::bench::native
