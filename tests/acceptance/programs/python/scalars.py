# SPDX-License-Identifier: Apache-2.0
"""Scalars for parameters of every type."""

import ctypes

import numpy as np

from checks import build, down, equal, finish, run, up, works, zeros

SOURCE = r"""
struct Pair { float x, y; };
extern "C" {
__global__ void f32(float* o, float v) { *o = v; }
__global__ void f64(double* o, double v) { *o = v; }
__global__ void f16(unsigned short* o, unsigned short v) { *o = v; }
__global__ void b(unsigned char* o, bool v) { *o = v; }
__global__ void i8(signed char* o, signed char v) { *o = v; }
__global__ void i32(int* o, int v) { *o = v; }
__global__ void i64(long long* o, long long v) { *o = v; }
__global__ void pair(float* o, Pair v) { o[0] = v.x - v.y; }
__global__ void mixed(double* o, bool a, signed char b, short c, float d, double e, bool f, long long g) { *o = a + b + c + d + e + f + g; }
}
"""
module = build(SOURCE)
CASES = [
    ("f32", "f4", np.float32(2.5), 2.5),
    ("f32", "f4", ctypes.c_float(-1.25), -1.25),
    ("f64", "f8", 2.5, 2.5),
    ("f64", "f8", np.float64(-3.5), -3.5),
    ("f16", "u2", np.float16(1), 15360),
    ("b", "u1", True, 1),
    ("b", "u1", np.bool_(False), 0),
    ("i8", "i1", np.int8(-3), -3),
    ("i32", "i4", np.int32(-7), -7),
    ("i32", "i4", ctypes.c_int(2**31 - 1), 2**31 - 1),
    ("i64", "i8", np.int64(-(2**40)), -(2**40)),
    ("i64", "i8", 2**40, 2**40),
    ("pair", "f4", np.complex64(7 + 2j), 5),
]
for name, dtype, value, wanted in CASES:

    def get():
        out = zeros(1, dtype)
        run(module.get_kernel(name), 1, 1, out, value)
        return down(out, dtype)[0]

    title = f"{type(value).__name__} {value} for {name}"
    equal(title, works(title, get), wanted)
out = zeros(1, "f8")
mixed = (np.bool_(True), np.int8(-3), np.int16(-300), np.float32(1.5), 2.5, np.bool_(True), np.int64(-(2**40)))
run(module.get_kernel("mixed"), 1, 1, out, *mixed)
equal("parameters of mixed sizes", down(out, "f8"), [1 - 3 - 300 + 1.5 + 2.5 + 1 - 2**40])
wide = build(
    """extern "C" __global__ void quotients(const unsigned long long* in, unsigned long long* out) {
      using u128 = unsigned __int128;
      const unsigned t = threadIdx.x;
      const u128 a = (u128)in[4 * t] << 64 | in[4 * t + 1], b = (u128)in[4 * t + 2] << 64 | in[4 * t + 3];
      const u128 q = a / b, r = a % b;
      out[4 * t] = q >> 64, out[4 * t + 1] = q, out[4 * t + 2] = r >> 64, out[4 * t + 3] = r;
    }""",
    device_int128=True,
)
words = np.random.default_rng(5).integers(0, 2**64, (64, 4), dtype=np.uint64)
words[::2, 2] = 0
words[1::2, 2] >>= np.uint64(60)
words[0] = 1, 5, 1, 3
there = zeros(256, "u8")
run(wide.get_kernel("quotients"), 1, 64, up(words), there)
pairs = [(int(a) << 64 | int(b), int(c) << 64 | int(d)) for a, b, c, d in words]
parts = [[q >> 64, q % 2**64, r >> 64, r % 2**64] for q, r in (divmod(a, b) for a, b in pairs)]
equal("quotients of 128 bits", down(there, "u8"), np.array(parts, np.uint64).reshape(-1))
finish()
