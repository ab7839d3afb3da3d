// SPDX-License-Identifier: Apache-2.0
//
// The life of a kernel's code: Compile() makes a JitKernel with full code
// alone. Full code calls masked code through a slot, a pointer that is null at
// first; the first warp that needs it comes here (holdfast_masked_function),
// waits for the compiler, and goes on. Objects come from the cache if they are
// there, whole, under a key of everything that code depends on, so that a
// second process compiles nothing.
//
// Every LLVM context, module and machine lives as long as one object is
// generated: kernels are compiled by many threads at once, and share nothing
// but the LLJIT, which links and is thread-safe.
#include "core/software/jit/compiler.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/abi/window.h"
#include "core/software/analysis/divergence.h"
#include "core/software/analysis/likely_divergence.h"
#include "core/software/base/mutex.h"
#include "core/software/base/start_thread.h"
#include "core/software/jit/access_finder.h"
#include "core/software/jit/host_cpu.h"
#include "core/software/jit/kernel_emitter.h"
#include "core/software/jit/mask_fences.h"
#include "core/software/jit/object_cache.h"
#include "core/software/jit/object_writer.h"
#include "core/software/jit/operands.h"
#include "core/software/jit/part.h"
#include "core/software/semantics/scalar_operations.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace holdfast::software::jit {
namespace {

using llvm::orc::LLJIT;

class JitKernel;

// The object that a SlotSymbolOf() symbol names.
struct MaskedSlot {
  std::atomic<void*> function{nullptr};
  JitKernel* kernel = nullptr;
  Part part;
};

// Called by full code whose lanes part. Does not come back if code cannot be
// made.
extern "C" void* holdfast_masked_function(WorkerContext* worker,
                                          MaskedSlot* slot);

llvm::orc::JITTargetMachineBuilder HostMachine() {
  auto machine =
      llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  // LLVM 19 turns some comparisons of vectors of halves round that it makes of
  // these instructions: on a Xeon, set.gtu.ftz.u32.f16x2 told less from
  // greater.
  machine.getFeatures().AddFeature("avx512fp16", /*Enable=*/false);
  machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return machine;
}

// One for the process; never destroyed, since generated code may run in other
// threads until its end.
LLJIT* Jit(std::string* error) {
  static std::string* failure = new std::string;
  static LLJIT* jit = []() -> LLJIT* {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto built = llvm::orc::LLJITBuilder()
                     .setJITTargetMachineBuilder(HostMachine())
                     .create();
    if (!built) {
      *failure = llvm::toString(built.takeError());
      return nullptr;
    }
    return built->release();
  }();
  *error = *failure;
  return jit;
}

// A short pipeline instead of -O2, chosen by time: values on the stack become
// SSA (SROA), duplicates of masks and addresses go (CSE), invariants leave
// loops (LICM). Nothing is unrolled or vectorised: PTX comes from an optimiser,
// and vectors are made already.
void Optimise(llvm::Function* function, llvm::TargetMachine* machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(
      llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(
      llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.run(*function, functions);
}

// Defines the functions that generated code may call (abi.h), and the module's
// variables.
llvm::Error DefineHostSymbols(LLJIT* jit, llvm::orc::JITDylib* library,
                              const lower::Kernel& kernel,
                              absl::Span<MaskedSlot> slots) {
  llvm::orc::SymbolMap symbols;
  for (uint32_t i = 0; i < kernel.addresses.size(); ++i) {
    symbols[jit->mangleAndIntern(VariableSymbol(i))] = {
        llvm::orc::ExecutorAddr(kernel.addresses[i]),
        llvm::JITSymbolFlags::Exported};
  }
  auto define = [&](const char* name, auto* place) {
    symbols[jit->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(place),
        llvm::JITSymbolFlags::Exported};
  };
#define DEFINE(function) define(#function, &function)
  for (MaskedSlot& slot : slots) define(SlotSymbolOf(slot.part), &slot);
  DEFINE(holdfast_masked_function);
  DEFINE(holdfast_cancelled);
  DEFINE(holdfast_barrier_arrive);
  DEFINE(holdfast_barrier_sync);
  DEFINE(holdfast_barrier_passed);
  DEFINE(holdfast_cluster_arrive);
  DEFINE(holdfast_barrier_result);
  DEFINE(holdfast_wait);
  DEFINE(holdfast_block_ended);
  DEFINE(holdfast_lanes_ended);
  DEFINE(holdfast_yield);
  DEFINE(holdfast_let_others_read);
  DEFINE(holdfast_trap);
  DEFINE(holdfast_check_addresses);
  DEFINE(holdfast_bad_address);
  DEFINE(holdfast_check_buffers);
  DEFINE(holdfast_mbarrier);
  DEFINE(holdfast_bulk_copy);
  DEFINE(holdfast_match_any32);
  DEFINE(holdfast_match_any64);
  DEFINE(holdfast_match_all32);
  DEFINE(holdfast_match_all64);
  DEFINE(holdfast_multiply_matrices);
  DEFINE(holdfast_load_tile);
  DEFINE(holdfast_store_tile);
  DEFINE(holdfast_clock);
  DEFINE(holdfast_globaltimer);
  DEFINE(holdfast_device_vprintf);
  DEFINE(holdfast_device___assertfail);
  DEFINE(holdfast_device_malloc);
  DEFINE(holdfast_device_free);
  DEFINE(holdfast_device_cudaGraphSetConditional);
#define DEFINE_SCALAR(name) DEFINE(holdfast_scalar_##name);
  HOLDFAST_SCALAR_OPERATIONS(DEFINE_SCALAR)
#undef DEFINE_SCALAR
#undef DEFINE
  return library->define(llvm::orc::absoluteSymbols(std::move(symbols)));
}

// Everything that code depends on; empty if it cannot be told.
std::string CacheKey(const lower::Kernel& kernel,
                     const analysis::BlockShape& block, Part part) {
  static const auto& machine = *new std::string([] {
    const auto builder = HostMachine();
    return builder.getCPU() + "\n" + builder.getFeatures().getString() + "\n" +
           std::to_string(HostCpu().lanes) + "\n" +
           std::to_string(GetKernelWindow().base) + "\n" +
           std::to_string(GetKernelWindow().size) + "\n" +
           (BufferTable::Get() != nullptr ? "memcheck\n" : "") + BuildId();
  }());
  if (kernel.fingerprint.empty() || BuildId().empty() ||
      std::getenv("HOLDFAST_SOFTWARE_DUMP") != nullptr) {
    return "";
  }
  return Sha256Hex(absl::StrCat(machine, "\n", kernel.fingerprint, "\n",
                                kernel.function->name, "\n", block.x, ",",
                                block.y, ",", block.z, "\n", SymbolOf(part)));
}

// And the routines that it calls. It stays the first function of the object,
// as FindAccess takes for granted.
// Full code is emitted for every part, since it finds out where masked code is
// entered and with which registers. The functions that were not asked for lose
// their bodies here, before any time goes into them.
void KeepOnly(Part part, llvm::Module* module) {
  for (llvm::Function& function : *module) {
    if (function.hasExternalLinkage() && function.getName() != SymbolOf(part)) {
      function.deleteBody();
    }
  }
  for (llvm::Function& function : llvm::make_early_inc_range(*module)) {
    if (function.hasLocalLinkage() && function.use_empty()) {
      function.eraseFromParent();
    }
  }
}

// An object file; null with the reason in *error.
std::unique_ptr<llvm::MemoryBuffer> Generate(const lower::Kernel& kernel,
                                             const analysis::BlockShape& block,
                                             Part part, std::string* error) {
  llvm::LLVMContext context;
  llvm::Module module(kernel.function->name, context);
  auto machine = HostMachine().createTargetMachine();
  if (!machine) {
    *error = llvm::toString(machine.takeError());
    return nullptr;
  }
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple((*machine)->getTargetTriple().str());
  KernelEmitter emitter(&module, kernel, block, HostCpu());
  if (auto reason = emitter.Emit(part)) {
    *error = *reason;
    return nullptr;
  }
  KeepOnly(part, &module);
  llvm::raw_string_ostream text(*error);
  if (llvm::verifyModule(module, &text)) return nullptr;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    Optimise(&function, machine->get());
    FenceMasks(&function);
  }
  if (std::getenv("HOLDFAST_SOFTWARE_DUMP") != nullptr) {
    std::string lines;  // at once: two threads may generate
    llvm::raw_string_ostream(lines) << module;
    llvm::errs() << lines;
  }
  return WriteObject(&module, machine->get(), error);
}

std::unique_ptr<llvm::MemoryBuffer> Find(const std::string& key) {
  std::string cached;
  if (key.empty() || !ObjectCache::Default().Load(key, &cached)) return nullptr;
  return llvm::MemoryBuffer::getMemBufferCopy(cached);
}

// The machine code of a kernel for one block shape, as object files from the
// cache, or generated and put there.
class Objects {
 public:
  Objects(const lower::Kernel& kernel, const analysis::BlockShape& block)
      : kernel_(kernel), block_(block) {}

  // Null with the reason in *error. Full code that is not in the cache comes
  // with masked code if that is sure to be needed and the system allows a
  // thread for it: two threads take hardly longer than one.
  std::unique_ptr<llvm::MemoryBuffer> Take(Part part, std::string* error) {
    if (part == Part::kDivergent && masked_ != nullptr)
      return std::move(masked_);
    if (auto object = Find(Key(part))) return object;
    std::optional<std::thread> beside;
    std::string ignored;  // comes up again if the code is needed
    if (part == Part::kFull && std::thread::hardware_concurrency() > 1 &&
        LikelyDivergent()) {
      beside = StartThread([&] { masked_ = Make(Part::kDivergent, &ignored); });
    }
    auto object = Make(part, error);
    if (beside.has_value()) beside->join();
    return object;
  }

 private:
  std::string Key(Part part) const {
    return ObjectCache::Default().enabled() ? CacheKey(kernel_, block_, part)
                                            : "";
  }

  bool LikelyDivergent() const {
    return analysis::LikelyDivergent(
        kernel_, analysis::AnalyzeDivergence(
                     kernel_, block_, analysis::Mode::kFull, HostCpu().lanes));
  }

  std::unique_ptr<llvm::MemoryBuffer> Make(Part part,
                                           std::string* error) const {
    auto object = Generate(kernel_, block_, part, error);
    const std::string key = Key(part);
    if (object != nullptr && !key.empty()) {
      ObjectCache::Default().Store(
          key, {object->getBufferStart(), object->getBufferSize()});
    }
    return object;
  }

  const lower::Kernel& kernel_;
  const analysis::BlockShape block_;
  std::unique_ptr<llvm::MemoryBuffer> masked_;
};

class JitKernel : public CompiledKernel {
 public:
  JitKernel(LLJIT* jit, const lower::Kernel& kernel,
            const analysis::BlockShape& block)
      : jit_(jit), kernel_(kernel), objects_(kernel, block) {
    for (MaskedSlot& slot : slots_) slot.kernel = this;
  }
  ~JitKernel() override {
    if (library_ == nullptr) return;
    llvm::consumeError(jit_->getExecutionSession().removeJITDylib(*library_));
  }

  bool Prepare(std::string* error) {
    static std::atomic<uint64_t> count{0};
    auto library = jit_->createJITDylib("kernel" + std::to_string(count++));
    if (!library) {
      *error = llvm::toString(library.takeError());
      return false;
    }
    library_ = &*library;
    if (auto failure = DefineHostSymbols(jit_, library_, kernel_,
                                         absl::MakeSpan(slots_))) {
      *error = llvm::toString(std::move(failure));
      return false;
    }
    function_ = reinterpret_cast<KernelFunction*>(Load(Part::kFull, error));
    return function_ != nullptr;
  }

  KernelFunction* function() const override { return function_; }

  std::optional<MachineAccess> Find(const MachineState& state) const override {
    MutexLock lock(&mutex_);
    for (const Loaded& part : loaded_) {
      if (auto access = FindAccess(*part.object, part.code, state)) {
        return access;
      }
    }
    return std::nullopt;
  }

  // Thread-safe. Null with the reason in *error.
  void* Masked(MaskedSlot* slot, std::string* error) {
    MutexLock lock(&mutex_);
    void* made = slot->function.load(std::memory_order_acquire);
    if (made != nullptr) return made;
    // On a stack of its own: that of a warp is too small for a compiler.
    auto thread = StartThread([&] { made = Load(slot->part, error); });
    if (!thread.has_value()) {
      *error = kNoThread;
      return nullptr;
    }
    thread->join();
    slot->function.store(made, std::memory_order_release);
    return made;
  }

 private:
  void* Load(Part part, std::string* error) {
    auto object = objects_.Take(part, error);
    if (object == nullptr) return nullptr;
    auto copy = llvm::MemoryBuffer::getMemBuffer(*object, false);
    if (auto failure = jit_->addObjectFile(*library_, std::move(copy))) {
      *error = llvm::toString(std::move(failure));
      return nullptr;
    }
    auto address = jit_->lookup(*library_, SymbolOf(part));
    if (address) {
      loaded_.push_back({address->getValue(), std::move(object)});
      return address->toPtr<void*>();
    }
    *error = llvm::toString(address.takeError());
    return nullptr;
  }

  // Has the line table.
  struct Loaded {
    uint64_t code;
    std::unique_ptr<llvm::MemoryBuffer> object;
  };

  LLJIT* const jit_;
  const lower::Kernel& kernel_;
  Objects objects_;
  llvm::orc::JITDylib* library_ = nullptr;
  KernelFunction* function_ = nullptr;
  MaskedSlot slots_[2] = {{.part = Part::kDivergent},
                          {.part = Part::kOverflow}};
  std::vector<Loaded> loaded_;  // once made, under mutex_
  mutable Mutex mutex_;
};

extern "C" void* holdfast_masked_function(WorkerContext* worker,
                                          MaskedSlot* slot) {
  std::string error;
  if (void* function = slot->kernel->Masked(slot, &error)) return function;
  std::fprintf(stderr,
               "holdfast software driver: no code for parted lanes: %s\n",
               error.c_str());
  holdfast_trap(worker, 0, 0);
}

}  // namespace

std::unique_ptr<CompiledKernel> Compile(const lower::Kernel& kernel,
                                        const analysis::BlockShape& block,
                                        std::string* error) {
  if (GetKernelWindow().size == 0) {
    *error = "this process has no room for the addresses of kernels";
    return nullptr;
  }
  LLJIT* jit = Jit(error);
  if (jit == nullptr) return nullptr;
  auto compiled = std::make_unique<JitKernel>(jit, kernel, block);
  if (!compiled->Prepare(error)) return nullptr;
  return compiled;
}

}  // namespace holdfast::software::jit
