// SPDX-License-Identifier: Apache-2.0
//
// A module's kernels, and for each the code that was made of it, by stack size
// and then by block shape. Loading parses, inlines and lowers every kernel, so
// that a module that cannot run is refused then; LLVM runs at the first launch
// with a block shape, under the kernel's own lock, so that two kernels are
// compiled side by side.
#include "core/software/runtime/executable.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/cuda/kernel_limits.h"
#include "core/software/base/mutex.h"
#include "core/software/jit/compiler.h"
#include "core/software/jit/object_cache.h"
#include "core/software/ptx/link.h"
#include "core/software/ptx/parser.h"
#include "core/software/runtime/device_heap.h"
#include "core/software/runtime/device_library.h"
#include "core/software/runtime/fingerprint.h"
#include "core/software/runtime/grid.h"
#include "core/software/runtime/module_memory.h"
#include "core/software/transform/inline.h"
#include "core/software/transform/lower_kernel.h"
#include "core/software/transform/outlined_calls.h"

namespace holdfast::software {
namespace {

constexpr uint64_t kLeastStack = transform::StackBytes(0);

// A kernel, and its code by block shape.
class KernelCode {
 public:
  // `function` has no calls but of what the runtime provides; `unsupported`
  // says why it has, if it has, and cannot be launched.
  KernelCode(const ptx::Module& module, ptx::Function function,
             const ModuleMemory& memory, const std::string& fingerprint,
             std::string unsupported)
      : function_(std::move(function)),
        unsupported_(std::move(unsupported)),
        kernel_(lower::LowerKernel(module, function_, memory.addresses())) {
    kernel_.fingerprint = fingerprint;
    properties_ = Properties(module, function_);
  }
  KernelCode(const KernelCode&) = delete;
  KernelCode& operator=(const KernelCode&) = delete;

  const KernelProperties& properties() const { return properties_; }
  const lower::Kernel& lowered() const { return kernel_; }

  // Compiled on first use; null with the reason in *error.
  const jit::CompiledKernel* ForBlock(const analysis::BlockShape& block,
                                      std::string* error) {
    if (!unsupported_.empty()) {
      *error = unsupported_;
      return nullptr;
    }
    const auto key = std::make_tuple(block.x, block.y, block.z);
    MutexLock lock(&mutex_);
    std::unique_ptr<jit::CompiledKernel>& code = code_[key];
    if (code == nullptr) code = jit::Compile(kernel_, block, error);
    return code.get();
  }

 private:
  KernelProperties Properties(const ptx::Module& module,
                              const ptx::Function& function) const {
    KernelProperties properties;
    properties.name = function.name;
    for (size_t i = 0; i < function.variables.size(); ++i) {
      const ptx::Variable& variable = function.variables[i];
      if (variable.space == ptx::Space::kParam) {
        properties.parameters.push_back(
            {kernel_.variable_offsets[i], variable.bytes});
      }
    }
    for (const ptx::Variable& variable : module.variables) {
      if (variable.space == ptx::Space::kConst) {
        properties.constant_bytes += variable.bytes;
      }
    }
    properties.local_bytes = kernel_.local_bytes;
    properties.parameter_bytes = kernel_.parameter_bytes;
    properties.static_shared_bytes = kernel_.static_shared_bytes;
    size_t registers = std::min<size_t>(function.registers.size(), 255);
    if (function.max_registers != 0) {
      registers = std::min<size_t>(
          registers, cuda::AllowedRegisters(function.max_registers));
    }
    std::copy_n(function.required_block, 3, properties.required_block);
    const uint32_t* limit = function.required_block[0] != 0
                                ? function.required_block
                                : function.max_block;
    if (limit[0] != 0) {
      const uint64_t threads =
          uint64_t{limit[0]} * std::max(limit[1], 1u) * std::max(limit[2], 1u);
      properties.max_threads_per_block =
          static_cast<int>(std::min<uint64_t>(threads, 1024));
      registers = std::min<size_t>(
          registers, cuda::RegistersThatFit(threads, function.min_blocks));
    }
    properties.registers = static_cast<int>(registers);
    std::copy_n(function.required_cluster, 3, properties.required_cluster);
    properties.max_cluster_blocks = function.max_cluster_blocks;
    properties.cluster_must_be_set = function.cluster_must_be_set;
    properties.ptx_version = module.target;
    properties.unsupported = unsupported_;
    return properties;
  }

  const ptx::Function function_;
  const std::string unsupported_;
  lower::Kernel kernel_;
  KernelProperties properties_;
  Mutex mutex_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>,
           std::unique_ptr<jit::CompiledKernel>>
      code_ ABSL_GUARDED_BY(mutex_);
};

class PreparedGrid final : public PreparedLaunch {
 public:
  PreparedGrid(const GridKernel& kernel, const LaunchGeometry& geometry)
      : kernel_(kernel), geometry_(geometry) {}

  LaunchOutcome Run(const void* parameters,
                    const std::atomic<bool>* cancel) const override {
    return RunGrid(kernel_, geometry_, parameters, cancel);
  }

 private:
  const GridKernel kernel_;
  const LaunchGeometry geometry_;
};

class PtxExecutable final : public Executable {
 public:
  // `fingerprints`: of the module's functions.
  PtxExecutable(ptx::Module module, std::vector<std::string> fingerprints)
      : module_(std::move(module)), fingerprints_(std::move(fingerprints)) {}

  bool Prepare(std::string* error) {
    memory_ = ModuleMemory::Create(module_, error);
    if (memory_ == nullptr) return false;
    for (const ptx::Function& function : module_.functions) {
      if (!function.kernel || !function.defined) continue;
      OneKernel& kernel = code_.emplace_back();
      kernel.function = &function;
      if (Translate(&kernel, kLeastStack, error) == nullptr) return false;
      kernels_.push_back(kernel.by_stack[kLeastStack]->properties());
    }
    for (size_t i = 0; i < module_.variables.size(); ++i) {
      const ptx::Variable& variable = module_.variables[i];
      if (variable.space == ptx::Space::kShared) continue;
      globals_.push_back({variable.name,
                          reinterpret_cast<void*>(memory_->addresses()[i]),
                          variable.bytes});
    }
    return true;
  }

  std::unique_ptr<Executable> Clone() const override {
    auto clone = std::make_unique<PtxExecutable>(module_, fingerprints_);
    std::string error;
    if (!clone->Prepare(&error)) return nullptr;
    return clone;
  }

  int target() const override { return module_.target; }

  const std::vector<KernelProperties>& kernels() const override {
    return kernels_;
  }
  const std::vector<GlobalVariable>& globals() const override {
    return globals_;
  }

  LaunchOutcome Launch(size_t index, const LaunchGeometry& geometry,
                       const void* parameters,
                       const std::atomic<bool>* cancel) override {
    GridKernel kernel;
    std::string error;
    if (!FindCode(index, geometry, &kernel, &error)) {
      return {CUDA_ERROR_LAUNCH_FAILED, error};
    }
    return RunGrid(kernel, geometry, parameters, cancel);
  }

  std::unique_ptr<PreparedLaunch> PrepareLaunch(size_t index,
                                                const LaunchGeometry& geometry,
                                                std::string* error) override {
    GridKernel kernel;
    if (!FindCode(index, geometry, &kernel, error)) return nullptr;
    return std::make_unique<PreparedGrid>(kernel, geometry);
  }

 private:
  // One whose threads have no stack is the same whatever its size.
  struct OneKernel {
    const ptx::Function* function = nullptr;
    bool has_stack = false;
    std::map<uint64_t, std::unique_ptr<KernelCode>> by_stack;
  };

  bool FindCode(size_t index, const LaunchGeometry& geometry, GridKernel* found,
                std::string* error) {
    const auto block = analysis::BlockShape::ForLaunch(
        geometry.block[0], geometry.block[1], geometry.block[2]);
    KernelCode* kernel = ForStack(index, geometry.stack_bytes, error);
    const jit::CompiledKernel* code =
        kernel == nullptr ? nullptr : kernel->ForBlock(block, error);
    if (code == nullptr) {
      *error = absl::StrCat("kernel ", kernels_[index].name, ": ", *error);
      return false;
    }
    *found = {&kernel->lowered(), code};
    return true;
  }

  // PTX of the kernel with its calls inlined. A stack size that is not the
  // least is part of the fingerprint, so that the cache on disk tells the two
  // apart.
  KernelCode* Translate(OneKernel* kernel, uint64_t stack_bytes,
                        std::string* error) const {
    transform::InlinedKernel flat =
        transform::InlineCalls(module_, *kernel->function, stack_bytes);
    if (!flat.function) {
      *error = flat.error;
      return nullptr;
    }
    kernel->has_stack = flat.has_stack;
    const std::string& fingerprint = fingerprints_[static_cast<size_t>(
        kernel->function - module_.functions.data())];
    auto& code = kernel->by_stack[stack_bytes];
    code = std::make_unique<KernelCode>(
        module_, *std::move(flat.function), *memory_,
        stack_bytes == kLeastStack ? fingerprint
                                   : absl::StrCat(fingerprint, stack_bytes),
        flat.error);
    return code.get();
  }

  KernelCode* ForStack(size_t index, uint64_t limit, std::string* error) {
    MutexLock lock(&mutex_);
    OneKernel& kernel = code_[index];
    const uint64_t bytes =
        kernel.has_stack ? transform::StackBytes(limit) : kLeastStack;
    const auto found = kernel.by_stack.find(bytes);
    return found == kernel.by_stack.end() ? Translate(&kernel, bytes, error)
                                          : found->second.get();
  }

  const ptx::Module module_;
  const std::vector<std::string> fingerprints_;
  std::unique_ptr<ModuleMemory> memory_;
  Mutex mutex_;  // guards what `code_` grows after Prepare
  std::vector<OneKernel> code_;
  std::vector<KernelProperties> kernels_;
  std::vector<GlobalVariable> globals_;
};

CUresult Parse(absl::string_view ptx, ptx::Module* module,
               std::string* error_log) {
  ptx::ParseResult parsed = ptx::Parse(ptx);
  if (!parsed.ok()) {
    *error_log = absl::StrJoin(parsed.errors, "\n");
    return parsed.unsupported_version ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                                      : CUDA_ERROR_INVALID_PTX;
  }
  *module = std::move(parsed.module);
  return CUDA_SUCCESS;
}

// A fingerprint covers the declarations that have the library joined, and each
// object the build of the driver, which has the library.
bool Join(std::vector<ptx::Module> modules, ptx::Module* joined,
          std::string* error_log) {
  if (std::any_of(modules.begin(), modules.end(), NeedsDeviceLibrary)) {
    modules.push_back(DeviceLibrary());
  }
  std::vector<std::string> errors;
  if (modules.size() == 1) {
    *joined = std::move(modules[0]);
  } else if (!ptx::Link(std::move(modules), joined, &errors)) {
    *error_log = absl::StrJoin(errors, "\n");
    return false;
  }
  return true;
}

CUresult Prepare(ptx::Module module, std::vector<std::string> fingerprints,
                 std::unique_ptr<Executable>* executable,
                 std::string* error_log) {
  auto loaded = std::make_unique<PtxExecutable>(std::move(module),
                                                std::move(fingerprints));
  if (!loaded->Prepare(error_log)) return CUDA_ERROR_INVALID_PTX;
  *executable = std::move(loaded);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult Executable::Load(absl::string_view ptx,
                          std::unique_ptr<Executable>* executable,
                          std::string* error_log) {
  ptx::Module module;
  const CUresult result = Parse(ptx, &module, error_log);
  if (result != CUDA_SUCCESS) return result;
  std::vector<std::string> fingerprints =
      Fingerprints(module, std::string(ptx));
  std::vector<ptx::Module> modules;
  modules.push_back(std::move(module));
  ptx::Module joined;
  if (!Join(std::move(modules), &joined, error_log)) {
    return CUDA_ERROR_INVALID_PTX;
  }
  // The library has no kernels.
  fingerprints.resize(joined.functions.size());
  return Prepare(std::move(joined), std::move(fingerprints), executable,
                 error_log);
}

CUresult Executable::LoadLinked(const std::vector<std::string>& modules,
                                std::unique_ptr<Executable>* executable,
                                std::string* error_log) {
  std::vector<ptx::Module> parsed(modules.size());
  for (size_t i = 0; i < modules.size(); ++i) {
    const CUresult result = Parse(modules[i], &parsed[i], error_log);
    if (result != CUDA_SUCCESS) return result;
  }
  ptx::Module joined;
  if (!Join(std::move(parsed), &joined, error_log)) {
    return CUDA_ERROR_INVALID_PTX;
  }
  const std::vector<std::string> fingerprints(
      joined.functions.size(),
      jit::Sha256Hex(absl::StrJoin(modules, absl::string_view("\0", 1))));
  return Prepare(std::move(joined), fingerprints, executable, error_log);
}

bool SetDeviceHeapBytes(size_t bytes) {
  return DeviceHeap::Get().SetLimit(bytes);
}

void EndDeviceHeap() { DeviceHeap::Get().Clear(); }

std::vector<size_t> Executable::MembersNeeded(
    const std::vector<std::string>& modules,
    const std::vector<std::string>& members) {
  const auto provided = [](absl::string_view function) {
    return transform::IsRuntimeFunction(function) || InDeviceLibrary(function);
  };
  ptx::MemberChoice choice(provided);
  std::string log;
  for (const std::string& text : modules) {
    ptx::Module module;
    if (Parse(text, &module, &log) == CUDA_SUCCESS) choice.Add(module);
  }
  if (!choice.Missing()) return {};
  std::vector<ptx::Module> parsed(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    // A member that is not PTX for this driver defines nothing.
    if (Parse(members[i], &parsed[i], &log) != CUDA_SUCCESS) parsed[i] = {};
  }
  return choice.Choose(parsed);
}

CUresult Executable::Check(absl::string_view ptx, std::string* error_log) {
  ptx::Module module;
  return Parse(ptx, &module, error_log);
}

}  // namespace holdfast::software
