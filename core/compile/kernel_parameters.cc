// SPDX-License-Identifier: Apache-2.0
#include "core/compile/kernel_parameters.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/compile/ptx_module.h"

namespace holdfast::compile {
namespace {

// Untyped bits (.b32) may be either kind.
ParameterKind KindOfType(absl::string_view word, ParameterKind otherwise) {
  if (word.size() < 3 || word[0] != '.' || word[2] < '0' || word[2] > '9') {
    return otherwise;
  }
  if (word[1] == 'f') return ParameterKind::kFloat;
  return word[1] == 'u' || word[1] == 's' ? ParameterKind::kInteger : otherwise;
}

// Reads the parameters in the head of a kernel: ".entry k(.param .u64 p, .param
// .align 4 .b8 q[8]) .maxntid 128".
std::vector<ParameterKind> ParametersInHead(absl::string_view head) {
  std::vector<ParameterKind> kinds;
  std::optional<ParameterKind> kind;  // of the parameter that is being read
  for (const absl::string_view word : PtxWords(head)) {
    if (word == ".param") {
      kind = ParameterKind::kOther;
    } else if (kind.has_value() && word == "[") {
      kind = ParameterKind::kOther;  // an array: a struct's bytes
    } else if (kind.has_value() && (word == "," || word == ")")) {
      kinds.push_back(*kind);
      kind.reset();
    } else if (kind.has_value()) {
      kind = KindOfType(word, *kind);
    }
    if (word == ")") break;
  }
  return kinds;
}

}  // namespace

KernelParameters ParametersInPtx(absl::string_view ptx) {
  KernelParameters kernels;
  const absl::StatusOr<PtxModule> module = PtxModule::Parse(ptx);
  if (!module.ok()) return kernels;
  for (const PtxStatement& statement : module->statements) {
    if (!statement.entry || !statement.defined) continue;
    kernels.emplace(std::string(statement.name),
                    ParametersInHead(statement.head));
  }
  return kernels;
}

}  // namespace holdfast::compile
