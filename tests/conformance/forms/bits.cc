// SPDX-License-Identifier: Apache-2.0
//
// Bit operations, bit by bit.
#include <algorithm>
#include <map>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

using Compute = std::function<uint64_t(const Sources&)>;

Operation Make(const Kind& result, std::vector<Kind> sources,
               const Compute& compute) {
  Operation operation;
  operation.results = {result};
  operation.sources = std::move(sources);
  const int bits = BitsOf(result);
  operation.compute = [=](const Sources& in) {
    return Results{compute(in) & Mask(bits)};
  };
  return operation;
}

bool Bit(uint64_t value, int at) { return (value >> at & 1) != 0; }

int HighestBit(uint64_t value) {
  for (int i = 63; i >= 0; --i) {
    if (Bit(value, i)) return i;
  }
  return -1;
}

uint64_t FindHighest(const Words& words, uint64_t a) {
  const Kind kind = words.Type();
  const int bits = BitsOf(kind);
  if (IsSigned(kind) && Bit(a, bits - 1)) a = ~a & Mask(bits);
  const int at = HighestBit(a);
  if (at < 0) return ~uint64_t{0};
  return words.Has("shiftamt") ? bits - 1 - at : at;
}

// PTX says that the low byte of each counts; GPUs look at the whole of it if
// the field is one of 64 bits.
void FieldOf(int bits, uint64_t* position, uint64_t* length) {
  const uint64_t mask = bits == 64 ? Mask(32) : 0xFF;
  *position &= mask;
  *length &= mask;
}

uint64_t Extract(const Kind& kind, uint64_t a, uint64_t position,
                 uint64_t length) {
  FieldOf(BitsOf(kind), &position, &length);
  const auto top = static_cast<uint64_t>(BitsOf(kind) - 1);
  const bool fill =
      IsSigned(kind) && length != 0 &&
      Bit(a, static_cast<int>(std::min(position + length - 1, top)));
  uint64_t result = 0;
  for (uint64_t i = 0; i <= top; ++i) {
    const bool bit = i < length && position + i <= top
                         ? Bit(a, static_cast<int>(position + i))
                         : fill;
    result |= uint64_t{bit} << i;
  }
  return result;
}

uint64_t Insert(int bits, uint64_t a, uint64_t b, uint64_t position,
                uint64_t length) {
  FieldOf(bits, &position, &length);
  uint64_t result = b;
  for (uint64_t i = 0; i < length && position + i < static_cast<uint64_t>(bits);
       ++i) {
    result &= ~(uint64_t{1} << (position + i));
    result |= uint64_t{Bit(a, static_cast<int>(i))} << (position + i);
  }
  return result;
}

// The n-th set bit from `base`, upwards for a positive n.
uint64_t FindNth(uint32_t mask, uint32_t base, int32_t n) {
  if (base > 31) return 0xFFFFFFFF;
  const int step = n < 0 ? -1 : 1;
  if (n == 0) return Bit(mask, static_cast<int>(base)) ? base : 0xFFFFFFFF;
  int64_t left = n < 0 ? -static_cast<int64_t>(n) : n;
  for (auto i = static_cast<int>(base); i >= 0 && i < 32; i += step) {
    if (Bit(mask, i) && --left == 0) return static_cast<uint64_t>(i);
  }
  return 0xFFFFFFFF;
}

uint64_t Permute(const Words& words, uint64_t a, uint64_t b, uint64_t c) {
  uint8_t bytes[8];
  for (int i = 0; i < 4; ++i) {
    bytes[i] = static_cast<uint8_t>(a >> (8 * i));
    bytes[i + 4] = static_cast<uint8_t>(b >> (8 * i));
  }
  // By the value of c: the bytes of the result, the lowest first.
  static const std::map<std::string, std::array<std::array<int, 4>, 4>> kModes =
      {{"f4e", {{{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}}},
       {"b4e", {{{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}}},
       {"rc8", {{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}}},
       {"ecl", {{{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}}},
       {"ecr", {{{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}}},
       {"rc16", {{{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}}}};
  uint64_t result = 0;
  const std::string mode =
      words.OneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  for (int i = 0; i < 4; ++i) {
    uint8_t byte;
    if (mode.empty()) {
      const auto selector = static_cast<int>(c >> (4 * i) & 15);
      byte = bytes[selector & 7];
      if (selector >= 8) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    } else {
      byte = bytes[kModes.at(mode)[c & 3][i]];
    }
    result |= uint64_t{byte} << (8 * i);
  }
  return result;
}

uint64_t Funnel(const Words& words, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t count =
      words.Has("wrap") ? (c & 31) : std::min<uint64_t>(c & Mask(32), 32);
  const uint64_t pair = b << 32 | a;
  if (words.Has("r")) return pair >> count;
  return count == 32 ? a : pair << count >> 32;
}

uint64_t Dot(const Words& words, const Sources& in) {
  const bool bytes = words.opcode() == "dp4a";
  const Kind a = words.Type(0).substr(0, 1) + (bytes ? "8" : "16");
  const Kind b = words.Type(1).substr(0, 1) + "8";
  const int base = words.Has("hi") ? 16 : 0;
  __int128 sum = static_cast<__int128>(in[2]);
  for (int i = 0; i < (bytes ? 4 : 2); ++i) {
    sum += ToInteger(a, in[0] >> (i * BitsOf(a))) *
           ToInteger(b, in[1] >> (base + 8 * i));
  }
  return static_cast<uint64_t>(sum);
}

uint64_t BitMask(const Words& words, uint64_t position, uint64_t length) {
  if (words.Has("wrap")) position &= 31, length &= 31;
  uint64_t result = 0;
  for (uint64_t i = 0; i < 32; ++i) {
    if (i >= position && i - position < length) result |= uint64_t{1} << i;
  }
  return result;
}

uint64_t Extend(const Words& words, uint64_t a, uint64_t count) {
  count = words.Has("wrap") ? count & 31 : count & Mask(32);
  if (count == 0) return 0;
  if (count >= 32) return a;
  const auto bits = static_cast<int>(count);
  const uint64_t low = a & Mask(bits);
  return words.Type() == "s32" && Bit(low, bits - 1) ? low | ~Mask(bits) : low;
}

uint64_t Shift(const Words& words, uint64_t a, uint64_t count) {
  const Kind kind = words.Type();
  count = std::min<uint64_t>(count & Mask(32), 127);
  const __int128 value = ToInteger(kind, a);
  return static_cast<uint64_t>(words.opcode() == "shr" ? value >> count
                               : count >= 64           ? 0
                                                       : value << count);
}

std::vector<Operation> LogicByTable(const Words& words) {
  std::vector<Operation> operations;
  const std::string with = words.OneOf({"or", "and"});
  for (const int table : {0x00, 0x01, 0x1E, 0x2D, 0x80, 0x96, 0xC0, 0xCA, 0xD8,
                          0xE8, 0xF0, 0xFE, 0xFF}) {
    auto look_up = [table](const Sources& in) {
      uint64_t result = 0;
      for (int i = 0; i < 32; ++i) {
        const int index = 4 * Bit(in[0], i) + 2 * Bit(in[1], i) + Bit(in[2], i);
        result |= uint64_t{Bit(static_cast<uint64_t>(table), index)} << i;
      }
      return result;
    };
    Operation operation = Make("b32", {"b32", "b32", "b32"}, look_up);
    const std::string constant = std::to_string(table);
    operation.code = "$ D0, S0, S1, S2, " + constant + ";\n";
    if (!with.empty()) {
      operation.results.push_back("pred");
      operation.sources.push_back("pred");
      operation.code = "$ D0|D1, S0, S1, S2, " + constant + ", S3;\n";
      operation.compute = [=](const Sources& in) {
        const uint64_t result = look_up(in);
        const bool any = result != 0;
        const bool q = in[3] != 0;
        return Results{result, uint64_t{with == "or" ? any || q : any && q}};
      };
    }
    operations.push_back(operation);
  }
  return operations;
}

}  // namespace

std::vector<Operation> DescribeBits(const Words& words) {
  const std::string& opcode = words.opcode();
  const Kind kind = words.Type();
  if (kind.empty()) return {};
  const int bits = BitsOf(kind);
  using In = const Sources&;
  const std::map<std::string, std::function<Operation()>> operations = {
      {"popc",
       [=] {
         return Make("u32", {kind}, [](In in) {
           uint64_t count = 0;
           for (int i = 0; i < 64; ++i) count += Bit(in[0], i);
           return count;
         });
       }},
      {"clz",
       [=] {
         return Make("u32", {kind}, [=](In in) {
           return static_cast<uint64_t>(bits - 1 - HighestBit(in[0]));
         });
       }},
      {"brev",
       [=] {
         return Make(kind, {kind}, [=](In in) {
           uint64_t result = 0;
           for (int i = 0; i < bits; ++i) {
             result |= uint64_t{Bit(in[0], i)} << (bits - 1 - i);
           }
           return result;
         });
       }},
      {"bfind",
       [=] {
         return Make("u32", {kind},
                     [=](In in) { return FindHighest(words, in[0]); });
       }},
      {"fns",
       [=] {
         return Make("b32", {"b32", "count", "count"}, [](In in) {
           return FindNth(static_cast<uint32_t>(in[0]),
                          static_cast<uint32_t>(in[1]),
                          static_cast<int32_t>(in[2]));
         });
       }},
      {"bfe",
       [=] {
         return Make(kind, {kind, "count", "count"},
                     [=](In in) { return Extract(kind, in[0], in[1], in[2]); });
       }},
      {"bfi",
       [=] {
         return Make(kind, {kind, kind, "count", "count"}, [=](In in) {
           return Insert(bits, in[0], in[1], in[2], in[3]);
         });
       }},
      {"szext",
       [=] {
         return Make(kind, {kind, "count"},
                     [=](In in) { return Extend(words, in[0], in[1]); });
       }},
      {"bmsk",
       [=] {
         return Make(kind, {"count", "count"},
                     [=](In in) { return BitMask(words, in[0], in[1]); });
       }},
      {"prmt",
       [=] {
         return Make(kind, {kind, kind, kind}, [=](In in) {
           return Permute(words, in[0], in[1], in[2]);
         });
       }},
      {"shf",
       [=] {
         return Make(kind, {kind, kind, "count"},
                     [=](In in) { return Funnel(words, in[0], in[1], in[2]); });
       }},
      {"dp4a",
       [=] {
         const bool sign = words.Type(0) == "s32" || words.Type(1) == "s32";
         return Make(sign ? "s32" : "u32",
                     {words.Type(0), words.Type(1), sign ? "s32" : "u32"},
                     [=](In in) { return Dot(words, in); });
       }},
      {"and",
       [=] {
         return Make(kind, {kind, kind}, [](In in) { return in[0] & in[1]; });
       }},
      {"or",
       [=] {
         return Make(kind, {kind, kind}, [](In in) { return in[0] | in[1]; });
       }},
      {"xor",
       [=] {
         return Make(kind, {kind, kind}, [](In in) { return in[0] ^ in[1]; });
       }},
      {"not", [=] { return Make(kind, {kind}, [](In in) { return ~in[0]; }); }},
      {"cnot",
       [=] {
         return Make(kind, {kind}, [](In in) { return uint64_t{in[0] == 0}; });
       }},
      {"shl",
       [=] {
         return Make(kind, {kind, "count"},
                     [=](In in) { return Shift(words, in[0], in[1]); });
       }},
  };
  if (opcode == "lop3") return LogicByTable(words);
  const auto found = operations.find(opcode == "shr"    ? "shl"
                                     : opcode == "dp2a" ? "dp4a"
                                                        : opcode);
  if (found == operations.end()) return {};
  return {found->second()};
}

}  // namespace holdfast::forms
