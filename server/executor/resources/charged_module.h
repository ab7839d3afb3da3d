// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_CHARGED_MODULE_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_CHARGED_MODULE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cuda/context.h"
#include "core/cuda/module.h"
#include "server/account/account.h"

namespace holdfast::executor {

// Loads an image of code for a device. The memory of the image's variables is
// charged to `account`, like a buffer on that device, until the last owner
// releases the module. Otherwise a client with a small quota could fill the
// device with variables. The memory of the code itself is not charged, because
// its size is not known.
//
// Fails as cuda::Module::Load and cuda::HiddenVariableBytes. INVALID_ARGUMENT:
// a fat binary has damaged parts, or is larger than cuda::VisitFatbinParts
// reads, so that variables in it could not be charged.
// RESOURCE_EXHAUSTED: the variables exceed a limit of device memory; the module
// is not loaded.
absl::StatusOr<std::shared_ptr<const cuda::Module>> LoadCharged(
    const std::shared_ptr<const cuda::Context>& context, uint32_t device,
    absl::string_view image, Account& account);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_CHARGED_MODULE_H_
