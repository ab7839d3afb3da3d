// SPDX-License-Identifier: Apache-2.0
//
// Files of code. The ending of a file's name determines its format.
#ifndef HOLDFAST_CLIENT_CLI_OBJECT_FILE_H_
#define HOLDFAST_CLIENT_CLI_OBJECT_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/connection/daemon.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast::cli {

// Returns "ptx", "cubin", "ltoir", "fatbin", "object" or "library"; "unknown"
// for other values.
absl::string_view FormatName(v1::ObjectFormat format);
// Returns the format of this name, or UNSPECIFIED if there is none.
v1::ObjectFormat FormatNamed(absl::string_view name);
// Returns the format by the ending of the path: .ptx, .cubin, .ltoir, .fatbin,
// .o or .a. Any other ending yields UNSPECIFIED.
v1::ObjectFormat FormatOfFile(absl::string_view path);

// Parses --target: "auto" (UNSPECIFIED), "ptx", "cubin" or "ltoir". If it is
// empty, the ending of `output` decides; without a file ("" or "-"), returns
// UNSPECIFIED.
absl::StatusOr<v1::ObjectFormat> ParseTarget(absl::string_view target,
                                             const std::string& output);

// Parses "c++", "ptx" or "nvvm". If `language` is empty, the ending of the path
// decides: .ptx is PTX, .ll and .bc are NVVM, and any other is C++.
absl::StatusOr<v1::SourceLanguage> ParseLanguage(absl::string_view language,
                                                 absl::string_view path);

// The use of an object: a device loads it, or it is linked.
enum class ObjectUse { kLoad, kLink };

// Returns the endings of the files for a use, for help texts. kLoad includes
// .cu.
absl::string_view EndingsFor(ObjectUse use);

// Puts an object of the command line into the daemon's store: "FILE" or
// "FORMAT:FILE". "sha256:HEX" names an object that should be in the store
// already; this is not checked. Returns a usage error if objects of this format
// are not for `use`.
absl::StatusOr<ObjectCode> PutObjectFile(Daemon& daemon,
                                         const std::string& argument,
                                         ObjectUse use);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_OBJECT_FILE_H_
