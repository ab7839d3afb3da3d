// SPDX-License-Identifier: Apache-2.0
//
// Numbers of 128 bits in memory, and atomic operations on several numbers.
#include <algorithm>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

// The space in the address's register, or generic addresses of two spaces.
std::vector<std::string> PlacesOf(const Words& words) {
  if (words.Has("global")) return {"global"};
  if (words.Has("shared") || words.Has("shared::cta")) return {"shared"};
  if (words.Has("v2") || words.Has("v4") || words.Has("v8")) {
    return {"gglobal"};
  }
  return {"gglobal", "gshared"};
}

std::string Fill(const std::string& place) {
  return "st.b64 [%" + place + "], S0;\nst.b64 [%" + place + "+8], S1;\n";
}

std::string Look(const std::string& place, const std::string& low,
                 const std::string& high) {
  return "ld.b64 " + low + ", [%" + place + "];\nld.b64 " + high + ", [%" +
         place + "+8];\n";
}

// The generic register of the same place.
std::string Generic(const std::string& place) {
  return place[0] == 'g' && place != "global" ? place : "g" + place;
}

Operation Of128(const Words& words, const std::string& place) {
  const bool swaps = words.Has("cas"), loads = words.opcode() == "ld";
  const bool stores = words.opcode() == "st";
  const std::string at = "[%" + place + "]", there = Generic(place);
  Operation operation;
  operation.sources.assign(4, "b64");
  operation.results.assign(loads || stores ? 2 : 4, "b64");
  operation.code = Fill(there);
  if (loads) {
    operation.code += "$ W0, " + at + ";\nmov.b128 {D0, D1}, W0;\n";
    operation.compute = [](const Sources& in) { return in; };
  } else if (stores) {
    operation.code +=
        "mov.b128 W0, {S2, S3};\n$ " + at + ", W0;\n" + Look(there, "D0", "D1");
    operation.compute = [](const Sources& in) { return Results{in[2], in[3]}; };
  } else if (!swaps) {
    operation.code += "mov.b128 W1, {S2, S3};\n$ W0, " + at +
                      ", W1;\nmov.b128 {D0, D1}, W0;\n" +
                      Look(there, "D2", "D3");
    operation.compute = [](const Sources& in) { return in; };
  } else {
    // The comparison succeeds if sources 1 and 2 are the same.
    operation.code += "mov.b128 W0, {S0, S2};\nmov.b128 W1, {S3, S0};\n$ W0, " +
                      at + ", W0, W1;\nmov.b128 {D0, D1}, W0;\n" +
                      Look(there, "D2", "D3");
    operation.compute = [](const Sources& in) {
      const bool same = in[1] == in[2];
      return Results{in[0], in[1], same ? in[3] : in[0], same ? in[0] : in[1]};
    };
  }
  return operation;
}

// A vector as words of 32 bits, a number or two in each; the operand is what
// memory holds, turned by a word.
struct Vector {
  Kind element, word;
  size_t count, words;

  explicit Vector(const Words& spelling) : element(spelling.Type()) {
    word = element == "f16" || element == "bf16" ? element + "x2" : element;
    count = spelling.Has("v2") ? 2 : spelling.Has("v4") ? 4 : 8;
    words = count * static_cast<size_t>(BitsOf(element)) / 32;
  }
  size_t sources() const { return std::max<size_t>(2, words); }
  bool halves() const { return word != element; }

  std::string Numbers(const std::string& stem) const {
    std::string list = "{";
    for (size_t i = 0; i < count; ++i) {
      list += (i == 0 ? "" : ", ") + stem + std::to_string(i);
    }
    return list + "}";
  }
  // One word of a vector register, from or to a register.
  std::string Part(const std::string& stem, size_t i) const {
    if (!halves()) return stem + std::to_string(i);
    return "{" + stem + std::to_string(2 * i) + ", " + stem +
           std::to_string(2 * i + 1) + "}";
  }
};

Operation OfVector(const Words& words, const std::string& place, bool old) {
  const Vector vector(words);
  Operation operation;
  operation.sources.assign(vector.sources(), vector.word);
  operation.results.assign(vector.words, vector.word);
  std::string code = std::string(".reg .b") + (vector.halves() ? "16" : "32") +
                     " %a<8>, %o<8>;\n";
  std::string after;
  for (size_t i = 0; i < vector.words; ++i) {
    const std::string n = std::to_string(i), at = std::to_string(4 * i) + "]";
    code += "st.b32 [%gglobal+" + at + ", S" + n + ";\nmov.b32 " +
            vector.Part("%a", i) + ", S" +
            std::to_string((i + 1) % vector.sources()) + ";\n";
    after += old ? "mov.b32 D" + n + ", " + vector.Part("%o", i) + ";\n"
                 : "ld.b32 D" + n + ", [%gglobal+" + at + ";\n";
  }
  operation.code =
      code + "$ " +
      (words.opcode() == "atom" ? vector.Numbers("%o") + ", " : "") + "[%" +
      place + "], " + vector.Numbers("%a") + ";\n" + after;
  const std::string name = words.OneOf({"add", "min", "max"});
  const auto combine =
      Describe(name + (name == "add" ? ".rn." : ".") + vector.word)[0].compute;
  operation.compute = [=](const Sources& in) {
    Results out = {};
    for (size_t i = 0; i < vector.words; ++i) {
      out[i] =
          old ? in[i] : combine({in[i], in[(i + 1) % vector.sources()]})[0];
    }
    return out;
  };
  if (vector.element != "f32") return operation;
  // Memory may flush what is subnormal.
  operation.open = [compute = operation.compute](const Sources& in) {
    const Results sums = compute(in);
    auto subnormal = [](uint64_t bits) { return IsSubnormal("f32", bits); };
    return std::any_of(in.begin(), in.end(), subnormal) ||
           std::any_of(sums.begin(), sums.end(), subnormal);
  };
  return operation;
}

}  // namespace

std::vector<Operation> DescribeWide(const Words& words) {
  const std::string& opcode = words.opcode();
  const bool atomic = opcode == "atom" || opcode == "red";
  std::vector<Operation> list;
  if (words.Has("b128") && (atomic || opcode == "ld" || opcode == "st")) {
    for (const std::string& place : PlacesOf(words)) {
      list.push_back(Of128(words, place));
    }
  } else if (atomic && !words.OneOf({"v2", "v4", "v8"}).empty()) {
    for (const std::string& place : PlacesOf(words)) {
      list.push_back(OfVector(words, place, false));
      if (opcode == "atom") list.push_back(OfVector(words, place, true));
    }
  }
  return list;
}

}  // namespace holdfast::forms
