// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/variable_names.h"

#include <elf.h>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "core/cuda/cubin_variables.h"
#include "core/cuda/ptx_variables.h"

namespace holdfast::cuda {
namespace {

bool IsCubin(absl::string_view image) {
  return absl::StartsWith(image, absl::string_view(ELFMAG, SELFMAG));
}

// Returns the text of PTX, which ends at the first zero, where drivers stop
// reading. Empty: the image is not PTX.
absl::string_view PtxIn(absl::string_view image) {
  const absl::string_view text = image.substr(0, image.find('\0'));
  return absl::StrContains(text, ".version") ? text : absl::string_view();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> VariableNames(
    absl::string_view image) {
  if (IsCubin(image)) return NamesInCubin(image);
  const absl::string_view ptx = PtxIn(image);
  if (!ptx.empty()) return NamesInPtx(ptx);
  return absl::UnimplementedError(
      "the variables of an image that is neither PTX nor a cubin");
}

absl::StatusOr<uint64_t> HiddenVariableBytes(absl::string_view image) {
  return HiddenBytesInPtx(PtxIn(image));
}

uint64_t CubinVariableBytes(absl::string_view image) {
  return IsCubin(image) ? VariableBytesInCubin(image) : 0;
}

}  // namespace holdfast::cuda
