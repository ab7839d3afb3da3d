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

// The words of a spelling such as "setp.lt.and.f32".
class Words {
 public:
  explicit Words(const std::string& spelling);

  const std::string& opcode() const { return words_[0]; }
  bool Has(const std::string& word) const;
  // Returns the first word that is among `candidates`; "" if there is none.
  std::string OneOf(const std::vector<std::string>& candidates) const;
  // Returns all words that are among `candidates`, in their order.
  std::vector<std::string> AllOf(
      const std::vector<std::string>& candidates) const;
  Kind Type(size_t index = 0) const;  // "": there are fewer types
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
  // The exact value and the largest allowed error of a result, or of one half
  // of a packed result. An infinite error allows any number.
  struct Bound {
    long double exact;
    long double error;
  };
  std::function<std::vector<Bound>(const Sources&)> bounds;
};

// The number of threads of a block in which threads have different inputs.
inline constexpr size_t kBlockThreads = 128;

// The results of each thread; nullopt where PTX does not define them.
using Outcomes = std::vector<std::optional<Results>>;

struct Operation {
  std::vector<Kind> results;
  std::vector<Kind> sources;
  // Lines of PTX with D0, D1, S0, S1, ... for the operands; empty: the
  // spelling with all operands. %global, %shared and %local are the addresses
  // of 16 bytes that each thread has in this space; %gglobal and so on are
  // generic addresses. %lane and %thread are the thread's numbers in its warp
  // and block; %t0 to %t2, %u0, %u1, %q0, %q1 and %mask are free registers.
  // Labels are local to the case.
  std::string code;
  std::function<Results(const Sources&)> compute;  // unless approximate
  std::optional<Approximation> approximation;
  // Returns true for inputs for which PTX does not define the result; null: PTX
  // defines all results.
  std::function<bool(const Sources&)> open;

  // Replaces `compute` for operations of several threads: returns the results
  // of `group` neighbouring threads, a warp or a block, from their sources.
  size_t group = 1;
  std::function<Outcomes(const std::vector<Sources>&)> together;
  // Text of the module in front of the kernels.
  std::string declarations;
  std::string target = "sm_90";
  // The operation needs a kernel of its own, because threads end in it.
  bool alone = false;
};

// Returns the operations with which a spelled form is tested: one, or one for
// each constant operand. Empty: there is no oracle for the form.
std::vector<Operation> Describe(const std::string& spelling);

// Each returns the operations for one family of opcodes; empty for other
// opcodes.
std::vector<Operation> DescribeInteger(const Words& words);
std::vector<Operation> DescribeBits(const Words& words);
std::vector<Operation> DescribeCarry(const Words& words);
std::vector<Operation> DescribeFloat(const Words& words);
std::vector<Operation> DescribeApproximation(const Words& words);
std::vector<Operation> DescribeComparison(const Words& words);
std::vector<Operation> DescribeMovement(const Words& words);
std::vector<Operation> DescribeConversion(const Words& words);
std::vector<Operation> DescribeVideo(const Words& words);
std::vector<Operation> DescribeScalarVideo(const Words& words);
std::vector<Operation> DescribeMemory(const Words& words);
std::vector<Operation> DescribeWide(const Words& words);
std::vector<Operation> DescribeMatrix(const Words& words);
std::vector<Operation> DescribeTile(const Words& words);
std::vector<Operation> DescribeWarp(const Words& words);
std::vector<Operation> DescribeBarrier(const Words& words);
std::vector<Operation> DescribeFlow(const Words& words);
std::vector<Operation> DescribeBulk(const Words& words);
std::vector<Operation> DescribeAsync(const Words& words);
std::vector<Operation> DescribeOrder(const Words& words);

// Returns an operation that applies `half` to each half of packed operands.
Operation Packed(const Kind& kind, size_t sources,
                 const std::function<uint64_t(const Sources&)>& half);

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_OPERATION_H_
