# SPDX-License-Identifier: Apache-2.0
"""Finds the lowest nonce so that SHA-256 of "NONCE TEXT" begins with zeros. hashlib checks it."""

import argparse
import hashlib
import time

import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch

SOURCE = """
__constant__ unsigned H[8] = {%s}, K[64] = {%s};
__device__ unsigned turn(unsigned x, int by) { return __funnelshift_r(x, x, by); }
__device__ unsigned digits(unsigned x) {  // four hex digits, as text
  unsigned text = 0;
  for (int i = 12; i >= 0; i -= 4) text = text << 8 | "0123456789abcdef"[x >> i & 15];
  return text;
}
// One SHA-256 a thread, of `block` with a nonce in its first two words.
extern "C" __global__ void search(const unsigned* block, unsigned first, int zeros,
                                  unsigned* found) {
  unsigned nonce = first + blockIdx.x * blockDim.x + threadIdx.x, w[16], s[8];
  for (int i = 0; i < 16; ++i) w[i] = block[i];
  for (int i = 0; i < 8; ++i) s[i] = H[i];
  w[0] = digits(nonce >> 16), w[1] = digits(nonce);
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    unsigned a = w[i + 1 & 15], b = w[i + 14 & 15];
    if (i >= 16) w[i & 15] += (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i + 9 & 15] +
                              (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    unsigned t = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
                 (s[4] & s[5] ^ ~s[4] & s[6]) + K[i] + w[i & 15];
    unsigned u = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
                 (s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2]);
    for (int j = 7; j > 0; --j) s[j] = s[j - 1];
    s[4] += t, s[0] = t + u;
  }
  if (s[0] + H[0] < 1ull << 32 - 4 * zeros) atomicMin(found, nonce);
}
"""
PRIMES = [n for n in range(2, 312) if all(n % d for d in range(2, n))]
BATCH, NONE = 1 << 20, 0xFFFFFFFF


def fractions(power, primes):
    """The first 32 bits behind the point of the primes' roots: SHA-256's constants."""
    return ", ".join(f"{int(p**power % 1 * 2**32)}u" for p in primes)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--text", default="holdfast", help="at most 46 bytes")
parser.add_argument("--zeros", type=int, default=6, choices=range(1, 8), help="hex digits")
args = parser.parse_args()
message = b"00000000 " + args.text.encode()
if len(message) > 55:
    parser.error(f"the text has {len(message) - 9} bytes, 46 are the most")
padded = message + b"\x80" + bytes(55 - len(message)) + (8 * len(message)).to_bytes(8, "big")

device = Device()
device.set_current()
stream = device.create_stream()
source = SOURCE % (fractions(1 / 2, PRIMES[:8]), fractions(1 / 3, PRIMES))
kernel = Program(source, "c++").compile("cubin").get_kernel("search")
block, found = device.allocate(64, stream=stream), device.allocate(4, stream=stream)
block.copy_from(np.frombuffer(padded, ">u4").astype(np.uint32), stream=stream)
found.fill(0xFF, stream=stream)
nonce, tried, start = NONE, 0, time.perf_counter()
while nonce == NONE and tried < 2**32:
    config = LaunchConfig(grid=BATCH // 256, block=256)
    launch(stream, config, kernel, block, np.uint32(tried), args.zeros, found)
    nonce = found.copy_to(np.empty(1, np.uint32), stream=stream)[0]
    tried += BATCH
seconds = time.perf_counter() - start
text = f"{nonce:08x} {args.text}"
digest = hashlib.sha256(text.encode()).hexdigest()
print(f'sha256("{text}") = {digest}')
print(f"{tried / seconds / 1e6:.1f} million hashes a second on {device.name}")
assert digest.startswith("0" * args.zeros)
