// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forms/inputs.h"

#include <algorithm>

namespace holdfast::forms {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

using Patterns = std::vector<uint64_t>;

// With their signs; what matters most first.
Patterns FloatEdges(const Kind& kind) {
  const uint64_t one = Encode(kind, 1);
  const uint64_t infinity =
      Encode(kind, 2e40L) == Largest(kind) ? Largest(kind) : Largest(kind) + 1;
  const uint64_t normal = one & ~(one - 1);  // the lowest bit of an exponent
  const uint64_t nan = Canonical(kind, ~uint64_t{0} & (SignBit(kind) - 1));
  Patterns positive = {0,
                       one,
                       1,
                       nan,
                       kind == "f64" ? uint64_t{0x7FF} << 52 : infinity,
                       Largest(kind),
                       normal,
                       one + 1,
                       one - 1,
                       normal - 1,
                       Encode(kind, 1.5L),
                       Encode(kind, 0.5L),
                       Encode(kind, 2),
                       Encode(kind, 2.5L),
                       Encode(kind, 3),
                       Encode(kind, 127.5L),
                       Encode(kind, 128),
                       Encode(kind, 255.5L),
                       Encode(kind, 32767.5L),
                       Encode(kind, 65535),
                       Encode(kind, 0x1p31L),
                       Encode(kind, 0x1p32L),
                       Encode(kind, 0x1p63L),
                       Encode(kind, 0x1p64L),
                       Encode(kind, 0x1.fffffep30L),
                       Encode(kind, 0x1p-24L),
                       Encode(kind, 0x1p-25L),
                       Encode(kind, 0x1p-14L),
                       Encode(kind, 65504),
                       Encode(kind, 65519.999L),
                       Encode(kind, 65520),
                       Encode(kind, 448),
                       Encode(kind, 464),
                       Encode(kind, 57344),
                       Encode(kind, 0x1p-126L),
                       Encode(kind, 0x1.fffffep127L),
                       Encode(kind, 0x1.fffffefp127L),
                       Encode(kind, 3.14159265358979323846L),
                       nan - 1,
                       normal + 1};
  Patterns all;
  for (const uint64_t bits : positive) {
    all.push_back(bits);
    all.push_back(bits | SignBit(kind));
  }
  return all;
}

Patterns IntegerEdges(const Kind& kind) {
  const uint64_t top = SignBit(kind);
  return {0,
          1,
          ~uint64_t{0},
          top,
          top - 1,
          2,
          top + 1,
          ~uint64_t{0} - 1,
          3,
          0x7F,
          0x80,
          0xFF,
          0x100,
          0x5555555555555555,
          0xAAAAAAAAAAAAAAAA,
          0x7FFF,
          0x8000,
          0xFFFF,
          0x10000,
          0x7FFFFF,
          0x800000,
          0xFFFFFF,
          0x1000000,
          0x7FFFFFFF,
          0x80000000,
          0xFFFFFFFF,
          0x100000000,
          10,
          31,
          32,
          33,
          63,
          64,
          0x0123456789ABCDEF,
          0xFEDCBA9876543210};
}

Patterns EdgesOf(const Kind& kind) {
  if (kind == "pred") return {0, 1};
  if (kind == "count") {
    return {0,  1,  31, 32, 33,  63,  64,  65,  0xFFFFFFFF, 5,          8,
            16, 24, 30, 62, 127, 128, 255, 256, 257,        0x80000000, 0x120};
  }
  const Kind half = HalfOf(kind);
  if (half.empty())
    return IsFloat(kind) ? FloatEdges(kind) : IntegerEdges(kind);
  Patterns all;
  const Patterns edges = EdgesOf(half);
  const uint64_t mask = Mask(BitsOf(half));
  for (size_t i = 0; i < edges.size(); ++i) {
    const uint64_t other = edges[(i * 7 + 3) % edges.size()];
    all.push_back((edges[i] & mask) | (other & mask) << BitsOf(half));
  }
  return all;
}

uint64_t RandomOf(const Kind& kind, Random& random) {
  const Kind half = HalfOf(kind);
  if (!half.empty()) {
    const uint64_t mask = Mask(BitsOf(half));
    const uint64_t low = RandomOf(half, random) & mask;
    return low | (RandomOf(half, random) & mask) << BitsOf(half);
  }
  const uint64_t bits = random.Next(), how = random.Next();
  if (kind == "pred") return bits & 1;
  if (kind == "count") return how % 8 == 0 ? bits : bits % 70;
  if (!IsFloat(kind)) return how % 3 == 0 ? bits >> (how / 3 % 64) : bits;
  if (how % 4 == 0) return bits;
  // Close to one, where operations meet; every second with few digits.
  const uint64_t one = Encode(kind, 1);
  const uint64_t unit = one & ~(one - 1);
  const uint64_t span = kind == "f16" || BitsOf(kind) == 8 ? 8 : 24;
  uint64_t value = one - unit * (span / 2) + unit * (how / 4 % span);
  if (BitsOf(kind) == 8) value = bits & 0x7F;
  uint64_t fraction = bits & (unit - 1);
  if (how % 4 == 1) fraction &= ~((unit - 1) >> 4);
  return value | fraction | ((bits >> 63) != 0 ? SignBit(kind) : 0);
}

}  // namespace

std::vector<Sources> InputsFor(const std::vector<Kind>& kinds) {
  std::vector<Sources> inputs;
  if (kinds.size() == 1 && BitsOf(kinds[0]) == 16) {
    for (uint64_t i = 0; i < 65536; ++i) inputs.push_back({i});
    return inputs;
  }
  std::vector<Patterns> edges;
  // As many of the edges as fill three quarters with their combinations.
  size_t room = kInputs * 3 / 4;
  for (size_t i = 0; i < kinds.size(); ++i) {
    Patterns all = EdgesOf(kinds[i]);
    size_t most = all.size();
    while (true) {
      size_t product = 1;
      for (size_t k = i; k < kinds.size(); ++k) {
        product *= std::min(most, EdgesOf(kinds[k]).size());
      }
      if (product <= room || most <= 2) break;
      --most;
    }
    all.resize(std::min(most, all.size()));
    room /= all.size();
    edges.push_back(all);
  }
  size_t total = 1;
  for (const Patterns& patterns : edges) total *= patterns.size();
  for (size_t n = 0; n < total; ++n) {
    Sources in = {};
    size_t rest = n;
    for (size_t i = 0; i < kinds.size(); ++i) {
      in[i] = edges[i][rest % edges[i].size()];
      rest /= edges[i].size();
    }
    inputs.push_back(in);
  }
  Random random(kinds.size());
  while (inputs.size() < kInputs) {
    Sources in = {};
    for (size_t i = 0; i < kinds.size(); ++i) {
      in[i] = RandomOf(kinds[i], random);
    }
    inputs.push_back(in);
  }
  for (Sources& in : inputs) {
    for (size_t i = 0; i < kinds.size(); ++i) in[i] &= Mask(BitsOf(kinds[i]));
  }
  return inputs;
}

}  // namespace holdfast::forms
