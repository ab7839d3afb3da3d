// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/module_memory.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/analysis/call_graph.h"

namespace holdfast::software {
namespace {

// What makes sense; a device has no such limit.
constexpr uint64_t kMaxModuleBytes = uint64_t{1} << 36;

// All .const variables of a module together, as every GPU has it.
constexpr uint64_t kMaxConstantBytes = uint64_t{64} << 10;

// Returns the bytes to leave between two variables. In memcheck mode, an access
// that leaves a variable by a few bytes must not land in another one.
uint64_t GapBytes() { return BufferTable::Get() == nullptr ? 0 : 16; }

bool CheckConstants(const ptx::Module& module, std::string* error) {
  uint64_t bytes = 0;
  for (const ptx::Variable& variable : module.variables) {
    if (variable.space != ptx::Space::kConst) continue;
    bytes = AlignUp(bytes, variable.alignment) + variable.bytes;
    if (bytes <= kMaxConstantBytes) continue;
    *error = absl::StrCat(
        variable.location.line, ":", variable.location.column, ": with ",
        variable.name, " the module's constants have ", bytes,
        " bytes; the limit of constant memory is ", kMaxConstantBytes);
    return false;
  }
  return true;
}

}  // namespace

ModuleMemory::ModuleMemory(const ptx::Module& module) : module_(module) {}

std::unique_ptr<ModuleMemory> ModuleMemory::Create(const ptx::Module& module,
                                                   std::string* error) {
  std::unique_ptr<ModuleMemory> memory(new ModuleMemory(module));
  if (!CheckConstants(module, error)) return nullptr;
  if (!memory->LayOut(error) || !memory->Initialise(error)) return nullptr;
  memory->Publish();
  return memory;
}

bool ModuleMemory::LayOut(std::string* error) {
  for (const ptx::Variable& variable : module_.variables) {
    if (variable.external && !variable.IsDynamicShared()) {
      *error =
          absl::StrCat(variable.location.line, ":", variable.location.column,
                       ": ", variable.name, " is a variable of another module");
      return false;
    }
    if (variable.space == ptx::Space::kShared) {
      addresses_.push_back(0);
      continue;
    }
    addresses_.push_back(AlignUp(bytes_, variable.alignment));
    bytes_ = addresses_.back() + variable.bytes + GapBytes();
    if (bytes_ > kMaxModuleBytes) {
      *error = absl::StrCat("the module's variables have over ",
                            kMaxModuleBytes, " bytes");
      return false;
    }
  }
  if (bytes_ == 0) return true;
  memory_ = WindowMemory::Map(bytes_);
  if (memory_ == nullptr) {
    *error = absl::StrCat("no memory for ", bytes_, " bytes of variables");
    return false;
  }
  for (size_t i = 0; i < addresses_.size(); ++i) {
    if (module_.variables[i].space == ptx::Space::kShared) continue;
    addresses_[i] += reinterpret_cast<uint64_t>(memory_->data());
  }
  return true;
}

void ModuleMemory::Publish() {
  BufferTable* const table = BufferTable::Get();
  if (table == nullptr || memory_ == nullptr) return;
  table->AddArea(reinterpret_cast<uint64_t>(memory_->data()), memory_->bytes());
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const ptx::Variable& variable = module_.variables[i];
    if (variable.space == ptx::Space::kShared) continue;
    table->Add(addresses_[i], variable.bytes, variable.name);
  }
}

// Other memory may get the addresses next.
ModuleMemory::~ModuleMemory() {
  BufferTable* const table = BufferTable::Get();
  if (table == nullptr || memory_ == nullptr) return;
  table->ForgetArea(reinterpret_cast<uint64_t>(memory_->data()));
}

bool ModuleMemory::Initialise(std::string* error) {
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const ptx::Variable& variable = module_.variables[i];
    if (variable.space == ptx::Space::kShared) continue;
    auto* bytes = reinterpret_cast<uint8_t*>(addresses_[i]);
    std::copy(variable.initial.begin(), variable.initial.end(), bytes);
    for (const ptx::Relocation& relocation : variable.relocations) {
      const uint64_t address =
          (relocation.function ? analysis::FunctionAddress(relocation.index)
                               : addresses_[relocation.index]) +
          static_cast<uint64_t>(relocation.addend);
      if (relocation.offset + sizeof address > variable.bytes) {
        *error = absl::StrCat(variable.name, ": an address beyond its end");
        return false;
      }
      std::memcpy(bytes + relocation.offset, &address, sizeof address);
    }
  }
  return true;
}

}  // namespace holdfast::software
