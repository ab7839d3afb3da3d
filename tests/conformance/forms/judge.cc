// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forms/judge.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace holdfast::forms {
namespace {

std::string Hex(uint64_t bits) { return absl::StrCat(absl::Hex(bits)); }

// The required results of a case, by input.
class Oracle {
 public:
  Oracle(const Case& one, const std::vector<Sources>& inputs)
      : operation_(one.operation), inputs_(inputs) {
    if (!operation_.together) return;
    const size_t group = operation_.group;
    for (auto in = inputs.begin(); in != inputs.end();) {
      const auto next = in + static_cast<ptrdiff_t>(group);
      for (const auto& outcome : operation_.together({in, next})) {
        outcomes_.push_back(outcome);
      }
      in = next;
    }
  }

  bool Open(size_t input) const {
    if (operation_.together) return !outcomes_[input].has_value();
    return operation_.open && operation_.open(inputs_[input]);
  }
  Results Expected(size_t input) const {
    if (operation_.together) return outcomes_[input].value_or(Results{});
    return operation_.compute(inputs_[input]);
  }

 private:
  const Operation& operation_;
  const std::vector<Sources>& inputs_;
  Outcomes outcomes_;
};

uint64_t ResultOf(const Case& one, const CaseOutput& output, size_t result,
                  size_t input) {
  return Canonical(one.operation.results[result], output[result][input]);
}

// The parts of an approximate result: one number, or two halves.
std::vector<std::pair<Kind, uint64_t>> PartsOf(const Kind& kind,
                                               uint64_t bits) {
  const Kind half = HalfOf(kind);
  if (half.empty()) return {{kind, bits}};
  return {{half, bits & 0xFFFF}, {half, bits >> 16 & 0xFFFF}};
}

bool Near(const Kind& kind, uint64_t bits, const Approximation::Bound& bound) {
  const long double value = Decode(kind, bits);
  if (std::isnan(bound.exact)) return std::isnan(value);
  if (std::isinf(bound.error)) return true;
  if (std::isnan(value)) return false;
  if (value == bound.exact) return true;
  const long double largest = Decode(kind, Largest(kind));
  if (std::isinf(bound.exact) || std::isinf(value)) {
    // Next to the largest number, infinity is one place away.
    return std::fabs(value) >= largest * 0.9999L &&
           std::fabs(bound.exact) >= largest * 0.9999L &&
           std::signbit(value) == std::signbit(bound.exact);
  }
  return std::fabs(value - bound.exact) <= bound.error;
}

bool IsNear(const Case& one, const Sources& in, uint64_t bits) {
  const auto bounds = one.operation.approximation->bounds(in);
  const auto parts = PartsOf(one.operation.results[0], bits);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!Near(parts[i].first, parts[i].second, bounds[i])) return false;
  }
  return true;
}

bool Agrees(const Case& one, const Oracle& oracle, const Sources& in,
            const CaseOutput& output, size_t input) {
  if (one.operation.approximation) return IsNear(one, in, output[0][input]);
  const Results expected = oracle.Expected(input);
  for (size_t r = 0; r < output.size(); ++r) {
    if (Canonical(one.operation.results[r], expected[r]) !=
        ResultOf(one, output, r, input)) {
      return false;
    }
  }
  return true;
}

// As far apart as one documented error on either side.
bool IsNearGolden(const Case& one, const Sources& in, uint64_t ours,
                  uint64_t gpus) {
  auto bounds = one.operation.approximation->bounds(in);
  const auto parts = PartsOf(one.operation.results[0], gpus);
  for (size_t i = 0; i < parts.size(); ++i) {
    const long double center = Decode(parts[i].first, parts[i].second);
    bounds[i].error *= 2;
    bounds[i].exact = center;
    const auto our = PartsOf(one.operation.results[0], ours)[i];
    if (!Near(our.first, our.second, bounds[i])) return false;
  }
  return true;
}

}  // namespace

std::vector<bool> OpenInputs(const Case& one,
                             const std::vector<Sources>& inputs) {
  const Oracle oracle(one, inputs);
  std::vector<bool> open;
  for (size_t i = 0; i < inputs.size(); ++i) open.push_back(oracle.Open(i));
  return open;
}

std::string Describe(const Case& one, const std::vector<Sources>& inputs,
                     const CaseOutput& output, size_t input) {
  const Sources& in = inputs[input];
  std::string text = one.name;
  if (one.operation.group > 1) {
    absl::StrAppend(&text, ", thread ", input % one.operation.group, ",");
  }
  for (size_t i = 0; i < one.operation.sources.size(); ++i) {
    absl::StrAppend(&text, " ", Hex(in[i]));
  }
  text += " gave";
  for (const auto& result : output) {
    absl::StrAppend(&text, " ", Hex(result[input]));
  }
  if (one.operation.approximation) {
    for (const auto& bound : one.operation.approximation->bounds(in)) {
      std::ostringstream number;
      number << ", exact " << std::hexfloat << bound.exact << " +- "
             << std::defaultfloat << static_cast<double>(bound.error);
      text += number.str();
    }
    return text;
  }
  text += ", not";
  const Results expected = Oracle(one, inputs).Expected(input);
  for (size_t r = 0; r < output.size(); ++r) {
    absl::StrAppend(&text, " ", Hex(expected[r]));
  }
  return text;
}

std::string AgainstOracle(const Case& one, const std::vector<Sources>& inputs,
                          const CaseOutput& output) {
  constexpr size_t kShown = 6;
  std::string text;
  size_t wrong = 0;
  const Oracle oracle(one, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (oracle.Open(i) || Agrees(one, oracle, inputs[i], output, i)) continue;
    if (++wrong <= kShown) {
      absl::StrAppend(&text, "  ", Describe(one, inputs, output, i), "\n");
    }
  }
  if (wrong == 0) return "";
  return absl::StrCat(one.name, ": ", wrong, " of ", inputs.size(), "\n", text);
}

Golden GoldenOf(const Case& one, const std::vector<Sources>& inputs,
                const CaseOutput& output) {
  Golden golden;
  uint64_t hash = 0xCBF29CE484222325;
  const Oracle oracle(one, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool open = oracle.Open(i);
    for (size_t r = 0; r < output.size(); ++r) {
      const uint64_t bits = open ? 0 : ResultOf(one, output, r, i);
      hash = (hash ^ bits) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 29;
    }
  }
  golden.hash = static_cast<uint32_t>(hash >> 32);
  if (one.operation.approximation) {
    for (size_t i = 0; i < std::min(kKept, inputs.size()); ++i) {
      golden.values.push_back(ResultOf(one, output, 0, i));
    }
  }
  return golden;
}

std::string AgainstGolden(const Case& one, const std::vector<Sources>& inputs,
                          const CaseOutput& output, const Golden& golden) {
  if (!one.operation.approximation) {
    return GoldenOf(one, inputs, output).hash == golden.hash
               ? ""
               : absl::StrCat(one.name, ": not what the GPU computed\n");
  }
  std::string text;
  for (size_t i = 0; i < golden.values.size(); ++i) {
    if (!IsNearGolden(one, inputs[i], output[0][i], golden.values[i])) {
      absl::StrAppend(&text, "  ", Describe(one, inputs, output, i),
                      "; the GPU ", Hex(golden.values[i]), "\n");
    }
  }
  return text;
}

Goldens ReadGoldens(const std::string& path) {
  Goldens goldens;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    Golden golden;
    if (!(words >> name >> std::hex >> golden.hash)) continue;
    for (uint64_t value; words >> value;) golden.values.push_back(value);
    goldens[name] = golden;
  }
  return goldens;
}

std::string LineOf(const std::string& name, const Golden& golden) {
  std::string line = absl::StrCat(name, " ", Hex(golden.hash));
  for (const uint64_t value : golden.values) {
    absl::StrAppend(&line, " ", Hex(value));
  }
  return line + "\n";
}

}  // namespace holdfast::forms
