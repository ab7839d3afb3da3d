// SPDX-License-Identifier: Apache-2.0
//
// cuGetProcAddress: the way to everything else.
#include "core/cuda/proc_address.h"

#include <vector>

#include "core/cuda/error_text.h"
#include "core/cuda/first_forms.h"
#include "core/cuda/graph_versions.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/driver/driver.h"
#include "core/software/driver/fault.h"
#include "core/software/driver/not_served.h"
#include "core/software/driver/refusal.h"
#include "core/software/driver/settings.h"
#include "core/software/driver/trace.h"
#include "core/software/jit/code_store.h"
#include "cuda.h"

// Deprecated is not gone.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

// A function of CUDA 12 that cuda.h no longer declares, and two that only
// cudaProfiler.h does.
extern "C" CUresult cuCtxCreate_v2(CUcontext*, unsigned, CUdevice);
extern "C" CUresult cuProfilerStart();
extern "C" CUresult cuProfilerStop();

// Beyond CUDA: why the process has a sticky error, or null. Asked for by name
// as everything else; no driver of a GPU has it.
extern "C" const char* holdfastSoftwareLastFault() {
  return holdfast::software::LastFaultMessage();
}

// Beyond CUDA: the program asks for the above and tells it. The driver prints
// no fault from now on.
extern "C" void holdfastSoftwareLeaveFaults() {
  holdfast::software::LeaveFaultsToProgram();
}

// Beyond CUDA: why the calling thread's last call was refused, or null.
extern "C" const char* holdfastSoftwareLastRefusal() {
  return holdfast::software::LastRefusal();
}

// Beyond CUDA: has generated code kept by the program; core/software/jit/
// code_store.h says how.
extern "C" void holdfastSoftwareSetCodeStore(const holdfast::CodeStore* store) {
  holdfast::software::jit::SetCodeStore(*store);
}

// Beyond CUDA: may the program map memory in the arenas' range, so that
// cuMemHostRegister makes it known to kernels at the address that it has there?
extern "C" bool holdfastSoftwareHasArenaRange() {
  return holdfast::software::HasArenaRange();
}

// Beyond CUDA, and only in memcheck mode. holdfastSoftwareAddBuffer says that
// the program has cut a buffer out of memory that it allocated: from then on
// kernels may access only such buffers of that memory.
// holdfastSoftwareRemoveBuffer says that the program has freed the buffer. It
// is a CUhostFn, so that a stream can free the buffer in its order.
extern "C" void holdfastSoftwareAddBuffer(CUdeviceptr address, size_t size) {
  holdfast::software::BufferTable::Get()->AddPart(address, size);
}
extern "C" void holdfastSoftwareRemoveBuffer(void* address) {
  holdfast::software::BufferTable::Get()->RemovePart(
      reinterpret_cast<uintptr_t>(address));
}

namespace holdfast::software {
namespace {

enum Index {
#define HOLDFAST_ENTRY(symbol, name, version) k_##symbol,
#define HOLDFAST_STREAM_ENTRY(symbol, name, version) k_##symbol,
#define HOLDFAST_UNSUPPORTED(symbol, version)
#define HOLDFAST_UNSUPPORTED_SYMBOL(symbol)
#include "core/cuda/entry_points.inc"
#undef HOLDFAST_ENTRY
#undef HOLDFAST_STREAM_ENTRY
#undef HOLDFAST_UNSUPPORTED
#undef HOLDFAST_UNSUPPORTED_SYMBOL
};

constexpr const char* kSymbols[] = {
#define HOLDFAST_ENTRY(symbol, name, version) #symbol,
#define HOLDFAST_STREAM_ENTRY(symbol, name, version) #symbol,
#define HOLDFAST_UNSUPPORTED(symbol, version)
#define HOLDFAST_UNSUPPORTED_SYMBOL(symbol)
#include "core/cuda/entry_points.inc"
#undef HOLDFAST_ENTRY
#undef HOLDFAST_STREAM_ENTRY
#undef HOLDFAST_UNSUPPORTED
#undef HOLDFAST_UNSUPPORTED_SYMBOL
};

void TraceCall(Index index, CUresult result) {
  const Trace trace = GetSettings().trace;
  const bool failed = result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
  if (trace == Trace::kAll || (trace == Trace::kFailures && failed)) {
    Print(kSymbols[index], " -> ", cuda::ErrorName(result));
  }
}

// kFunction, named in the trace.
template <Index kIndex, auto kFunction>
struct Traced;
template <Index kIndex, typename... Args, CUresult (*kFunction)(Args...)>
struct Traced<kIndex, kFunction> {
  static CUresult Call(Args... args) {
    const CUresult result = kFunction(args...);
    TraceCall(kIndex, result);
    return result;
  }
};

// kFunction with the null stream meaning the thread's own default stream.
template <auto kFunction>
struct PerThread;
template <typename... Args, CUresult (*kFunction)(Args...)>
struct PerThread<kFunction> {
  static CUresult Call(Args... args) {
    const PerThreadDefaultStream scope;
    return kFunction(args...);
  }
};

using cuda::EntryPoint;

template <Index kIndex, auto kFunction>
void* Address() {
  return GetSettings().trace == Trace::kOff
             ? reinterpret_cast<void*>(kFunction)
             : reinterpret_cast<void*>(&Traced<kIndex, kFunction>::Call);
}

template <Index kIndex, auto kFunction>
EntryPoint MakeEntry(const char* name, int version) {
  void* const address = Address<kIndex, kFunction>();
  return {name, version, address, address};
}

template <Index kIndex, auto kFunction>
EntryPoint MakeStreamEntry(const char* name, int version) {
  return {name, version, Address<kIndex, kFunction>(),
          Address<kIndex, &PerThread<kFunction>::Call>()};
}

std::vector<EntryPoint> MakeEntries() {
  Driver::Get();  // which reads the settings
  std::vector<EntryPoint> entries = {
#define HOLDFAST_ENTRY(symbol, name, version) \
  MakeEntry<k_##symbol, &symbol>(name, version),
#define HOLDFAST_STREAM_ENTRY(symbol, name, version) \
  MakeStreamEntry<k_##symbol, &symbol>(name, version),
#define HOLDFAST_UNSUPPORTED(symbol, version)
#define HOLDFAST_UNSUPPORTED_SYMBOL(symbol)
#include "core/cuda/entry_points.inc"
#undef HOLDFAST_ENTRY
#undef HOLDFAST_STREAM_ENTRY
#undef HOLDFAST_UNSUPPORTED
#undef HOLDFAST_UNSUPPORTED_SYMBOL
      {"holdfastSoftwareLastFault", 0,
       reinterpret_cast<void*>(&holdfastSoftwareLastFault),
       reinterpret_cast<void*>(&holdfastSoftwareLastFault)},
      {"holdfastSoftwareLeaveFaults", 0,
       reinterpret_cast<void*>(&holdfastSoftwareLeaveFaults),
       reinterpret_cast<void*>(&holdfastSoftwareLeaveFaults)},
      {"holdfastSoftwareLastRefusal", 0,
       reinterpret_cast<void*>(&holdfastSoftwareLastRefusal),
       reinterpret_cast<void*>(&holdfastSoftwareLastRefusal)},
      {"holdfastSoftwareSetCodeStore", 0,
       reinterpret_cast<void*>(&holdfastSoftwareSetCodeStore),
       reinterpret_cast<void*>(&holdfastSoftwareSetCodeStore)},
      {"holdfastSoftwareHasArenaRange", 0,
       reinterpret_cast<void*>(&holdfastSoftwareHasArenaRange),
       reinterpret_cast<void*>(&holdfastSoftwareHasArenaRange)},
  };
  if (BufferTable::Get() != nullptr) {
    entries.push_back({"holdfastSoftwareAddBuffer", 0,
                       reinterpret_cast<void*>(&holdfastSoftwareAddBuffer),
                       reinterpret_cast<void*>(&holdfastSoftwareAddBuffer)});
    entries.push_back({"holdfastSoftwareRemoveBuffer", 0,
                       reinterpret_cast<void*>(&holdfastSoftwareRemoveBuffer),
                       reinterpret_cast<void*>(&holdfastSoftwareRemoveBuffer)});
  }
  for (const NotServed& missing : FunctionsNotServed()) {
    entries.push_back(
        {missing.name, missing.version, missing.function, missing.function});
  }
  return entries;
}

const std::vector<EntryPoint>& Entries() {
  static const auto& entries = *new std::vector<EntryPoint>(MakeEntries());
  return entries;
}

}  // namespace
}  // namespace holdfast::software

#define HOLDFAST_PER_THREAD(symbol) holdfast::software::PerThread<&symbol>::Call
#include "core/cuda/per_thread_symbols.inc"

extern "C" CUresult cuGetProcAddress_v2(
    const char* name, void** function, int version, cuuint64_t flags,
    CUdriverProcAddressQueryResult* status) {
  return holdfast::cuda::FindProcAddress(holdfast::software::Entries(), name,
                                         function, version, flags, status);
}

// For programs compiled with --default-stream per-thread, which get forms of
// their kind unless they ask for the others.
extern "C" CUresult cuGetProcAddress_v2_ptsz(
    const char* name, void** function, int version, cuuint64_t flags,
    CUdriverProcAddressQueryResult* status) {
  if (flags == CU_GET_PROC_ADDRESS_DEFAULT) {
    flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  }
  return cuGetProcAddress_v2(name, function, version, flags, status);
}
