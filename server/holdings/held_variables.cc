// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/held_variables.h"

#include <sys/stat.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/journal/saved_variables.h"

namespace holdfast {

absl::Status HeldVariables::Hold(UniqueFd memory) {
  struct stat info {};
  if (!IsSealed(memory.get()) || fstat(memory.get(), &info) != 0) {
    return absl::InvalidArgumentError("saved variables are no sealed memfd");
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > kMaxSavedVariablesBytes) {
    return absl::InvalidArgumentError(absl::StrCat("saved variables of ", size,
                                                   " bytes; the limit is ",
                                                   kMaxSavedVariablesBytes));
  }
  Drop();
  HOLDFAST_ASSIGN_OR_RETURN(charge_, host_.Take(size));
  kept_memory_ = kept_.Keep("variables", {}, memory.get());
  memory_ = std::move(memory);
  return absl::OkStatus();
}

void HeldVariables::Drop() {
  kept_memory_ = {};
  memory_.Reset();
  charge_ = Charge();
}

}  // namespace holdfast
