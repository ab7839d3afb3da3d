// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/image.h"
#include "core/cuda/variable_names.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/resources/charged_module.h"

namespace holdfast::executor {
namespace {

constexpr size_t kSha256Bytes = 32;

// Loads the image, and notes what a suspension has to save and whether there
// will be output.
absl::Status LoadImage(Resources& resources, absl::string_view image,
                       ModuleResource* module) {
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.OpenFirst());
  HOLDFAST_ASSIGN_OR_RETURN(
      module->module,
      LoadCharged(device->context, resources.devices.first_ordinal(), image,
                  resources.account()));
  if (cuda::MayPrint(image)) resources.watcher().ExpectOutput();
  auto variables = cuda::VariableNames(image);
  if (variables.ok()) {
    module->variables.insert(std::make_move_iterator(variables->begin()),
                             std::make_move_iterator(variables->end()));
  }
  return absl::OkStatus();
}

absl::StatusOr<ModuleResource> Load(const CommandContext& context,
                                    const v1::LoadModule& command) {
  ModuleResource module;
  switch (command.image_case()) {
    case v1::LoadModule::kInline: {
      if (command.inline_().size() > kMaxInlineBytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("an inline module of ", command.inline_().size(),
                         " bytes: at most ", kMaxInlineBytes,
                         "; put it into the object store"));
      }
      HOLDFAST_RETURN_IF_ERROR(
          LoadImage(context.resources, command.inline_(), &module));
      break;
    }
    case v1::LoadModule::kObjectSha256: {
      if (command.object_sha256().size() != kSha256Bytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("an object's SHA-256 has ", kSha256Bytes,
                         " bytes, not ", command.object_sha256().size()));
      }
      HOLDFAST_ASSIGN_OR_RETURN(FetchedObject object,
                                context.fetch_object(command.object_sha256()));
      HOLDFAST_RETURN_IF_ERROR(
          LoadImage(context.resources, object.image.bytes(), &module));
      module.symbols = std::move(object.symbols);
      break;
    }
    case v1::LoadModule::IMAGE_NOT_SET:
      return absl::InvalidArgumentError(
          absl::StrCat(DescribeHandle(command.module()), ": no image given"));
  }
  for (const auto& [name, symbol] : command.symbols()) {
    module.symbols[name] = symbol;
  }
  return module;
}

// The name in the object.
const std::string& Lookup(const ModuleResource& module,
                          const std::string& name) {
  const auto it = module.symbols.find(name);
  return it == module.symbols.end() ? name : it->second;
}

// The module's handles that were freed are dropped now and then, so that
// getting and freeing one again and again takes no more memory.
void AddGlobal(Resources& resources, uint64_t buffer, ModuleResource& module) {
  module.globals.insert(buffer);
  if (module.globals.size() < module.prune_globals_at) return;
  std::erase_if(module.globals, [&](uint64_t global) {
    return !resources.buffers.Contains(global);
  });
  module.prune_globals_at =
      2 * module.globals.size() + ModuleResource::kPruneGlobalsFrom;
}

using KernelAttributes = std::vector<std::pair<std::string, int>>;

// The most kernels that are described with their module, so that the result is
// short.
constexpr uint32_t kMaxDescribedKernels = 64;

v1::KernelDescription Describe(const cuda::Kernel& kernel,
                               const KernelAttributes& attributes) {
  v1::KernelDescription description;
  description.set_name(kernel.name());
  for (const auto& [name, value] : attributes) {
    (*description.mutable_attributes())[name] = value;
  }
  for (const cuda::Kernel::Parameter& parameter : kernel.parameters()) {
    v1::KernelParameter& added = *description.add_parameters();
    added.set_offset(parameter.offset);
    added.set_size(parameter.size);
  }
  return description;
}

// Leaves out those that the driver refuses: commands on them tell why.
void DescribeKernels(const ModuleResource& module,
                     const std::vector<std::string>& names,
                     v1::ModuleDescription* description) {
  for (const std::string& name : names) {
    const auto kernel = cuda::Kernel::Find(module.module, name);
    if (!kernel.ok()) continue;
    const auto attributes = (*kernel)->Attributes();
    if (!attributes.ok()) continue;
    *description->add_descriptions() = Describe(**kernel, *attributes);
  }
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::LoadModule& command) {
  return Create(context.resources.modules, command.module(),
                [&] { return Load(context, command); });
}

absl::Status Handle(const CommandContext& context,
                    const v1::UnloadModule& command) {
  HOLDFAST_ASSIGN_OR_RETURN(auto module,
                            context.resources.modules.Take(command.module()));
  if (module.has_value()) context.resources.UnloadModule(*std::move(module));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::DescribeModule& command) {
  HOLDFAST_ASSIGN_OR_RETURN(ModuleResource * module,
                            context.resources.modules.Find(command.module()));
  HOLDFAST_ASSIGN_OR_RETURN(std::vector<std::string> names,
                            module->module->KernelNames());
  std::sort(names.begin(), names.end());
  v1::Result result;
  if (names.size() <=
      std::min(command.max_described_kernels(), kMaxDescribedKernels)) {
    DescribeKernels(*module, names, result.mutable_module());
  }
  for (std::string& name : names) {
    result.mutable_module()->add_kernels(std::move(name));
  }
  auto& symbols = *result.mutable_module()->mutable_symbols();
  for (const auto& [name, symbol] : module->symbols) symbols[name] = symbol;
  context.Reply(std::move(result));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::GetKernel& command) {
  Resources& resources = context.resources;
  HOLDFAST_RETURN_IF_ERROR(Create(
      resources.kernels, command.kernel(),
      [&]() -> absl::StatusOr<KernelResource> {
        HOLDFAST_ASSIGN_OR_RETURN(ModuleResource * module,
                                  resources.modules.Find(command.module()));
        HOLDFAST_ASSIGN_OR_RETURN(
            auto kernel, cuda::Kernel::Find(module->module,
                                            Lookup(*module, command.name())));
        return KernelResource{{std::move(kernel)}};
      }));
  (*resources.modules.Find(command.module()))
      ->kernels.push_back(command.kernel());
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::DescribeKernel& command) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const cuda::Kernel* kernel,
      context.resources.KernelOn(command.kernel(), command.device()));
  HOLDFAST_ASSIGN_OR_RETURN(const auto attributes, kernel->Attributes());
  v1::Result result;
  *result.mutable_kernel() = Describe(*kernel, attributes);
  context.Reply(std::move(result));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::SetKernelAttribute& command) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const cuda::Kernel* kernel,
      context.resources.KernelOn(command.kernel(), command.device()));
  if (command.value() != static_cast<int>(command.value())) {
    return absl::OutOfRangeError(absl::StrCat(
        command.attribute(), " of ", command.value(), ": over 32 bits"));
  }
  return kernel->SetAttribute(command.attribute(),
                              static_cast<int>(command.value()));
}

absl::Status Handle(const CommandContext& context,
                    const v1::GetGlobal& command) {
  Resources& resources = context.resources;
  HOLDFAST_RETURN_IF_ERROR(Create(
      resources.buffers, command.buffer(),
      [&]() -> absl::StatusOr<BufferResource> {
        if (resources.devices.restoring() &&
            !resources.devices.inheritance().variables.has_value()) {
          return absl::DataLossError(
              "it is a variable of a module, which has its first value again; "
              "get it anew");
        }
        HOLDFAST_ASSIGN_OR_RETURN(ModuleResource * module,
                                  resources.modules.Find(command.module()));
        HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                                  resources.devices.Open(command.device()));
        const std::string& name = Lookup(*module, command.name());
        HOLDFAST_ASSIGN_OR_RETURN(
            const cuda::Module::Global global,
            module->module->FindGlobal(name, *device->context));
        // So that it is saved though its image could not be read. The driver
        // reads a name up to its first zero.
        module->variables.insert(name.c_str());
        BufferResource buffer;
        buffer.address = global.address;
        buffer.size = global.size;
        buffer.device = command.device();
        buffer.module = module->module;
        return buffer;
      }));
  AddGlobal(resources, command.buffer(),
            *resources.modules.Find(command.module()).value());
  return absl::OkStatus();
}

}  // namespace holdfast::executor
