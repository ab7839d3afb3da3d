// SPDX-License-Identifier: Apache-2.0
//
// Several pieces of LTO IR as one object: an ar archive of them, since
// nvJitLink 13.0 links LTO IR to code only. All that takes LTO IR here takes
// such an archive; `ar x` takes it apart for others.
#ifndef HOLDFAST_CORE_COMPILE_LTO_ARCHIVE_H_
#define HOLDFAST_CORE_COMPILE_LTO_ARCHIVE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// Returns the archive; a single piece is returned as it is. Equal pieces make
// equal bytes.
std::string MakeLtoArchive(absl::Span<const LinkInput> pieces);

// `inputs`, each archive of LTO IR as its pieces: "ab.ltoir(0)", "ab.ltoir(1)".
// INVALID_ARGUMENT: an archive is truncated or malformed.
absl::StatusOr<std::vector<LinkInput>> WithLtoPieces(
    absl::Span<const LinkInput> inputs);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_LTO_ARCHIVE_H_
