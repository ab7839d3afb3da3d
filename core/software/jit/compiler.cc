// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/compiler.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/software/jit/kernel_emitter.h"
#include "core/software/jit/object_cache.h"
#include "core/software/semantics/scalar_operations.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
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

constexpr char kSymbol[] = "kernel";

llvm::orc::JITTargetMachineBuilder HostMachine() {
  auto machine =
      llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
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

class JitKernel : public CompiledKernel {
 public:
  JitKernel(LLJIT* jit, llvm::orc::JITDylib* library, KernelFunction* function)
      : jit_(jit), library_(library), function_(function) {}
  ~JitKernel() override {
    llvm::consumeError(jit_->getExecutionSession().removeJITDylib(*library_));
  }
  KernelFunction* function() const override { return function_; }

 private:
  LLJIT* jit_;
  llvm::orc::JITDylib* library_;
  KernelFunction* function_;
};

// What generated code may call (abi.h), and the module's variables.
llvm::Error DefineHostSymbols(LLJIT* jit, llvm::orc::JITDylib* library,
                              const lower::Kernel& kernel) {
  llvm::orc::SymbolMap symbols;
  const std::vector<uint64_t>& addresses = *kernel.global_addresses;
  for (uint32_t i = 0; i < addresses.size(); ++i) {
    symbols[jit->mangleAndIntern(VariableSymbol(i))] = {
        llvm::orc::ExecutorAddr(addresses[i]), llvm::JITSymbolFlags::Exported};
  }
  auto define = [&](const char* name, auto* function) {
    symbols[jit->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported};
  };
#define DEFINE(function) define(#function, &function)
  DEFINE(holdfast_cancelled);
  DEFINE(holdfast_barrier_arrive);
  DEFINE(holdfast_barrier_passed);
  DEFINE(holdfast_barrier_result);
  DEFINE(holdfast_wait);
  DEFINE(holdfast_lanes_ended);
  DEFINE(holdfast_yield);
  DEFINE(holdfast_trap);
  DEFINE(holdfast_match_any32);
  DEFINE(holdfast_match_any64);
  DEFINE(holdfast_match_all32);
  DEFINE(holdfast_match_all64);
  DEFINE(holdfast_globaltimer);
  DEFINE(holdfast_device_vprintf);
  DEFINE(holdfast_device___assertfail);
  DEFINE(holdfast_device_malloc);
  DEFINE(holdfast_device_free);
#define DEFINE_SCALAR(name) DEFINE(holdfast_scalar_##name);
  HOLDFAST_SCALAR_OPERATIONS(DEFINE_SCALAR)
#undef DEFINE_SCALAR
#undef DEFINE
  return library->define(llvm::orc::absoluteSymbols(std::move(symbols)));
}

llvm::Expected<std::unique_ptr<CompiledKernel>> Link(
    LLJIT* jit, std::unique_ptr<llvm::MemoryBuffer> object,
    const lower::Kernel& kernel) {
  static std::atomic<uint64_t> count{0};
  auto library = jit->createJITDylib("kernel" + std::to_string(count++));
  if (!library) return library.takeError();
  if (auto error = DefineHostSymbols(jit, &*library, kernel)) return error;
  if (auto error = jit->addObjectFile(*library, std::move(object))) {
    return error;
  }
  auto address = jit->lookup(*library, kSymbol);
  if (!address) return address.takeError();
  return std::make_unique<JitKernel>(jit, &*library,
                                     address->toPtr<KernelFunction*>());
}

}  // namespace

int HostChunkLanes() {
  static const int lanes = [] {
    const auto features = llvm::sys::getHostCPUFeatures();
    return features.lookup("avx512f") && features.lookup("avx512bw") &&
                   features.lookup("avx512dq") && features.lookup("avx512vl")
               ? 16
               : 8;
  }();
  return lanes;
}

namespace {

// Everything that code depends on; empty if it cannot be told.
std::string CacheKey(const lower::Kernel& kernel,
                     const lower::BlockShape& block) {
  static const auto& machine = *new std::string([] {
    const auto builder = HostMachine();
    return builder.getCPU() + "\n" + builder.getFeatures().getString() + "\n" +
           BuildId();
  }());
  if (kernel.fingerprint.empty() || BuildId().empty() ||
      std::getenv("HOLDFAST_SOFTWARE_DUMP") != nullptr) {
    return "";
  }
  return Sha256Hex(absl::StrCat(machine, "\n", kernel.fingerprint, "\n",
                                kernel.function->name, "\n", block.x, ",",
                                block.y, ",", block.z));
}

// An object file; null with the reason in *error.
std::unique_ptr<llvm::MemoryBuffer> Generate(const lower::Kernel& kernel,
                                             const lower::BlockShape& block,
                                             std::string* error) {
  llvm::LLVMContext context;
  llvm::Module module(kernel.function->name, context);
  auto machine = HostMachine().createTargetMachine();
  if (!machine) {
    *error = llvm::toString(machine.takeError());
    return nullptr;
  }
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple((*machine)->getTargetTriple().str());
  KernelEmitter emitter(&module, kernel, block, HostChunkLanes());
  if (auto reason = emitter.Emit(kSymbol)) {
    *error = *reason;
    return nullptr;
  }
  llvm::raw_string_ostream text(*error);
  if (llvm::verifyModule(module, &text)) return nullptr;
  Optimise(module.getFunction(kSymbol), machine->get());
  if (std::getenv("HOLDFAST_SOFTWARE_DUMP") != nullptr) {
    module.print(llvm::errs(), nullptr);
  }
  auto object = llvm::orc::SimpleCompiler(**machine)(module);
  if (!object) {
    *error = llvm::toString(object.takeError());
    return nullptr;
  }
  return std::move(*object);
}

}  // namespace

std::unique_ptr<CompiledKernel> Compile(const lower::Kernel& kernel,
                                        const lower::BlockShape& block,
                                        std::string* error) {
  LLJIT* jit = Jit(error);
  if (jit == nullptr) return nullptr;
  const ObjectCache& cache = ObjectCache::Default();
  const std::string key = cache.enabled() ? CacheKey(kernel, block) : "";
  std::string cached;
  std::unique_ptr<llvm::MemoryBuffer> object;
  if (!key.empty() && cache.Load(key, &cached)) {
    object = llvm::MemoryBuffer::getMemBufferCopy(cached);
  } else {
    object = Generate(kernel, block, error);
    if (object == nullptr) return nullptr;
    if (!key.empty()) {
      cache.Store(key, {object->getBufferStart(), object->getBufferSize()});
    }
  }
  auto linked = Link(jit, std::move(object), kernel);
  if (!linked) {
    *error = llvm::toString(linked.takeError());
    return nullptr;
  }
  return std::move(*linked);
}

}  // namespace holdfast::software::jit
