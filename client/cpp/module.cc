// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/module.h"

#include "client/cpp/loaded_module.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<Module> Module::Load(std::shared_ptr<SessionState> session,
                                    const ObjectCode& object) {
  HOLDFAST_ASSIGN_OR_RETURN(auto loaded,
                            LoadedModule::Load(std::move(session), object));
  return Module(std::move(loaded));
}

absl::StatusOr<Kernel> Module::GetKernel(absl::string_view name) const {
  HOLDFAST_ASSIGN_OR_RETURN(const LoadedModule::KernelEntry entry,
                            loaded_->GetKernel(name));
  return Kernel(loaded_, entry.handle, entry.sequence);
}

absl::StatusOr<std::vector<std::string>> Module::KernelNames() const {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::ModuleDescription module, Describe(0));
  return std::vector<std::string>(module.kernels().begin(),
                                  module.kernels().end());
}

absl::StatusOr<v1::ModuleDescription> Module::Describe(
    uint32_t max_described_kernels) const {
  HOLDFAST_ASSIGN_OR_RETURN(
      v1::Result result,
      loaded_->session()->queue.Call([&](v1::Command& command) {
        v1::DescribeModule& describe = *command.mutable_describe_module();
        describe.set_module(loaded_->handle());
        describe.set_max_described_kernels(max_described_kernels);
      }));
  return std::move(*result.mutable_module());
}

absl::StatusOr<Buffer> Module::GetGlobal(const std::string& name,
                                         std::optional<uint32_t> device) const {
  return Buffer::OfGlobal(*loaded_, loaded_, name,
                          device.value_or(loaded_->session()->first_device));
}

}  // namespace holdfast
