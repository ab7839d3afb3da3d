// SPDX-License-Identifier: Apache-2.0
//
// Files of code, and what their names say of them.
#ifndef HOLDFAST_CLIENT_CLI_OBJECT_FILE_H_
#define HOLDFAST_CLIENT_CLI_OBJECT_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/connection/daemon.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast::cli {

// "ptx", "cubin", "ltoir", "fatbin", "object", "library".
absl::string_view FormatName(v1::ObjectFormat format);
// UNSPECIFIED if there is none of this name.
v1::ObjectFormat FormatNamed(absl::string_view name);
// By the end of the path: .ptx .cubin .ltoir .fatbin .o .a. UNSPECIFIED: none
// of these.
v1::ObjectFormat FormatOfFile(absl::string_view path);

// --target: "auto" or "" (UNSPECIFIED), "ptx", "cubin", "ltoir"; without it,
// what `output` ends in.
absl::StatusOr<v1::ObjectFormat> ParseTarget(absl::string_view target,
                                             const std::string& output);

// "c++", "ptx", "nvvm"; without it by the end of the path: .ptx, .ll and .bc,
// and C++ for everything else.
absl::StatusOr<v1::SourceLanguage> ParseLanguage(absl::string_view language,
                                                 absl::string_view path);

// An object on the command line: "FILE", "FORMAT:FILE" or "sha256:HEX" for one
// that the daemon has. It is in the store then.
absl::StatusOr<ObjectCode> PutObjectFile(Daemon& daemon,
                                         const std::string& argument);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_OBJECT_FILE_H_
