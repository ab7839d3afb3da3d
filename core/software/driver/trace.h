// SPDX-License-Identifier: Apache-2.0
//
// The driver's only words to people: one line an event, to stderr.
//
// The Abseil archives of the distribution are not made for shared libraries:
// what has thread-local variables or names stderr (locks, time, formatting,
// status, hash maps) cannot be linked into one. So this library uses only
// Abseil's strings, and none of core/base that needs more.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_TRACE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_TRACE_H_

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace holdfast::software {

// Thread-safe; lines never mix.
void PrintLine(absl::string_view text);

// Joins the arguments as absl::StrCat does.
template <typename... Args>
void Print(const Args&... args) {
  PrintLine(absl::StrCat("holdfast software driver: ", args..., "\n"));
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_TRACE_H_
