// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILE_KEY_H_
#define HOLDFAST_SERVER_COMPILE_COMPILE_KEY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast {

// Returns the key of a compilation in the cache: 32 bytes, the SHA-256 over
// everything that determines its result. `compiler` is the identity of the
// compiler; `request` has target and arch. Every field counts, also the
// source's name, which messages and PTX may contain, and the order of options,
// which may matter to the compiler. The order of headers in the map does not
// count.
std::string CompileKey(absl::string_view compiler,
                       const v1::CompileRequest& request);

// The same for a link, with all inputs of `request.inputs` in order, by their
// hashes and formats. REQUIRES: no input has data.
std::string LinkKey(absl::string_view compiler, const v1::LinkRequest& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_KEY_H_
