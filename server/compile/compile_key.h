// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILE_KEY_H_
#define HOLDFAST_SERVER_COMPILE_COMPILE_KEY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast {

// Returns the key of a compilation in the cache: 32 bytes, the SHA-256 of
// everything that determines the result. `compiler` is the identity of the
// compiler (server/compile/installation.h). Every field of `request` counts,
// also the source's name, which messages and PTX may contain, and the order of
// options, which may matter to the compiler. The order of headers in the map
// does not count. REQUIRES: `request` has target and arch.
std::string CompileKey(absl::string_view compiler,
                       const v1::CompileRequest& request);

// Returns the key of a link. The inputs count in their order, by their hashes
// and formats. REQUIRES: no input has data: LinkJob::request() is such a
// request.
std::string LinkKey(absl::string_view compiler, const v1::LinkRequest& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_KEY_H_
