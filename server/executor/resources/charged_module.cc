// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/charged_module.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/container.h"
#include "core/cuda/decompress.h"
#include "core/cuda/image.h"
#include "core/cuda/variable_names.h"
#include "server/account/quota.h"

namespace holdfast::executor {
namespace {

struct ChargedModule {
  Charge of_buffers;
  Charge reserved;
  std::shared_ptr<const cuda::Module> module;
};

// The variables of an image. It is not known which part of a fat binary the
// driver loads, so `names` has the names in all parts, and each number of bytes
// is that of the part with the most.
struct Variables {
  std::set<std::string> names;
  uint64_t hidden_bytes = 0;
  uint64_t cubin_bytes = 0;
};

absl::Status AddPart(absl::string_view part, Variables* variables) {
  const auto names = cuda::VariableNames(part);
  if (names.ok()) variables->names.insert(names->begin(), names->end());
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t hidden,
                            cuda::HiddenVariableBytes(part));
  variables->hidden_bytes = std::max(variables->hidden_bytes, hidden);
  variables->cubin_bytes =
      std::max(variables->cubin_bytes, cuda::CubinVariableBytes(part));
  return absl::OkStatus();
}

absl::StatusOr<Variables> VariablesIn(absl::string_view image) {
  Variables variables;
  const auto format = cuda::CheckImage(image);
  if (format.ok() && *format == cuda::ImageFormat::kFatbin) {
    absl::Status status;
    const cuda::FatbinState state =
        cuda::VisitFatbinParts(image, [&](absl::string_view part) {
          if (status.ok()) status = AddPart(part, &variables);
        });
    HOLDFAST_RETURN_IF_ERROR(status);
    if (state == cuda::FatbinState::kDamaged) {
      return absl::InvalidArgumentError(
          "the fat binary is damaged: one of its parts cannot be read");
    }
    if (state == cuda::FatbinState::kTooLarge) {
      return absl::InvalidArgumentError(
          absl::StrCat("the fat binary has a part of more than ",
                       cuda::kMaxDecompressed, " bytes, or parts of more than ",
                       cuda::kMaxFatbinBytes, " bytes in all"));
    }
  } else {
    HOLDFAST_RETURN_IF_ERROR(AddPart(image, &variables));
  }
  return variables;
}

// The driver knows the size of each variable with a name, however its
// dimensions are written. It has taken the memory by then.
uint64_t VariableBytes(const cuda::Module& module, const cuda::Context& context,
                       const Variables& variables) {
  uint64_t bytes = 0;
  for (const std::string& name : variables.names) {
    const auto global = module.FindGlobal(name, context);
    if (!global.ok()) continue;
    if (__builtin_add_overflow(bytes, global->size, &bytes)) return UINT64_MAX;
  }
  bytes = std::max(bytes, variables.cubin_bytes);
  if (__builtin_add_overflow(bytes, variables.hidden_bytes, &bytes)) {
    return UINT64_MAX;
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const cuda::Module>> LoadCharged(
    const std::shared_ptr<const cuda::Context>& context, uint32_t device,
    absl::string_view image, Account& account) {
  HOLDFAST_ASSIGN_OR_RETURN(const Variables variables, VariablesIn(image));
  auto owned = std::make_shared<ChargedModule>();
  HOLDFAST_ASSIGN_OR_RETURN(owned->module, cuda::Module::Load(context, image));
  const uint64_t bytes = VariableBytes(*owned->module, *context, variables);
  if (bytes > 0) {
    HOLDFAST_ASSIGN_OR_RETURN(owned->of_buffers,
                              account.device_memory()->Take(bytes));
    HOLDFAST_ASSIGN_OR_RETURN(owned->reserved,
                              account.reserved_memory(device)->Take(bytes));
  }
  const cuda::Module* const module = owned->module.get();
  return std::shared_ptr<const cuda::Module>(std::move(owned), module);
}

}  // namespace holdfast::executor
