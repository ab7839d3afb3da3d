// SPDX-License-Identifier: Apache-2.0
//
// Fields are addressed by offset, since LLVM does not know the structures of
// abi.h. Loads that are marked invariant may be moved anywhere; those of flags
// that other threads write, such as `cancel`, may not.
#include "core/software/jit/runtime_calls.h"

#include "core/software/abi/abi.h"
#include "llvm/IR/MDBuilder.h"

namespace holdfast::software::jit {

using analysis::LaneShape;

llvm::Value* RuntimeCalls::LoadField(llvm::Value* base, size_t offset,
                                     llvm::Type* type, bool invariant) const {
  llvm::LoadInst* load = b_.CreateLoad(
      type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset));
  load->setAlignment(llvm::Align(1));
  if (invariant) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(b_.getContext(), {}));
  }
  return load;
}

llvm::Value* RuntimeCalls::Call(const char* name, llvm::Type* result,
                                absl::Span<llvm::Value* const> in) const {
  llvm::SmallVector<llvm::Type*, 8> types = {b_.getPtrTy()};
  llvm::SmallVector<llvm::Value*, 8> values = {c_.worker};
  for (llvm::Value* value : in) {
    types.push_back(value->getType());
    values.push_back(value);
  }
  auto callee = b_.module()->getOrInsertFunction(
      name, llvm::FunctionType::get(result, types, false));
  return b_.CreateCall(callee, values);
}

llvm::AllocaInst* RuntimeCalls::CallForLanes(
    const Step& step, const std::string& name,
    absl::Span<llvm::Value* const> options,
    absl::Span<const Value> arguments) const {
  // Arguments are spilled in front of the branch: their values are needed on
  // one side only, but the stores are few, and the block stays short.
  llvm::Value* lanes = step.lanes.MaskOrAll(b_);
  llvm::SmallVector<llvm::Value*, 8> in = {lanes};
  in.append(options.begin(), options.end());
  for (const Value& argument : arguments) {
    in.push_back(arrays_.Spill(v_.Reshape(argument, LaneShape::Varying())));
  }
  llvm::AllocaInst* results = b_.AllocaAtEntry(
      llvm::ArrayType::get(b_.getInt64Ty(), analysis::kWarpLanes));
  in.push_back(results);
  auto* call = b_.NewBlock("call");
  auto* after = b_.NewBlock("called");
  b_.CreateCondBr(b_.CreateICmpNE(lanes, b_.I32(0)), call, after);
  b_.SetInsertPoint(call);
  NoteInstruction(step);
  Call(name.c_str(), b_.getVoidTy(), in);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  return results;
}

void RuntimeCalls::PollCancel() const {
  llvm::Value* flag = LoadField(c_.launch, offsetof(LaunchContext, cancel),
                                b_.getPtrTy(), true);
  auto* load = b_.CreateLoad(b_.getInt8Ty(), flag);
  load->setAtomic(llvm::AtomicOrdering::Monotonic);
  load->setAlignment(llvm::Align(1));
  auto* cancelled = b_.NewBlock("cancelled");
  auto* go_on = b_.NewBlock("go_on");
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(b_.CreateICmpNE(load, b_.getInt8(0)), cancelled, go_on,
                  metadata.createBranchWeights(1, 1000000));
  b_.SetInsertPoint(cancelled);
  auto callee = b_.module()->getOrInsertFunction(
      "holdfast_cancelled",
      llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false));
  b_.CreateCall(callee, {c_.worker})->setDoesNotReturn();
  b_.CreateUnreachable();
  b_.SetInsertPoint(go_on);
}

llvm::Value* RuntimeCalls::WorkerField(size_t offset) const {
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), c_.worker, offset);
}

void RuntimeCalls::NoteLanes(llvm::Value* bits) const {
  b_.CreateStore(bits, WorkerField(offsetof(WorkerContext, lanes)));
}

void RuntimeCalls::NoteInstruction(const Step& step) const {
  b_.CreateStore(b_.I32(step.IndexIn(c_.kernel)),
                 WorkerField(offsetof(WorkerContext, instruction)));
}

llvm::Value* RuntimeCalls::SpillAddresses(const Value& addresses) const {
  llvm::Value* array = WorkerField(offsetof(WorkerContext, addresses));
  const Value lanes = v_.Reshape(addresses, LaneShape::Varying());
  for (int c = 0; c < c_.chunks(); ++c) {
    b_.CreateAlignedStore(
        lanes.parts[c],
        b_.CreateConstGEP1_32(b_.getInt64Ty(), array, c * c_.lanes()),
        llvm::Align(8));
  }
  return array;
}

}  // namespace holdfast::software::jit
