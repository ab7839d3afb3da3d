// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void mandelbrot(int* rounds, int size, int limit) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  const float cr = -2.0f + 3.0f * x / size;
  const float ci = -1.5f + 3.0f * y / size;
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

extern "C" __global__ void collatz(const unsigned* starts, int* steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long value = starts[i];
  int count = 0;
  while (value > 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++count;
  }
  steps[i] = count;
}

// Loops with early exits inside loops, and a goto that makes two entries.
extern "C" __global__ void tangled(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = in[i] & 1023, result = 0;
  for (int a = 0; a < 10; ++a) {
    for (int b = 0; b < 10; ++b) {
      if ((value + a * b) % 7 == 3) break;
      if ((value ^ b) % 31 == 5) goto done;
      result += a ^ b;
    }
    if (value % 5 == a) continue;
    if (value & 1) {
      value = 3 * value + 1;
      if (value > 4000) goto middle;
    } else {
      value /= 2;
    middle:
      result = result * 5 + value;
    }
  }
done:
  out[i] = result;
}

// A stack machine: the switch is a table of branches.
extern "C" __global__ void interpreter(const unsigned char* code, int length,
                                       const int* input, int* out, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int stack[16];
  int top = 0;
  for (int at = 0; at < length; ++at) {
    const unsigned char op = code[at];
    switch (op) {
      case 0: stack[top++ & 15] = input[t]; break;
      case 1: stack[top++ & 15] = t; break;
      case 2: stack[(top - 2) & 15] += stack[(top - 1) & 15]; --top; break;
      case 3: stack[(top - 2) & 15] -= stack[(top - 1) & 15]; --top; break;
      case 4: stack[(top - 2) & 15] *= stack[(top - 1) & 15]; --top; break;
      case 5: stack[(top - 2) & 15] ^= stack[(top - 1) & 15]; --top; break;
      case 6: stack[(top - 1) & 15] = -stack[(top - 1) & 15]; break;
      case 7: stack[top & 15] = stack[(top - 1) & 15]; ++top; break;
      case 8:
        if (stack[(top - 1) & 15] & 1) ++at;
        break;
      default: stack[top++ & 15] = op; break;
    }
  }
  out[t] = stack[(top - 1) & 15];
}
