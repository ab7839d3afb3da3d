// SPDX-License-Identifier: Apache-2.0
//
// From a fault's address of code to the PTX instruction, by the line table of
// the object; then to the lanes and their addresses, by decoding the machine
// instruction and looking into the registers of the CPU at the time of the
// fault:
//
// base, index, displacement  the address that was accessed
// a mask register k          the lanes of a gather that are still to come
//
// The CPU clears a lane's bit of a gather's mask as it goes, so that the lowest
// bit left is the lane that faulted.
#include "core/software/jit/access_finder.h"

#include <algorithm>
#include <memory>

#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

namespace holdfast::software::jit {
namespace {

// Decodes one machine instruction with LLVM's disassembler.
class Decoder {
 public:
  Decoder() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetDisassembler();
    const std::string triple = llvm::sys::getProcessTriple();
    std::string error;
    const auto* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (target == nullptr) return;
    registers_.reset(target->createMCRegInfo(triple));
    info_.reset(
        target->createMCAsmInfo(*registers_, triple, llvm::MCTargetOptions()));
    instructions_.reset(target->createMCInstrInfo());
    // All that any x86 can do is decoded alike.
    subtarget_.reset(target->createMCSubtargetInfo(triple, "", ""));
    context_ = std::make_unique<llvm::MCContext>(
        llvm::Triple(triple), info_.get(), registers_.get(), subtarget_.get());
    decoder_.reset(target->createMCDisassembler(*subtarget_, *context_));
  }

  // Where the instruction in `bytes` reads or writes memory, and which lanes
  // its mask register holds.
  void Fill(llvm::ArrayRef<uint8_t> bytes, const MachineState& state,
            MachineAccess* access) const {
    llvm::MCInst instruction;
    uint64_t size = 0;
    if (decoder_ == nullptr ||
        decoder_->getInstruction(instruction, size, bytes, state.pc,
                                 llvm::nulls()) !=
            llvm::MCDisassembler::Success) {
      return;
    }
    const llvm::MCInstrDesc& form = instructions_->get(instruction.getOpcode());
    const auto operands = form.operands();
    for (unsigned i = 0; i < operands.size(); ++i) {
      if (operands[i].OperandType == llvm::MCOI::OPERAND_MEMORY) {
        FillAddress(instruction, i, state, size, access);
        break;
      }
    }
    for (const llvm::MCOperand& operand : instruction) {
      if (!operand.isReg() || operand.getReg() == 0) continue;
      const llvm::StringRef name = registers_->getName(operand.getReg());
      if (name.size() == 2 && name[0] == 'K') {
        access->left = static_cast<uint32_t>(state.masks[name[1] - '0']);
      }
    }
  }

 private:
  // Five operands: base, scale, index, displacement, segment.
  void FillAddress(const llvm::MCInst& instruction, unsigned first,
                   const MachineState& state, uint64_t size,
                   MachineAccess* access) const {
    if (first + 5 > instruction.getNumOperands()) return;
    const auto value = [&](unsigned at, uint64_t* result) {
      const unsigned number = instruction.getOperand(first + at).getReg();
      if (number == 0) return true;
      const llvm::StringRef name = registers_->getName(number);
      if (name == "RIP") return *result = state.pc + size, true;
      // Vectors of addresses are no help.
      if (name[0] != 'R' || name.ends_with("IZ")) return name == "RIZ";
      *result = state.registers[registers_->getEncodingValue(number) & 15];
      return true;
    };
    uint64_t base = 0, index = 0;
    if (!value(0, &base) || !value(2, &index)) return;
    if (!instruction.getOperand(first + 3).isImm()) return;
    access->has_address = true;
    access->address =
        base +
        index *
            static_cast<uint64_t>(instruction.getOperand(first + 1).getImm()) +
        static_cast<uint64_t>(instruction.getOperand(first + 3).getImm());
  }

  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> info_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
};

const llvm::object::SectionRef* FindText(const llvm::object::ObjectFile& file,
                                         llvm::object::SectionRef* section) {
  for (const llvm::object::SectionRef& candidate : file.sections()) {
    if (!candidate.isText() || candidate.getSize() == 0) continue;
    *section = candidate;
    return section;
  }
  return nullptr;
}

// The place that the line table has for `offset` of the code.
std::optional<AccessSite> SiteAt(const llvm::object::ObjectFile& file,
                                 const llvm::object::SectionRef& text,
                                 uint64_t offset) {
  const auto context = llvm::DWARFContext::create(file);
  for (const auto& unit : context->compile_units()) {
    const auto* table = context->getLineTableForUnit(unit.get());
    if (table == nullptr) continue;
    const uint32_t row = table->lookupAddress({offset, text.getIndex()});
    if (row == table->UnknownRowIndex) continue;
    const auto& found = table->Rows[row];
    if (found.Line == 0) return std::nullopt;
    return AccessSite::Of(found.Line - 1, found.Column);
  }
  return std::nullopt;
}

}  // namespace

std::optional<MachineAccess> FindAccess(llvm::MemoryBufferRef object,
                                        uint64_t code,
                                        const MachineState& state) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  llvm::object::SectionRef text;
  if (FindText(**file, &text) == nullptr || state.pc < code ||
      state.pc - code >= text.getSize()) {
    return std::nullopt;
  }
  const uint64_t offset = state.pc - code;
  const auto site = SiteAt(**file, text, offset);
  if (!site) return std::nullopt;
  MachineAccess access;
  access.site = *site;
  static const Decoder& decoder = *new Decoder;
  const auto* at = reinterpret_cast<const uint8_t*>(state.pc);
  constexpr uint64_t kLongest = 15;
  decoder.Fill({at, std::min(kLongest, text.getSize() - offset)}, state,
               &access);
  return access;
}

}  // namespace holdfast::software::jit
