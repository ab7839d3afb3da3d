// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/missing.h"

#include <algorithm>

namespace holdfast::software::ptx {
namespace {

constexpr absl::string_view kMatrices = "matrices of this kind";
constexpr absl::string_view kTextures = "textures";
constexpr absl::string_view kSurfaces = "surfaces";
constexpr absl::string_view kStack = "stack that grows while code runs";
constexpr absl::string_view kNewer =
    "instructions of compute capability 10 and above";

// An instruction with this opcode, and with this word among its modifiers. An
// empty string stands for any.
struct Missing {
  absl::string_view opcode;
  absl::string_view word;
  absl::string_view part;
};

constexpr Missing kMissing[] = {
    {"mma", "", kMatrices},
    {"ldmatrix", "", kMatrices},
    {"stmatrix", "", kMatrices},
    {"wgmma", "", "matrices of a warp group"},
    {"tensormap", "", "tensor maps"},
    {"prefetch", "tensormap", "tensor maps"},
    {"fence", "tensormap::generic", "tensor maps"},
    {"tcgen05", "", kNewer},
    {"clusterlaunchcontrol", "", kNewer},
    {"tex", "", kTextures},
    {"tld4", "", kTextures},
    {"txq", "", kTextures},
    {"istypep", "", kTextures},
    {"suld", "", kSurfaces},
    {"sust", "", kSurfaces},
    {"sured", "", kSurfaces},
    {"suq", "", kSurfaces},
    {"multimem", "", "multicast memory"},
    {"alloca", "", kStack},
    {"stacksave", "", kStack},
    {"stackrestore", "", kStack},
    {"fma", "oob", "fma.oob"},
    {"cp", "tensor", "tensor maps"},
    {"cp", "multicast::cluster", "bulk copies to several blocks"},
    {"cp", "cp_mask", kNewer},
    {"st", "bulk", kNewer},
    {"", "f32x2", kNewer},
    {"", "e2m1x2", kNewer},
    {"", "e2m3x2", kNewer},
    {"", "e3m2x2", kNewer},
    {"", "ue8m0x2", kNewer},
};

bool Fits(absl::string_view pattern, absl::string_view word) {
  return pattern.empty() || pattern == word;
}

}  // namespace

absl::string_view MissingPart(absl::string_view opcode,
                              absl::Span<const absl::string_view> words) {
  for (const Missing& missing : kMissing) {
    if (!Fits(missing.opcode, opcode)) continue;
    if (missing.word.empty() ||
        std::find(words.begin(), words.end(), missing.word) != words.end()) {
      return missing.part;
    }
  }
  return "";
}

}  // namespace holdfast::software::ptx
