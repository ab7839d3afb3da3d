// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/module.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/compile/object_code.h"
#include "client/cuda/call_log.h"
#include "core/base/status_macros.h"

namespace holdfast::libcuda {

namespace {

// A module of more kernels may be one of which a program uses few.
constexpr uint32_t kMaxDescribedKernels = 4;

int64_t AttributeOf(const v1::KernelDescription& description,
                    const std::string& name, int64_t absent) {
  const auto found = description.attributes().find(name);
  return found == description.attributes().end() ? absent : found->second;
}

}  // namespace

Function::Function(const std::shared_ptr<Module>& module, Kernel kernel,
                   v1::KernelDescription description)
    : module_(module),
      module_context_id_(module->context_id()),
      kernel_(std::move(kernel)),
      description_(std::move(description)),
      has_clusters_(
          AttributeOf(description_, "cluster_size_must_be_set", 0) != 0 ||
          AttributeOf(description_, "required_cluster_width", 0) != 0),
      max_threads_(static_cast<uint64_t>(
          AttributeOf(description_, "max_threads_per_block", INT32_MAX))),
      registers_(
          static_cast<uint64_t>(AttributeOf(description_, "num_regs", 0))),
      dynamic_shared_limit_(AttributeOf(
          description_, "max_dynamic_shared_size_bytes", INT32_MAX)) {}

CUresult Function::CheckBlock(const Dim3& block) const {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads <= max_threads_) return CUDA_SUCCESS;
  // A block has 65536 registers on every device since compute capability 3.0.
  const CUresult result = threads <= 1024 && threads * registers_ > 65536
                              ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
                              : CUDA_ERROR_INVALID_VALUE;
  return Failed(
      result, absl::StrCat("a block of ", threads, " threads: kernel ", name(),
                           " has at most ", max_threads_));
}

CUresult Function::CheckDynamicShared(uint64_t bytes) const {
  const int64_t limit = dynamic_shared_limit_;
  if (limit >= 0 && bytes <= static_cast<uint64_t>(limit)) return CUDA_SUCCESS;
  return Failed(CUDA_ERROR_INVALID_VALUE,
                absl::StrCat(bytes, " bytes of dynamic shared memory: kernel ",
                             name(), " has at most ", limit,
                             " (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_"
                             "BYTES)"));
}

bool Function::IsUsableIn(const Context& context) const {
  return module_context_id_ == 0 || module_context_id_ == context.id();
}

absl::StatusOr<Kernel> Function::In(const Context& context) {
  if (module_context_id_ != 0) return kernel_;
  absl::MutexLock lock(&mutex_);
  const auto known = in_contexts_.find(context.id());
  if (known != in_contexts_.end()) return known->second;
  const std::shared_ptr<Module> library = module();
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the library of kernel ", name(), " was unloaded"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const holdfast::Module code, library->In(context));
  HOLDFAST_ASSIGN_OR_RETURN(Kernel kernel, code.GetKernel(name()));
  for (const auto& [attribute, value] : attributes_) {
    HOLDFAST_RETURN_IF_ERROR(
        kernel.SetAttribute(attribute.first, value, attribute.second));
  }
  return in_contexts_.emplace(context.id(), std::move(kernel)).first->second;
}

void Function::EndContext(uint64_t context_id) {
  absl::MutexLock lock(&mutex_);
  in_contexts_.erase(context_id);
}

absl::Status Function::SetAttribute(const std::string& name, int64_t value,
                                    uint32_t device) {
  HOLDFAST_RETURN_IF_ERROR(kernel_.SetAttribute(name, value, device));
  if (module_context_id_ != 0) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  attributes_[{name, device}] = value;
  for (const auto& [id, kernel] : in_contexts_) {
    HOLDFAST_RETURN_IF_ERROR(kernel.SetAttribute(name, value, device));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Function::Attribute(const std::string& name,
                                            uint32_t device) const {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::KernelDescription description,
                            kernel_.Describe(device));
  const auto found = description.attributes().find(name);
  if (found == description.attributes().end()) {
    return absl::NotFoundError(absl::StrCat("no attribute is called ", name));
  }
  return found->second;
}

absl::StatusOr<std::shared_ptr<Module>> Module::Load(Session& session,
                                                     const Image& image,
                                                     const Context* context) {
  HOLDFAST_ASSIGN_OR_RETURN(
      ObjectCode object,
      ObjectCode::Put(session.daemon(), image.bytes, image.format));
  HOLDFAST_ASSIGN_OR_RETURN(holdfast::Module loaded, session.Load(object));
  HOLDFAST_ASSIGN_OR_RETURN(const v1::ModuleDescription description,
                            loaded.Describe(kMaxDescribedKernels));
  std::vector<std::string> names(description.kernels().begin(),
                                 description.kernels().end());
  std::map<std::string, v1::KernelDescription> kernels;
  for (const v1::KernelDescription& kernel : description.descriptions()) {
    kernels[kernel.name()] = kernel;
  }
  return std::shared_ptr<Module>(
      new Module(session, std::move(object), std::move(loaded), context,
                 std::move(names), std::move(kernels)));
}

absl::StatusOr<holdfast::Module> Module::In(const Context& context) {
  if (context_id_ != 0) return loaded_;
  absl::MutexLock lock(&mutex_);
  const auto known = in_contexts_.find(context.id());
  if (known != in_contexts_.end()) return known->second;
  holdfast::Module code = loaded_;
  if (!used_devices_.insert(context.ordinal()).second) {
    HOLDFAST_ASSIGN_OR_RETURN(code, session_.Load(object_));
  }
  return in_contexts_.emplace(context.id(), std::move(code)).first->second;
}

void Module::EndContext(uint64_t context_id) {
  absl::MutexLock lock(&mutex_);
  in_contexts_.erase(context_id);
}

absl::StatusOr<v1::KernelDescription> Module::DescriptionOf(
    const Kernel& kernel, const std::string& name) const {
  const auto known = descriptions_.find(name);
  if (known != descriptions_.end()) return known->second;
  return kernel.Describe();
}

absl::StatusOr<CUfunction> Module::GetFunction(const std::string& name,
                                               FunctionTable& functions) {
  absl::MutexLock lock(&mutex_);
  const auto found = functions_.find(name);
  if (found != functions_.end()) return found->second;
  HOLDFAST_ASSIGN_OR_RETURN(Kernel kernel, loaded_.GetKernel(name));
  HOLDFAST_ASSIGN_OR_RETURN(v1::KernelDescription description,
                            DescriptionOf(kernel, name));
  const CUfunction handle = functions.Add(std::make_shared<Function>(
      shared_from_this(), std::move(kernel), std::move(description)));
  functions_.emplace(name, handle);
  return handle;
}

}  // namespace holdfast::libcuda
