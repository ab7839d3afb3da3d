// SPDX-License-Identifier: Apache-2.0
//
// The typed part of an absl::Status: which call of the driver or compiler
// failed, and how. It is a payload of the status, so functions that pass the
// status on keep it without reading it.
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

// The fields are those of holdfast.v1.ErrorDetail.
struct ErrorDetail {
  std::string call;         // "cuMemCreate"; empty: refused by Holdfast itself
  int32_t result = 0;       // CUresult or nvrtcResult
  std::string result_name;  // "CUDA_ERROR_OUT_OF_MEMORY"
  std::string explanation;  // one sentence
  std::string log;          // the compiler's or linker's whole log
  bool session_lost = false;
  uint64_t handle = 0;  // of the failed resource; 0: none
  // The ids on the path to the failed node of a graph, outermost first.
  std::vector<uint32_t> graph_node;
  std::string graph_update_result;  // a CUgraphExecUpdateResult, by name

  bool operator==(const ErrorDetail&) const = default;
};

// Sets the detail of `status`, in place of an earlier detail. No effect on an
// OK status.
void SetErrorDetail(const ErrorDetail& detail, absl::Status* status);

// Returns nullopt if the status has no detail, or a malformed one.
std::optional<ErrorDetail> GetErrorDetail(const absl::Status& status);

// Returns the status with `prefix` and ": " before its message. Keeps the code
// and the payloads. Returns an OK status unchanged.
absl::Status WithPrefix(absl::string_view prefix, const absl::Status& status);

// Returns the status of a failure at a node of a graph: adds `path` ("node 7,
// branch 0, node 3") before the message, and the `ids` on the path to the
// detail. Without ids, returns the status unchanged.
absl::Status AtGraphNode(absl::string_view path, std::span<const uint32_t> ids,
                         const absl::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_ERROR_DETAIL_H_
