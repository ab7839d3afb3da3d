// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/fault_parser.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace holdfast::executor {
namespace {

// Returns what lies between the first `begin` and the next `end`; empty if
// either is missing.
absl::string_view Between(absl::string_view text, absl::string_view begin,
                          absl::string_view end) {
  const size_t at = text.find(begin);
  if (at == absl::string_view::npos) return "";
  text.remove_prefix(at + begin.size());
  const size_t length = text.find(end);
  if (length == absl::string_view::npos) return "";
  return text.substr(0, length);
}

bool ReadTriple(absl::string_view text, v1::Dim3* triple) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  uint32_t x = 0, y = 0, z = 0;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &x) ||
      !absl::SimpleAtoi(parts[1], &y) || !absl::SimpleAtoi(parts[2], &z)) {
    return false;
  }
  triple->set_x(x);
  triple->set_y(y);
  triple->set_z(z);
  return true;
}

// ", PTX line 12, saxpy.cu:3: st: why", of which the last file counts.
std::string SourceLine(absl::string_view text) {
  const absl::string_view line = Between(text, ", PTX line ", ": ");
  if (line.empty()) return "";
  const std::vector<std::string> parts =
      absl::StrSplit(line, absl::MaxSplits(", ", 1));
  return parts.size() == 2 ? parts[1] : absl::StrCat("PTX:", parts[0]);
}

}  // namespace

internal::Fault ParseFaultText(absl::string_view text) {
  internal::Fault fault;
  constexpr absl::string_view kKernel = "kernel ";
  const size_t block = text.find(", block (");
  const size_t kernel = text.substr(0, block).rfind(kKernel);
  if (block == absl::string_view::npos || kernel == absl::string_view::npos) {
    return fault;
  }
  const size_t name = kernel + kKernel.size();
  fault.set_kernel(std::string(text.substr(name, block - name)));
  const absl::string_view rest = text.substr(block);
  v1::Dim3 triple;
  if (ReadTriple(Between(rest, ", block (", ")"), &triple)) {
    *fault.mutable_block() = triple;
  }
  // "threads (0,0,0) to (31,0,0)" names no one thread.
  if (ReadTriple(Between(rest, ", thread (", ")"), &triple)) {
    *fault.mutable_thread() = triple;
  }
  fault.set_source_line(SourceLine(rest));
  return fault;
}

internal::Fault ParseAssertion(absl::string_view line) {
  internal::Fault fault;
  v1::Dim3 triple;
  if (ReadTriple(Between(line, ": block: [", "]"), &triple)) {
    *fault.mutable_block() = triple;
  }
  if (ReadTriple(Between(line, ", thread: [", "]"), &triple)) {
    *fault.mutable_thread() = triple;
  }
  fault.set_source_line(std::string(line.substr(0, line.find(": "))));
  return fault;
}

}  // namespace holdfast::executor
