// SPDX-License-Identifier: Apache-2.0
//
// Entry points: records of events.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

extern "C" {

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return CallInContext(&Driver::EventRecord, event, stream);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                     unsigned flags) {
  return CallInContext(&Driver::EventRecordWithFlags, event, stream, flags);
}

}  // extern "C"
