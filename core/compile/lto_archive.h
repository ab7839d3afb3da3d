// SPDX-License-Identifier: Apache-2.0
//
// Several pieces of LTO IR as one object, an ar archive: nvJitLink 13.0 cannot
// link LTO IR to LTO IR. All functions here that accept LTO IR accept such an
// archive; other tools can unpack it with `ar x`.
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

// Returns `inputs` with each archive replaced by its pieces, "ab.ltoir(0)" and
// "ab.ltoir(1)". INVALID_ARGUMENT: an archive is truncated or malformed.
absl::StatusOr<std::vector<LinkInput>> WithLtoPieces(
    absl::Span<const LinkInput> inputs);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_LTO_ARCHIVE_H_
