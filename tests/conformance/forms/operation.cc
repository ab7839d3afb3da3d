// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forms/operation.h"

#include <algorithm>
#include <sstream>

namespace holdfast::forms {

Words::Words(const std::string& spelling) {
  std::istringstream text(spelling);
  for (std::string word; std::getline(text, word, '.');) {
    words_.push_back(word);
    if (words_.size() > 1 && IsKind(word)) types_.push_back(word);
  }
}

bool Words::Has(const std::string& word) const {
  return std::find(words_.begin(), words_.end(), word) != words_.end();
}

std::string Words::OneOf(const std::vector<std::string>& candidates) const {
  for (const std::string& word : words_) {
    if (std::find(candidates.begin(), candidates.end(), word) !=
        candidates.end()) {
      return word;
    }
  }
  return "";
}

std::vector<std::string> Words::AllOf(
    const std::vector<std::string>& candidates) const {
  std::vector<std::string> found;
  for (const std::string& word : words_) {
    if (std::find(candidates.begin(), candidates.end(), word) !=
        candidates.end()) {
      found.push_back(word);
    }
  }
  return found;
}

Kind Words::Type(size_t index) const {
  return index < types_.size() ? types_[index] : "";
}

Rounding Words::FloatRounding() const {
  return Has("rz")    ? Rounding::kZero
         : Has("rm")  ? Rounding::kDown
         : Has("rp")  ? Rounding::kUp
         : Has("rna") ? Rounding::kAway
                      : Rounding::kNearest;
}

std::vector<Operation> Describe(const std::string& spelling) {
  const Words words(spelling);
  for (const auto& family :
       {DescribeInteger, DescribeBits, DescribeCarry, DescribeFloat,
        DescribeApproximation, DescribeComparison, DescribeMovement,
        DescribeConversion, DescribeScalarVideo, DescribeVideo, DescribeWide,
        DescribeMemory, DescribeWarp, DescribeMatrix, DescribeBarrier,
        DescribeFlow, DescribeBulk, DescribeAsync, DescribeOrder}) {
    std::vector<Operation> operations = family(words);
    if (!operations.empty()) return operations;
  }
  return {};
}

Operation Packed(const Kind& kind, size_t sources,
                 const std::function<uint64_t(const Sources&)>& half) {
  Operation operation;
  operation.results = {kind};
  operation.sources.assign(sources, kind);
  operation.compute = [half](const Sources& in) {
    Results out = {};
    for (const int shift : {0, 16}) {
      Sources part = {};
      for (size_t i = 0; i < in.size(); ++i) part[i] = in[i] >> shift & 0xFFFF;
      out[0] |= half(part) << shift;
    }
    return out;
  };
  return operation;
}

}  // namespace holdfast::forms
