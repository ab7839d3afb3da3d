// SPDX-License-Identifier: Apache-2.0
//
// Archives of LTO IR: an ar archive that holds several pieces of LTO IR as one
// object. It is the result of linking LTO IR to LTO IR, which nvJitLink 13.0
// cannot do. All functions of core/compile that accept LTO IR accept such an
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

// Returns the archive of `pieces`; if there is one piece, returns its bytes
// unchanged. The result depends only on the bytes of the pieces and their
// order.
std::string MakeLtoArchive(absl::Span<const LinkInput> pieces);

// Returns `inputs` with each archive replaced by its pieces. The pieces of
// "ab.ltoir" have the names "ab.ltoir(0)" and "ab.ltoir(1)", and refer to the
// archive's bytes. INVALID_ARGUMENT: an archive is truncated or malformed.
absl::StatusOr<std::vector<LinkInput>> WithLtoPieces(
    absl::Span<const LinkInput> inputs);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_LTO_ARCHIVE_H_
