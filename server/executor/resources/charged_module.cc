// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/charged_module.h"

#include <set>
#include <string>
#include <utility>

#include "core/base/status_macros.h"
#include "core/cuda/container.h"
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

// Which part of a fat binary the driver has loaded is not known, so these are
// the names in all parts.
std::set<std::string> NamesIn(absl::string_view image) {
  std::set<std::string> names;
  const auto add = [&names](absl::string_view part) {
    const auto found = cuda::VariableNames(part);
    if (found.ok()) names.insert(found->begin(), found->end());
  };
  const auto format = cuda::CheckImage(image);
  if (!format.ok() || *format != cuda::ImageFormat::kFatbin) {
    add(image);
    return names;
  }
  for (const std::string& part : cuda::FatbinParts(image)) add(part);
  return names;
}

// The driver knows the size of each variable, however its dimensions are
// written. It has taken the memory by then.
uint64_t VariableBytes(const cuda::Module& module, const cuda::Context& context,
                       absl::string_view image) {
  uint64_t bytes = 0;
  for (const std::string& name : NamesIn(image)) {
    const auto global = module.FindGlobal(name, context);
    if (!global.ok()) continue;
    if (__builtin_add_overflow(bytes, global->size, &bytes)) return UINT64_MAX;
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const cuda::Module>> LoadCharged(
    const std::shared_ptr<const cuda::Context>& context, uint32_t device,
    absl::string_view image, Account& account) {
  auto owned = std::make_shared<ChargedModule>();
  HOLDFAST_ASSIGN_OR_RETURN(owned->module, cuda::Module::Load(context, image));
  const uint64_t bytes = VariableBytes(*owned->module, *context, image);
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
