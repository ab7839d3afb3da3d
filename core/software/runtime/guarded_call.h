// SPDX-License-Identifier: Apache-2.0
//
// Runs generated code so that it can be left from anywhere: by a call from
// within, or by a memory fault.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_GUARDED_CALL_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_GUARDED_CALL_H_

#include <cstdint>

#include "core/software/runtime/abi.h"

namespace holdfast::software {

enum class CallEnd { kReturned, kFault, kCancelled };

struct CallOutcome {
  CallEnd end = CallEnd::kReturned;
  uintptr_t fault_address = 0;
};

// Calls body(argument) on this thread. A SIGSEGV or SIGBUS in it ends the
// call; the frames in between are dropped without destructors, so only
// generated code and what it calls may stand there. Signals outside of such a
// call go to the handler that was installed before.
CallOutcome GuardedCall(WorkerContext* worker, void (*body)(void*),
                        void* argument);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_GUARDED_CALL_H_
