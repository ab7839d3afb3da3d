// SPDX-License-Identifier: Apache-2.0
//
// Prints the driver's messages to stderr, one line for each event.
//
// The distribution does not build its Abseil archives for shared libraries.
// Code with thread-local variables, or that names stderr, cannot be linked into
// a shared library: locks, time, formatting, status and hash maps. So the
// driver uses only Abseil's strings, and no part of core/base that needs more.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_TRACE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_TRACE_H_

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace holdfast::software {

// Writes `text`, which ends with a newline, to stderr. The lines of several
// threads never mix. Ignores errors. Thread-safe.
void PrintLine(absl::string_view text);

// Prints the arguments, joined as by absl::StrCat, as one line with a prefix.
template <typename... Args>
void Print(const Args&... args) {
  PrintLine(absl::StrCat("holdfast software driver: ", args..., "\n"));
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_TRACE_H_
