// SPDX-License-Identifier: Apache-2.0
//
// Early return on a failed absl::Status or absl::StatusOr:
//
//   HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
//   HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
#ifndef HOLDFAST_CORE_BASE_STATUS_MACROS_H_
#define HOLDFAST_CORE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define HOLDFAST_RETURN_IF_ERROR(expression)            \
  do {                                                  \
    if (::absl::Status holdfast_status_ = (expression); \
        !holdfast_status_.ok()) {                       \
      return holdfast_status_;                          \
    }                                                   \
  } while (false)

// `target` is a declaration or an existing variable. Wrap an expression that
// has commas outside parentheses in parentheses.
#define HOLDFAST_ASSIGN_OR_RETURN(target, expression) \
  HOLDFAST_ASSIGN_OR_RETURN_(                         \
      HOLDFAST_MACRO_JOIN_(holdfast_statusor_, __LINE__), target, expression)

#define HOLDFAST_ASSIGN_OR_RETURN_(result, target, expression) \
  auto result = (expression);                                  \
  if (!result.ok()) return std::move(result).status();         \
  target = *std::move(result)

#define HOLDFAST_MACRO_JOIN_(a, b) HOLDFAST_MACRO_JOIN2_(a, b)
#define HOLDFAST_MACRO_JOIN2_(a, b) a##b

#endif  // HOLDFAST_CORE_BASE_STATUS_MACROS_H_
