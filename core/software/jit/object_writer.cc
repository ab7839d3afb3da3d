// SPDX-License-Identifier: Apache-2.0
//
// Code generation gives the instruction into which a load has been folded the
// place of its consumer, and splits vectors. The alias scope of an access
// survives all of this, so its site travels there; a last pass
// over the machine code turns it into a place for the line table.
#include "core/software/jit/object_writer.h"

#include <optional>

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

namespace holdfast::software::jit {
namespace {

constexpr unsigned kColumnBits = 16;

// The site is the name of the scope: a decimal number, of instruction and
// column.
llvm::MDNode* ScopeOf(llvm::LLVMContext& context, const AccessSite& site) {
  const uint64_t bits =
      uint64_t{site.instruction} << kColumnBits | site.Column();
  llvm::MDNode* domain =
      llvm::MDNode::get(context, {llvm::MDString::get(context, "holdfast")});
  llvm::MDNode* scope = llvm::MDNode::get(
      context, {llvm::MDString::get(context, std::to_string(bits)), domain});
  return llvm::MDNode::get(context, {scope});
}

// The reverse, from the memory operand of a machine instruction. A vector that
// was split is several instructions with one scope; the offset of each says
// which lanes it has.
std::optional<AccessSite> SiteOf(const llvm::MachineMemOperand& operand) {
  const llvm::MDNode* scopes = operand.getAAInfo().Scope;
  if (scopes == nullptr || scopes->getNumOperands() != 1) return std::nullopt;
  const auto* scope = llvm::cast<llvm::MDNode>(scopes->getOperand(0));
  const auto* text = llvm::dyn_cast<llvm::MDString>(scope->getOperand(0));
  uint64_t bits = 0;
  if (text == nullptr || text->getString().getAsInteger(10, bits)) {
    return std::nullopt;
  }
  AccessSite site =
      AccessSite::Of(static_cast<uint32_t>(bits >> kColumnBits),
                     static_cast<uint32_t>(bits & ((1u << kColumnBits) - 1)));
  if (site.kind == AccessSite::Kind::kLanes) {
    // A vector was split: its parts lie behind the first.
    const int64_t lanes = operand.getOffset() / site.bytes;
    site.lane = static_cast<uint8_t>((site.lane + lanes) % 32);
  }
  return site;
}

class PlaceAccesses : public llvm::MachineFunctionPass {
 public:
  static char id;
  PlaceAccesses() : MachineFunctionPass(id) {}

  // Line = PTX instruction + 1, since 0 means no line; column = kind and lanes.
  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    llvm::DISubprogram* subprogram = function.getFunction().getSubprogram();
    if (subprogram == nullptr) return false;
    for (llvm::MachineBasicBlock& block : function) {
      for (llvm::MachineInstr& instruction : block) {
        for (const llvm::MachineMemOperand* operand :
             instruction.memoperands()) {
          const auto site = SiteOf(*operand);
          if (!site) continue;
          instruction.setDebugLoc(llvm::DILocation::get(
              subprogram->getContext(), site->instruction + 1, site->Column(),
              subprogram));
          break;
        }
      }
    }
    return true;
  }
};

char PlaceAccesses::id = 0;

}  // namespace

void DescribeAccesses(llvm::Function* function) {
  llvm::Module* module = function->getParent();
  llvm::DICompileUnit* unit = nullptr;
  for (llvm::DICompileUnit* found : module->debug_compile_units()) unit = found;
  if (unit == nullptr) {
    module->addModuleFlag(llvm::Module::Warning, "Debug Info Version",
                          llvm::DEBUG_METADATA_VERSION);
    module->addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  }
  llvm::DIBuilder builder(*module, true, unit);
  llvm::DIFile* file = builder.createFile("kernel", "");
  if (unit == nullptr) {
    builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "", true, "", 0, "",
                              llvm::DICompileUnit::LineTablesOnly);
  }
  function->setSubprogram(builder.createFunction(
      file, function->getName(), "", file, 0,
      builder.createSubroutineType(builder.getOrCreateTypeArray({})), 0,
      llvm::DINode::FlagZero,
      llvm::DISubprogram::SPFlagDefinition |
          llvm::DISubprogram::SPFlagOptimized));
  builder.finalize();
}

void Describe(llvm::Instruction* instruction, const AccessSite& site) {
  llvm::LLVMContext& context = instruction->getContext();
  instruction->setMetadata(llvm::LLVMContext::MD_alias_scope,
                           ScopeOf(context, site));
  // For what has no alias scope in machine code. If it is taken apart on the
  // way, the lanes cannot be told.
  AccessSite fallback = site;
  const bool whole = !site.masked && site.bytes <= 4;
  if ((site.kind == AccessSite::Kind::kLanes && !whole) ||
      site.kind == AccessSite::Kind::kGather) {
    fallback.kind = AccessSite::Kind::kUnknown;
  }
  instruction->setDebugLoc(
      llvm::DILocation::get(context, site.instruction + 1, fallback.Column(),
                            instruction->getFunction()->getSubprogram()));
}

namespace {

// The functions of kernels without end, such as those that unroll a cipher,
// have more instructions than LLVM has time for: beyond the first number it
// does not schedule, which takes it quadratic time, beyond the second it goes
// through them as fast as it can.
constexpr size_t kLarge = 4000;
constexpr size_t kHuge = 30000;

size_t CountInstructions(const llvm::Module& module) {
  size_t count = 0;
  for (const llvm::Function& function : module) {
    count += function.getInstructionCount();
  }
  return count;
}

// Disables the passes that do not pay off in code of `size` instructions.
void LeaveOut(size_t size, llvm::TargetPassConfig* config) {
  // Sinking would move the sums of a long block, one after the other, behind
  // the test in its middle, and keep all that they are made of until then.
  config->disablePass(&llvm::MachineSinkingID);
  config->disablePass(&llvm::LiveDebugValuesID);  // there are none
  // These CPUs sort instructions themselves.
  config->disablePass(&llvm::PostRASchedulerID);
  if (size < kLarge) return;
  config->disablePass(&llvm::MachineSchedulerID);
}

}  // namespace

// LLVM's own pipeline for machine code, with PlaceAccesses as its last pass but
// the printer, so that no pass changes places after it.
std::unique_ptr<llvm::MemoryBuffer> WriteObject(llvm::Module* module,
                                                llvm::TargetMachine* machine,
                                                std::string* error) {
  auto& target = static_cast<llvm::LLVMTargetMachine&>(*machine);
  const size_t size = CountInstructions(*module);
  if (size >= kHuge) {
    machine->setOptLevel(llvm::CodeGenOptLevel::None);
    machine->setO0WantsFastISel(false);
    machine->setFastISel(false);
  }
  llvm::SmallVector<char, 0> bytes;
  {
    llvm::raw_svector_ostream out(bytes);
    llvm::legacy::PassManager passes;
    auto* info = new llvm::MachineModuleInfoWrapperPass(&target);
    llvm::TargetPassConfig* config = target.createPassConfig(passes);
    config->setDisableVerify(true);
    LeaveOut(size, config);
    passes.add(config);
    passes.add(info);
    bool failed = config->addISelPasses();
    config->addMachinePasses();
    config->setInitialized();
    passes.add(new PlaceAccesses);
    failed = failed || target.addAsmPrinter(passes, out, nullptr,
                                            llvm::CodeGenFileType::ObjectFile,
                                            info->getMMI().getContext());
    if (failed) {
      *error = "LLVM cannot write objects for this CPU";
      return nullptr;
    }
    passes.add(llvm::createFreeMachineFunctionPass());
    passes.run(*module);
  }
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(bytes), module->getName(), false);
}

}  // namespace holdfast::software::jit
