// SPDX-License-Identifier: Apache-2.0
//
// Video instructions of two halves or four bytes.
#include <algorithm>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

using Wide = __int128;

Wide Of(const std::string& operation, const std::string& comparison, Wide a,
        Wide b) {
  if (operation == "vadd") return a + b;
  if (operation == "vsub") return a - b;
  if (operation == "vmin") return std::min(a, b);
  if (operation == "vmax") return std::max(a, b);
  if (operation == "vabsdiff") return a < b ? b - a : a - b;
  if (operation == "vavrg") {
    // The mean, with halves away from zero.
    const Wide sum = a + b;
    return (sum + (sum < 0 ? -1 : 1)) / 2;
  }
  return comparison == "eq"   ? a == b
         : comparison == "ne" ? a != b
         : comparison == "lt" ? a < b
         : comparison == "le" ? a <= b
         : comparison == "gt" ? a > b
                              : a >= b;
}

}  // namespace

std::vector<Operation> DescribeVideo(const Words& words) {
  const std::string& opcode = words.opcode();
  if (opcode[0] != 'v' || words.types() < 2) return {};
  const bool compares = words.types() == 2;
  const std::string operation = opcode.substr(0, opcode.size() - 1);
  const std::string comparison =
      words.OneOf({"eq", "ne", "lt", "le", "gt", "ge"});
  const int bits = opcode.back() == '4' ? 8 : 16;
  const auto narrow = [&](size_t at) {
    return words.Type(at)[0] + std::to_string(bits);
  };
  const Kind to = compares ? "u" + std::to_string(bits) : narrow(0);
  const Kind a = narrow(compares ? 0 : 1), b = narrow(compares ? 1 : 2);
  const bool sat = words.Has("sat"), add = words.Has("add");
  Operation described;
  described.results = {"b32"};
  described.sources = {"b32", "b32", "b32"};
  described.compute = [=](const Sources& in) {
    Wide sum = static_cast<Wide>(in[2]);
    uint64_t parts = 0;
    for (int shift = 0; shift < 32; shift += bits) {
      Wide part = Of(operation, comparison, ToInteger(a, in[0] >> shift),
                     ToInteger(b, in[1] >> shift));
      if (sat) {
        const Wide low = IsSigned(to) ? -(Wide{1} << (bits - 1)) : 0;
        part = std::clamp(part, low, low + (Wide{1} << bits) - 1);
      }
      sum += part;
      parts |= Truncate(to, part) << shift;
    }
    return Results{add ? Truncate("u32", sum) : parts};
  };
  return {described};
}

}  // namespace holdfast::forms
