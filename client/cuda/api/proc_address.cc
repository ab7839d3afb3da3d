// SPDX-License-Identifier: Apache-2.0
//
// cuGetProcAddress, and the forms of functions for per-thread default streams.
#include "core/cuda/proc_address.h"

#include <array>

#include "client/cuda/context.h"
#include "core/cuda/first_forms.h"
#include "core/cuda/graph_versions.h"
#include "core/cuda/private_tables.h"
#include "cuda.h"

// Deprecated is not gone.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

// Two functions that only cudaProfiler.h declares.
extern "C" CUresult cuProfilerStart();
extern "C" CUresult cuProfilerStop();

namespace holdfast::libcuda {
namespace {

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

template <auto kFunction>
EntryPoint Plain(const char* name, int version) {
  void* const address = reinterpret_cast<void*>(kFunction);
  return {name, version, address, address};
}

template <auto kFunction>
EntryPoint OfStream(const char* name, int version) {
  return {name, version, reinterpret_cast<void*>(kFunction),
          reinterpret_cast<void*>(&PerThread<kFunction>::Call)};
}

#define HOLDFAST_UNSUPPORTED(symbol, version)
#define HOLDFAST_UNSUPPORTED_SYMBOL(symbol)
const auto& Entries() {
  static const auto& entries = *new auto(std::to_array<EntryPoint>({
#define HOLDFAST_ENTRY(symbol, name, version) Plain<&symbol>(name, version),
#define HOLDFAST_STREAM_ENTRY(symbol, name, version) \
  OfStream<&symbol>(name, version),
#include "core/cuda/entry_points.inc"
#undef HOLDFAST_ENTRY
#undef HOLDFAST_STREAM_ENTRY
  }));
  return entries;
}

}  // namespace
}  // namespace holdfast::libcuda

#define HOLDFAST_PER_THREAD(symbol) holdfast::libcuda::PerThread<&symbol>::Call
#include "core/cuda/per_thread_symbols.inc"

using namespace holdfast::libcuda;

extern "C" {

CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                             cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  return holdfast::cuda::FindProcAddress(Entries(), name, function, version,
                                         flags, status);
}

// For programs compiled with --default-stream per-thread.
CUresult cuGetProcAddress_v2_ptsz(const char* name, void** function,
                                  int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult* status) {
  if (flags == CU_GET_PROC_ADDRESS_DEFAULT) {
    flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  }
  return cuGetProcAddress_v2(name, function, version, flags, status);
}

CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  holdfast::cuda::SayPrivateTablesAreMissing(__builtin_return_address(0));
  return CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
