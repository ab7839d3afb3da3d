// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/call_log.h"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/cuda/result.h"

namespace holdfast::libcuda {
namespace {

// The failure that this thread has printed and not yet returned.
thread_local CUresult told = CUDA_SUCCESS;

// The search for the outermost function of this library on the stack.
struct Search {
  const void* library = nullptr;  // where it is loaded
  const char* function = "";      // exported; empty: not known
};

_Unwind_Reason_Code Look(_Unwind_Context* frame, void* data) {
  auto& search = *static_cast<Search*>(data);
  const uintptr_t code = _Unwind_GetIP(frame) - 1;
  Dl_info place = {};
  const ElfW(Sym)* symbol = nullptr;
  if (dladdr1(reinterpret_cast<void*>(code), &place,
              reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)),
              RTLD_DL_SYMENT) == 0 ||
      place.dli_fbase != search.library) {
    return _URC_END_OF_STACK;
  }
  // dladdr1 names the symbol before code that is not exported.
  if (symbol != nullptr && place.dli_sname != nullptr &&
      code - reinterpret_cast<uintptr_t>(place.dli_saddr) < symbol->st_size) {
    search.function = place.dli_sname;
  }
  return _URC_NO_REASON;
}

// The name of the entry point that this thread is in; empty: not known.
const char* EntryPoint() {
  Dl_info own = {};
  if (dladdr(reinterpret_cast<void*>(&EntryPoint), &own) == 0) return "";
  Search search{.library = own.dli_fbase};
  _Unwind_Backtrace(Look, &search);
  return absl::StartsWith(search.function, "cu") ? search.function : "";
}

}  // namespace

bool Logs() {
  static const bool logs = [] {
    const char* value = std::getenv("HOLDFAST_CUDA_LOG");
    return value != nullptr && *value != '\0' && *value != '0';
  }();
  return logs;
}

void PrintFailure(CUresult result, absl::string_view why) {
  told = result;
  std::string line = absl::StrCat("holdfast: ", cuda::ResultName(result));
  if (!why.empty()) absl::StrAppend(&line, ": ", why);
  std::fprintf(stderr, "%s\n", line.c_str());
}

CUresult Failed(CUresult result, absl::string_view why) {
  if (Logs()) {
    const char* const function = EntryPoint();
    PrintFailure(result,
                 absl::StrCat(function, *function == '\0' ? "" : ": ", why));
  }
  return result;
}

void LogResult(CUresult result) {
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY || !Logs()) {
    return;
  }
  if (told != result) {
    const char* const function = EntryPoint();
    PrintFailure(result, *function == '\0'
                             ? ""
                             : absl::StrCat(function, " has refused the call"));
  }
  told = CUDA_SUCCESS;
}

}  // namespace holdfast::libcuda
