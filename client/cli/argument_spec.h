// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_ARGUMENT_SPEC_H_
#define HOLDFAST_CLIENT_CLI_ARGUMENT_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/element_type.h"
#include "client/cli/generated_array.h"
#include "client/cpp/argument.h"

namespace holdfast::cli {

// One ARG of `holdfast run`:
//
//   TYPE:VALUE               a scalar: f32:2, u64:50000, bool:true
//   raw:HEX                  a struct's bytes: raw:0000803f01000000
//   in:FILE.npy              a buffer with the array
//   in:arange:TYPE[N,..]     a buffer with 0, 1, 2, ...; also zeros and ones
//   out:FILE.npy:TYPE[N,..]  a buffer of zeros, written to the file afterwards
//   inout:FILE.npy:OUT.npy   a buffer with the array, written to OUT.npy
//                            afterwards; also
//                            inout:arange:TYPE[N,..]:OUT.npy
//   scratch:BYTES            a buffer of zeros
struct ArgumentSpec {
  enum class Kind { kScalar, kRaw, kBuffer };

  Kind kind = Kind::kScalar;
  ElementType type = ElementType::kU8;
  // kScalar, kRaw: the value.
  std::string bytes;
  // kBuffer: the source of the buffer's first values, and the file for its last
  // values. Empty: there is none.
  std::string input;
  std::string output;
  // kBuffer without input: elements of `type`.
  std::vector<uint64_t> shape;
  Elements elements = Elements::kZeros;

  // Parses an ARG. INVALID_ARGUMENT, as a UsageError: the message names the
  // argument and the expected form.
  static absl::StatusOr<ArgumentSpec> Parse(absl::string_view text);
};

// Returns a scalar or raw argument for a launch. REQUIRES: `spec` is no buffer,
// and outlives the result, which may refer to its bytes.
Argument ToArgument(const ArgumentSpec& spec);

// Parses 1 to `limit` numbers: "196", "196,2", "1,2,3". INVALID_ARGUMENT: the
// text is not such a list.
absl::StatusOr<std::vector<uint64_t>> ParseNumbers(absl::string_view text,
                                                   size_t limit);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_ARGUMENT_SPEC_H_
