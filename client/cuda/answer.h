// SPDX-License-Identifier: Apache-2.0
//
// Converts an absl::Status to the CUresult that is returned to the program.
#ifndef HOLDFAST_CLIENT_CUDA_ANSWER_H_
#define HOLDFAST_CLIENT_CUDA_ANSWER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda.h"

namespace holdfast::libcuda {

// Returns the driver's CUresult if the status has one, otherwise the closest
// CUresult. The error of a fault stays for the life of the process (LastFault),
// as in CUDA. Prints the status of that fault to stderr, and with
// HOLDFAST_CUDA_LOG=1 in the environment every status. Thread-safe.
CUresult Answer(const absl::Status& status);
inline CUresult Answer(CUresult result) { return result; }

// Returns the error of the fault that ended the session; CUDA_SUCCESS: none.
CUresult LastFault();

// Returns LastFault(). If there was a fault, logs that the program's context
// was lost by it. An entry point calls this first, and returns the error.
CUresult CheckNoFault();

// If `expression`, a Status or a StatusOr, is an error, these macros return
// Answer(error) from the calling function, whose result is a CUresult.
// HOLDFAST_ANSWER_OR_ASSIGN otherwise assigns the value to `target`.
#define HOLDFAST_ANSWER_IF_ERROR(expression)                   \
  do {                                                         \
    if (const ::absl::Status& holdfast_status_ = (expression); \
        !holdfast_status_.ok()) [[unlikely]] {                 \
      return ::holdfast::libcuda::Answer(holdfast_status_);    \
    }                                                          \
  } while (false)
#define HOLDFAST_ANSWER_OR_ASSIGN(target, expression) \
  HOLDFAST_ANSWER_OR_ASSIGN_2_(target, expression, __LINE__)
#define HOLDFAST_ANSWER_OR_ASSIGN_2_(target, expression, line) \
  HOLDFAST_ANSWER_OR_ASSIGN_3_(target, expression, line)
#define HOLDFAST_ANSWER_OR_ASSIGN_3_(target, expression, line)           \
  auto holdfast_result_##line = (expression);                            \
  if (!holdfast_result_##line.ok()) [[unlikely]] {                       \
    return ::holdfast::libcuda::Answer(holdfast_result_##line.status()); \
  }                                                                      \
  target = *std::move(holdfast_result_##line)

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_ANSWER_H_
