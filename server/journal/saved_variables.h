// SPDX-License-Identifier: Apache-2.0
//
// Bounds of the variables that an executor saves for its successor (see
// SavedVariables in executor.proto). The executor that writes the variables,
// the daemon that keeps them and the executor that reads them enforce the same
// bounds.
#ifndef HOLDFAST_SERVER_JOURNAL_SAVED_VARIABLES_H_
#define HOLDFAST_SERVER_JOURNAL_SAVED_VARIABLES_H_

#include <cstdint>

namespace holdfast {

// The most bytes of the values of all variables of a session.
inline constexpr uint64_t kMaxVariableBytes = uint64_t{64} << 20;
// The most bytes of the message: values, names and their encoding.
inline constexpr uint64_t kMaxSavedVariablesBytes = uint64_t{80} << 20;

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_JOURNAL_SAVED_VARIABLES_H_
