// SPDX-License-Identifier: Apache-2.0
//
// The typed part of an absl::Status: which call of the driver or compiler
// failed, and how. It travels as a payload of the status, so that every
// function in between keeps it without knowing it.
#ifndef HOLDFAST_CORE_BASE_ERROR_DETAIL_H_
#define HOLDFAST_CORE_BASE_ERROR_DETAIL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// Field for field what holdfast.v1.ErrorDetail says.
struct ErrorDetail {
  std::string call;         // "cuMemCreate"; empty: Holdfast refused itself
  int32_t result = 0;       // CUresult or nvrtcResult
  std::string result_name;  // "CUDA_ERROR_OUT_OF_MEMORY"
  std::string explanation;  // one sentence
  std::string log;          // the compiler's or linker's whole log
  bool session_lost = false;
  uint64_t handle = 0;  // that the failure is about; 0: none
  // Ids that lead to the node of a graph that the failure is about, outermost
  // first.
  std::vector<uint32_t> graph_node;
  std::string graph_update_result;  // a CUgraphExecUpdateResult, by name

  bool operator==(const ErrorDetail&) const = default;
};

// Replaces the detail of `status`; no effect on an OK status.
void SetErrorDetail(const ErrorDetail& detail, absl::Status* status);

// nullopt if the status has none, or one that is not well formed.
std::optional<ErrorDetail> GetErrorDetail(const absl::Status& status);

// The same code and detail with `prefix` and ": " before the message.
absl::Status WithPrefix(absl::string_view prefix, const absl::Status& status);

// The same for a failure at a node of a graph: `path` ("node 7, branch 0, node
// 3") is put before the message, and the `ids` that lead to the node are added
// to the detail. Without ids the status is returned as it is.
absl::Status AtGraphNode(absl::string_view path, std::span<const uint32_t> ids,
                         const absl::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_ERROR_DETAIL_H_
