// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/loaded_module.h"

#include <utility>

#include "client/cpp/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void WriteUnload(uint64_t handle, v1::Command& command) {
  command.mutable_unload_module()->set_module(handle);
}

}  // namespace

absl::StatusOr<std::shared_ptr<LoadedModule>> LoadedModule::Load(
    std::shared_ptr<SessionState> session, const ObjectCode& object) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          std::move(session), HandleKind::kModule,
          [&](uint64_t handle, v1::Command& command) {
            v1::LoadModule& load = *command.mutable_load_module();
            load.set_module(handle);
            load.set_object_sha256(object.sha256);
            load.mutable_symbols()->insert(object.symbols.begin(),
                                           object.symbols.end());
          },
          WriteUnload));
  return std::make_shared<LoadedModule>(std::move(resource));
}

LoadedModule::~LoadedModule() {
  const uint64_t module = handle();
  DestroyWith([&](v1::Command& command) { WriteUnload(module, command); });
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, kernel] : kernels_) {
    session()->queue.Forget(kernel.sequence);
    session()->handles.Free(kernel.handle);
  }
}

absl::StatusOr<LoadedModule::KernelEntry> LoadedModule::GetKernel(
    absl::string_view name) {
  absl::MutexLock lock(&mutex_);
  if (auto found = kernels_.find(std::string(name)); found != kernels_.end()) {
    return found->second;
  }
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t kernel,
                            session()->handles.Allocate(HandleKind::kKernel));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t sequence,
                            session()->queue.Submit(
                                [&](v1::Command& command) {
                                  v1::GetKernel& get =
                                      *command.mutable_get_kernel();
                                  get.set_kernel(kernel);
                                  get.set_module(handle());
                                  get.set_name(std::string(name));
                                },
                                /*creates=*/true));
  return kernels_[std::string(name)] = {kernel, sequence};
}

}  // namespace holdfast
