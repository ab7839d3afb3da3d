// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/fault.h"

#include <atomic>

#include "core/cuda/error_text.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/trace.h"

namespace holdfast::software {
namespace {

std::atomic<CUresult> fault{CUDA_SUCCESS};
std::atomic<bool> program_tells{false};
Mutex fault_mutex;
// Leaked, so that it can be read while the process ends.
std::atomic<const std::string*> fault_message{nullptr};

}  // namespace

void ReportFault(CUresult result, absl::string_view message) {
  {
    MutexLock lock(&fault_mutex);
    if (fault.load() != CUDA_SUCCESS) return;
    fault_message = new std::string(message);
    fault = result;
  }
  if (!program_tells) Print(cuda::ErrorName(result), ": ", message);
}

void LeaveFaultsToProgram() { program_tells = true; }
bool AreFaultsLeftToProgram() { return program_tells; }

CUresult LastFault() { return fault.load(std::memory_order_acquire); }

const char* LastFaultMessage() {
  const std::string* message = fault_message.load(std::memory_order_acquire);
  return message == nullptr ? nullptr : message->c_str();
}

}  // namespace holdfast::software
