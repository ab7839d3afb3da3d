// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/executable.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "core/software/jit/compiler.h"
#include "core/software/lower/kernel.h"
#include "core/software/ptx/parser.h"
#include "core/software/runtime/device_window.h"
#include "core/software/runtime/grid.h"

namespace holdfast::software {
namespace {

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

class PtxExecutable : public Executable {
 public:
  explicit PtxExecutable(ptx::Module module) : module_(std::move(module)) {}

  // Empty on success.
  std::string Build();

  const std::vector<KernelProperties>& kernels() const override {
    return properties_;
  }
  const std::vector<GlobalVariable>& globals() const override {
    return globals_;
  }
  LaunchOutcome Launch(size_t index, const LaunchGeometry& geometry,
                       const void* parameters,
                       const std::atomic<bool>* cancel) override;

 private:
  using CodeKey = std::tuple<size_t, uint32_t, uint32_t, uint32_t>;

  std::string PlaceVariables();
  void InitialiseVariables();
  void AddKernel(const ptx::Function& function);
  KernelFunction* CodeFor(size_t index, const LaunchGeometry& geometry,
                          std::string* error);

  ptx::Module module_;
  ModuleMemory memory_;
  std::vector<uint64_t> addresses_;  // by index into module_.variables
  uint64_t shared_bytes_ = 0;        // of the module's own shared variables
  std::vector<lower::Kernel> lowered_;
  std::vector<KernelProperties> properties_;
  std::vector<GlobalVariable> globals_;
  absl::Mutex mutex_;
  std::map<CodeKey, std::unique_ptr<jit::CompiledKernel>> code_
      ABSL_GUARDED_BY(mutex_);
};

std::string PtxExecutable::Build() {
  if (std::string error = PlaceVariables(); !error.empty()) return error;
  InitialiseVariables();
  for (const ptx::Function& function : module_.functions) {
    if (function.kernel && function.defined) AddKernel(function);
  }
  return "";
}

std::string PtxExecutable::PlaceVariables() {
  uint64_t bytes = 0;
  for (const ptx::Variable& variable : module_.variables) {
    const bool shared = variable.space == ptx::Space::kShared;
    if (variable.external && !shared) {
      return absl::StrCat(variable.location.line, ":", variable.location.column,
                          ": undefined symbol '", variable.name, "'");
    }
    uint64_t* end = shared ? &shared_bytes_ : &bytes;
    const uint64_t offset = AlignUp(*end, variable.alignment);
    addresses_.push_back(offset);
    *end = offset + variable.bytes;
  }
  if (bytes == 0) return "";
  memory_ = ModuleMemory(bytes);
  if (memory_.data() == nullptr) {
    return absl::StrCat("no memory for ", bytes, " bytes of variables");
  }
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const ptx::Variable& variable = module_.variables[i];
    if (variable.space == ptx::Space::kShared) continue;
    addresses_[i] += reinterpret_cast<uint64_t>(memory_.data());
    globals_.push_back({variable.name, reinterpret_cast<void*>(addresses_[i]),
                        variable.bytes});
  }
  return "";
}

void PtxExecutable::InitialiseVariables() {
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const ptx::Variable& variable = module_.variables[i];
    if (variable.space == ptx::Space::kShared) continue;
    auto* at = reinterpret_cast<uint8_t*>(addresses_[i]);
    if (!variable.initial.empty()) {
      std::memcpy(at, variable.initial.data(), variable.initial.size());
    }
    for (const ptx::Relocation& relocation : variable.relocations) {
      if (relocation.function) continue;
      const uint64_t value = addresses_[relocation.index] +
                             static_cast<uint64_t>(relocation.addend);
      std::memcpy(at + relocation.offset, &value, sizeof(value));
    }
  }
}

void PtxExecutable::AddKernel(const ptx::Function& function) {
  lowered_.push_back(
      lower::LowerKernel(module_, function, addresses_, shared_bytes_));
  const lower::Kernel& kernel = lowered_.back();
  KernelProperties properties;
  properties.name = function.name;
  for (const ptx::Operand& parameter : function.parameters) {
    properties.parameters.push_back(
        {kernel.variable_offsets[parameter.index],
         function.variables[parameter.index].bytes});
  }
  properties.parameter_bytes = kernel.parameter_bytes;
  properties.static_shared_bytes = kernel.static_shared_bytes;
  for (const ptx::Variable& variable : module_.variables) {
    if (variable.space == ptx::Space::kConst) {
      properties.constant_bytes += variable.bytes;
    }
  }
  properties.registers =
      static_cast<int>(std::min<size_t>(function.registers.size(), 255));
  std::copy(function.required_block, function.required_block + 3,
            properties.required_block);
  if (function.max_block[0] != 0) {
    const uint64_t limit = uint64_t{function.max_block[0]} *
                           function.max_block[1] * function.max_block[2];
    properties.max_threads_per_block =
        static_cast<int>(std::min<uint64_t>(limit, 1024));
  }
  properties.ptx_version = module_.target;
  properties_.push_back(std::move(properties));
}

KernelFunction* PtxExecutable::CodeFor(size_t index,
                                       const LaunchGeometry& geometry,
                                       std::string* error) {
  const uint32_t* block = geometry.block;
  absl::MutexLock lock(&mutex_);
  auto& code = code_[CodeKey{index, block[0], block[1], block[2]}];
  if (code == nullptr) {
    code = jit::Compile(lowered_[index],
                        lower::BlockShape{block[0], block[1], block[2]}, error);
  }
  return code == nullptr ? nullptr : code->function();
}

LaunchOutcome PtxExecutable::Launch(size_t index,
                                    const LaunchGeometry& geometry,
                                    const void* parameters,
                                    const std::atomic<bool>* cancel) {
  std::string error;
  KernelFunction* function = CodeFor(index, geometry, &error);
  if (function == nullptr) {
    return {CUDA_ERROR_INVALID_PTX,
            absl::StrCat("kernel ", properties_[index].name, ": ", error)};
  }
  static const std::atomic<bool> never{false};
  return RunGrid(function, properties_[index].name, geometry, parameters,
                 cancel == nullptr ? &never : cancel);
}

}  // namespace

CUresult Executable::Load(absl::string_view ptx,
                          std::unique_ptr<Executable>* executable,
                          std::string* error_log) {
  ptx::ParseResult parsed = ptx::Parse(ptx);
  if (!parsed.ok()) {
    *error_log = absl::StrJoin(parsed.errors, "\n");
    return parsed.unsupported_version ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                                      : CUDA_ERROR_INVALID_PTX;
  }
  auto built = std::make_unique<PtxExecutable>(std::move(parsed.module));
  *error_log = built->Build();
  if (!error_log->empty()) return CUDA_ERROR_INVALID_PTX;
  *executable = std::move(built);
  return CUDA_SUCCESS;
}

}  // namespace holdfast::software
