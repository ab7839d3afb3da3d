// SPDX-License-Identifier: Apache-2.0
//
// Checks of stream capture for entry points. While no stream is captured, each
// check is only a load of one number.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_API_CAPTURE_CALL_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_API_CAPTURE_CALL_H_

#include "core/software/base/mutex.h"
#include "core/software/driver/driver.h"
#include "core/software/driver/graph/capture.h"
#include "cuda.h"

namespace holdfast::software {

// Captures the work of a call. Returns true if the entry point must not enqueue
// its work, and must return *result instead. If the stream is captured, calls
// make(NodeWork*), which sets the parameters of a node, and adds the node to
// the capture. Invalidates captures as CUDA does, and sets *result to the
// error.
template <typename Make>
bool Captured(Driver& driver, Stream& stream, CUresult* result, Make make) {
  if (driver.graphs.capturing == 0) return false;
  const DefinitionsLock lock(driver.graphs);
  if (stream.kind() == Stream::Kind::kLegacy &&
      CapturesImplicitly(driver, stream)) {
    Invalidate(driver, stream.context());
    *result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return true;
  }
  if (stream.capture == nullptr) return false;
  Capture& capture = *stream.capture->capture;
  *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (capture.is_invalidated) return true;
  NodeWork parameters;
  *result = make(&parameters);
  if (*result == CUDA_SUCCESS) {
    *result = AddCaptured(driver, stream, std::move(parameters));
  } else if (*result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    capture.is_invalidated = true;
  }
  return true;
}

// Does the same as Captured for a call that cannot be captured: if the stream
// is captured, invalidates the capture.
inline bool RefusedByCapture(Driver& driver, Stream& stream, CUresult* result) {
  return Captured(driver, stream, result, [](NodeWork*) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
}

// Invalidates the stream's capture, if the stream is captured.
inline void BreakCapture(Driver& driver, Stream& stream) {
  if (driver.graphs.capturing == 0) return;
  const DefinitionsLock lock(driver.graphs);
  if (stream.capture != nullptr) stream.capture->capture->is_invalidated = true;
}

// Makes the check of CheckUnsafeCall (graph/capture.h), for calls that CUDA
// calls unsafe during the capture of any stream, such as cuMemAlloc.
inline CUresult CheckUnsafe(Driver& driver) {
  if (driver.graphs.capturing == 0) return CUDA_SUCCESS;
  const DefinitionsLock lock(driver.graphs);
  return CheckUnsafeCall(driver);
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_API_CAPTURE_CALL_H_
