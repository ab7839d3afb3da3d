// SPDX-License-Identifier: Apache-2.0
typedef int (*Operation)(int, int);
__device__ __noinline__ int Add(int a, int b) { return a + b; }
__device__ __noinline__ int Multiply(int a, int b) { return a * b; }
__device__ __noinline__ int Difference(int a, int b) { return a - b; }
__device__ Operation operations[3] = {Add, Multiply, Difference};

extern "C" __global__ void function_pointers(const int* which, const int* in,
                                             int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = operations[which[i]](in[i], i);
}

struct Shape {
  __device__ virtual float Area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float Area() const override { return side * side; }
};
struct Triangle : Shape {
  float base, height;
  __device__ Triangle(float b, float h) : base(b), height(h) {}
  __device__ float Area() const override { return 0.5f * base * height; }
};

extern "C" __global__ void virtual_methods(const float* in, float* areas,
                                           int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Square square(in[i]);
  const Triangle triangle(in[i], 3.0f);
  const Shape* shape = &triangle;
  if (i % 3 == 0) shape = &square;
  areas[i] = shape->Area();
}
