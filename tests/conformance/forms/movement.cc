// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

Operation Copy(const Kind& kind) {
  Operation operation;
  operation.results = {kind};
  operation.sources = {kind};
  operation.compute = [](const Sources& in) { return Results{in[0]}; };
  return operation;
}

std::string List(char letter, size_t count) {
  std::string list = "{";
  for (size_t i = 0; i < count; ++i) {
    list += (i == 0 ? "" : ", ") + (letter + std::to_string(i));
  }
  return list + "}";
}

// mov.b64 D0, {S0, S1} and the reverse.
std::vector<Operation> Pack(const Kind& whole, size_t count) {
  const int each = BitsOf(whole) / static_cast<int>(count);
  const Kind part = "b" + std::to_string(each);
  Operation pack;
  pack.results = {whole};
  pack.sources.assign(count, part);
  pack.code = "$ D0, " + List('S', count) + ";\n";
  pack.compute = [=](const Sources& in) {
    Results out = {};
    for (size_t i = 0; i < count; ++i) {
      out[0] |= (in[i] & Mask(each)) << (each * i);
    }
    return out;
  };
  Operation unpack;
  unpack.results.assign(count, part);
  unpack.sources = {whole};
  unpack.code = "$ " + List('D', count) + ", S0;\n";
  unpack.compute = [=](const Sources& in) {
    Results out = {};
    for (size_t i = 0; i < count; ++i) {
      out[i] = in[0] >> (each * i) & Mask(each);
    }
    return out;
  };
  return {pack, unpack};
}

// Two or four numbers through a 128-bit register.
Operation Through128(size_t count) {
  const Kind part = count == 2 ? "b64" : "b32";
  Operation operation;
  operation.results.assign(count, part);
  operation.sources.assign(count, part);
  operation.code = "mov.b128 W0, " + List('S', count) +
                   ";\nmov.b128 W1, W0;\nmov.b128 " + List('D', count) +
                   ", W1;\n";
  operation.compute = [](const Sources& in) { return in; };
  return operation;
}

}  // namespace

std::vector<Operation> DescribeMovement(const Words& words) {
  if (words.opcode() != "mov") return {};
  const Kind kind = words.Type();
  if (kind == "b128") return {Through128(2), Through128(4)};
  std::vector<Operation> operations = {Copy(kind)};
  auto add = [&](size_t count) {
    for (const Operation& operation : Pack(kind, count)) {
      operations.push_back(operation);
    }
  };
  if (kind == "b16" || kind == "b32" || kind == "b64") add(2);
  if (kind == "b32" || kind == "b64") add(4);
  return operations;
}

}  // namespace holdfast::forms
