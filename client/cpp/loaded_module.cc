// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/loaded_module.h"

#include <utility>

#include "client/cpp/connection/forked_process.h"
#include "client/cpp/connection/request_text.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void WriteUnload(uint64_t handle, WireWriter& writer) {
  writer.Message(v1::fields::Command::kUnloadModule, [&] {
    writer.Write(v1::fields::UnloadModule::kModule, handle);
  });
}

}  // namespace

absl::StatusOr<std::shared_ptr<LoadedModule>> LoadedModule::Load(
    std::shared_ptr<SessionState> session, const ObjectCode& object) {
  v1::Command command;
  v1::LoadModule& load = *command.mutable_load_module();
  load.set_object_sha256(object.sha256);
  load.mutable_symbols()->insert(object.symbols.begin(), object.symbols.end());
  HOLDFAST_RETURN_IF_ERROR(CheckRequestText(command));
  HOLDFAST_ASSIGN_OR_RETURN(Resource resource,
                            Make(
                                std::move(session), HandleKind::kModule,
                                [&](uint64_t handle, WireWriter& writer) {
                                  load.set_module(handle);
                                  writer.Fields(command);
                                },
                                WriteUnload));
  return std::make_shared<LoadedModule>(std::move(resource));
}

LoadedModule::~LoadedModule() {
  const uint64_t module = handle();
  DestroyWith([&](WireWriter& writer) { WriteUnload(module, writer); });
  if (IsForked()) return;
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, kernel] : kernels_) {
    session()->queue.Forget(kernel.sequence);
    session()->handles.Free(kernel.handle);
  }
}

absl::StatusOr<LoadedModule::KernelEntry> LoadedModule::GetKernel(
    absl::string_view name) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  absl::MutexLock lock(&mutex_);
  if (auto found = kernels_.find(std::string(name)); found != kernels_.end()) {
    return found->second;
  }
  v1::Command command;
  v1::GetKernel& get = *command.mutable_get_kernel();
  get.set_module(handle());
  get.set_name(std::string(name));
  HOLDFAST_RETURN_IF_ERROR(CheckRequestText(command));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t kernel,
                            session()->handles.Allocate(HandleKind::kKernel));
  get.set_kernel(kernel);
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint64_t sequence,
      session()->queue.SubmitCreation(
          [&](WireWriter& writer) { writer.Fields(command); }));
  kernels_[std::string(name)] = {kernel, sequence};
  HOLDFAST_RETURN_IF_ERROR(session()->queue.Settle());
  return KernelEntry{kernel, sequence};
}

}  // namespace holdfast
