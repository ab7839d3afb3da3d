// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/spaces.h"

namespace holdfast::software::jit {

using ptx::Modifier;
using ptx::Space;

Space SpaceOf(const ptx::Instruction& instruction) {
  const auto& words = instruction.modifiers;
  if (words.Has(Modifier::kGlobal)) return Space::kGlobal;
  if (words.Has(Modifier::kConst)) return Space::kConst;
  if (words.Has(Modifier::kShared) || words.Has(Modifier::kSharedCta)) {
    return Space::kShared;
  }
  if (words.Has(Modifier::kSharedCluster)) return Space::kSharedCluster;
  if (words.Has(Modifier::kLocal)) return Space::kLocal;
  if (words.Has(Modifier::kParam) || words.Has(Modifier::kParamEntry) ||
      words.Has(Modifier::kParamFunc)) {
    return Space::kParam;
  }
  return Space::kGeneric;
}

bool IsShared(Space space) {
  return space == Space::kShared || space == Space::kSharedCluster;
}

}  // namespace holdfast::software::jit
