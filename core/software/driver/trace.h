// SPDX-License-Identifier: Apache-2.0
//
// Prints the driver's messages: one line per event, to stderr.
//
// The Abseil archives of the distribution are not built for shared libraries:
// code that has thread-local variables or names stderr (locks, time,
// formatting, status, hash maps) cannot be linked into one. So this library
// uses only Abseil's strings, and no part of core/base that needs more.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_TRACE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_TRACE_H_

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace holdfast::software {

// Writes one line; the lines of several threads never mix. Thread-safe.
void PrintLine(absl::string_view text);

// Prints the arguments, joined as by absl::StrCat, as one line.
template <typename... Args>
void Print(const Args&... args) {
  PrintLine(absl::StrCat("holdfast software driver: ", args..., "\n"));
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_TRACE_H_
