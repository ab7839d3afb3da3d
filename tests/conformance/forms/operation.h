// SPDX-License-Identifier: Apache-2.0
//
// The operands, results and meaning of a spelled instruction form.
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_OPERATION_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_OPERATION_H_

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/forms/value.h"

namespace holdfast::forms {

// "setp.lt.and.f32" in its words.
class Words {
 public:
  explicit Words(const std::string& spelling);

  const std::string& opcode() const { return words_[0]; }
  bool Has(const std::string& word) const;
  // The first of `candidates` that is there, or "".
  std::string OneOf(const std::vector<std::string>& candidates) const;
  Kind Type(size_t index = 0) const;  // "": none
  size_t types() const { return types_.size(); }
  Rounding FloatRounding() const;  // .rn if there is none

 private:
  std::vector<std::string> words_;
  std::vector<Kind> types_;
};

using Sources = std::array<uint64_t, 4>;
using Results = std::array<uint64_t, 4>;

// The allowed error of an approximation.
struct Approximation {
  // By half of a packed result, else one: the exact value and the largest
  // permitted distance from it; infinite: any number will do.
  struct Bound {
    long double exact;
    long double error;
  };
  std::function<std::vector<Bound>(const Sources&)> bounds;
};

// Threads of a block, where not all have the same value.
inline constexpr size_t kBlockThreads = 128;

// By thread; none where PTX leaves the result open.
using Outcomes = std::vector<std::optional<Results>>;

struct Operation {
  std::vector<Kind> results;
  std::vector<Kind> sources;
  // Lines of PTX with D0, D1, S0, S1, ... for the operands; empty: the
  // spelling with all of them. %global, %shared and %local are the addresses
  // of 16 bytes that each thread has there, %gglobal and so on generic ones.
  // %lane and %thread say who one is in its warp and block; %t0 to %t2, %u0,
  // %u1, %q0, %q1 and %mask are free registers. Labels are the case's own.
  std::string code;
  std::function<Results(const Sources&)> compute;  // unless approximate
  std::optional<Approximation> approximation;
  // For inputs where PTX leaves the result open; null: nowhere.
  std::function<bool(const Sources&)> open;

  // Instead of `compute` where threads act together: the results of `group`
  // neighbours, a warp or a block, by what each has.
  size_t group = 1;
  std::function<Outcomes(const std::vector<Sources>&)> together;
  // Text of the module in front of the kernels.
  std::string declarations;
  std::string target = "sm_90";
  // Not in one kernel with others, since threads end in it.
  bool alone = false;
};

// All the operations that one spelled form is tried with: one, or one a
// constant operand. Empty: there is no oracle for it.
std::vector<Operation> Describe(const std::string& spelling);

// By family; each answers for the opcodes that it knows.
std::vector<Operation> DescribeInteger(const Words& words);
std::vector<Operation> DescribeBits(const Words& words);
std::vector<Operation> DescribeCarry(const Words& words);
std::vector<Operation> DescribeFloat(const Words& words);
std::vector<Operation> DescribeApproximation(const Words& words);
std::vector<Operation> DescribeComparison(const Words& words);
std::vector<Operation> DescribeMovement(const Words& words);
std::vector<Operation> DescribeConversion(const Words& words);
std::vector<Operation> DescribeVideo(const Words& words);
std::vector<Operation> DescribeMemory(const Words& words);
std::vector<Operation> DescribeWide(const Words& words);
std::vector<Operation> DescribeWarp(const Words& words);
std::vector<Operation> DescribeBarrier(const Words& words);
std::vector<Operation> DescribeFlow(const Words& words);
std::vector<Operation> DescribeBulk(const Words& words);
std::vector<Operation> DescribeAsync(const Words& words);
std::vector<Operation> DescribeOrder(const Words& words);

// A scalar function applied to both halves of packed operands.
Operation Packed(const Kind& kind, size_t sources,
                 const std::function<uint64_t(const Sources&)>& half);

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_OPERATION_H_
