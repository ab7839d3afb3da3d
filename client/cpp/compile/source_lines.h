// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_SOURCE_LINES_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_SOURCE_LINES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// These functions keep the sources that this process has compiled last, so that
// a fault's report can quote a line of them. Thread-safe.

// Keeps a source under its name, such as "put.cu". Drops the oldest sources
// when all sources together exceed 4 MiB. Ignores a source of more than 1 MiB.
void NoteSource(absl::string_view name, absl::string_view text);

// Returns the text of the line at `place`, such as "put.cu:3", without the
// whitespace around it. Reads the sources that have this file name and contain
// the name of `kernel`. Returns "" if there is no such source, if one of them
// does not have the line, or if two of them differ in it.
std::string SourceLineAt(absl::string_view place, absl::string_view kernel);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_SOURCE_LINES_H_
