// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILE_KEY_H_
#define HOLDFAST_SERVER_COMPILE_COMPILE_KEY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast {

// The key of a compilation or a link in the cache: 32 bytes, the SHA-256 over
// all that decides its outcome. `compiler` identifies the compiler itself
// (CompilerPool::Identity); `request` is complete, with target and arch. Every
// field counts, also the source's name, which messages and PTX may show; so
// does the order of options, which may matter to the compiler, while the order
// of headers in the map does not.
std::string CompileKey(absl::string_view compiler,
                       const v1::CompileRequest& request);

// The same for a link: all inputs in `request.inputs`, in order, by hash and
// with their formats. REQUIRES: no input has data.
std::string LinkKey(absl::string_view compiler, const v1::LinkRequest& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_KEY_H_
