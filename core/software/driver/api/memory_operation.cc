// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams that wait for values in memory, and write them.
#include "core/software/driver/memory_operation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/software/driver/api/capture_call.h"
#include "core/software/driver/call.h"

using namespace holdfast::software;

namespace {

CUresult Enqueue(CUstream handle,
                 std::vector<CUstreamBatchMemOpParams> parameters) {
  std::vector<MemoryOperation> operations;
  const CUresult parsed = ParseOperations(
      parameters.data(), static_cast<unsigned>(parameters.size()), &operations);
  if (parsed != CUDA_SUCCESS) return parsed;
  return WithStream(handle, [&](Driver& driver, Stream& stream) {
    const CUresult result = CheckOperations(driver.memory, operations);
    if (result != CUDA_SUCCESS) return result;
    CUresult captured;
    if (Captured(driver, stream, &captured, [&](NodeWork* node) {
          *node = ValueWork{stream.context().handle(), parameters, operations};
          return CUDA_SUCCESS;
        })) {
      return captured;
    }
    const bool waits = std::any_of(
        operations.begin(), operations.end(), [](const MemoryOperation& o) {
          return o.kind == MemoryOperation::Kind::kWait;
        });
    // The stream lives while it runs an operation.
    const auto run = [&memory = driver.memory, &stream,
                      operations = std::move(operations)] {
      for (const MemoryOperation& operation : operations) {
        stream.SetHeldUp(operation.kind == MemoryOperation::Kind::kWait);
        Run(memory, operation);
        stream.SetHeldUp(false);
      }
    };
    return stream.Add({.run = run}, waits ? Stream::Runner::kWorker
                                          : Stream::Runner::kCaller);
  });
}

CUstreamBatchMemOpParams WaitOf(CUstreamBatchMemOpType type,
                                CUdeviceptr address, cuuint64_t value,
                                unsigned flags) {
  CUstreamBatchMemOpParams p{};
  p.waitValue.operation = type;
  p.waitValue.address = address;
  p.waitValue.value64 = value;
  p.waitValue.flags = flags;
  return p;
}

CUstreamBatchMemOpParams WriteOf(CUstreamBatchMemOpType type,
                                 CUdeviceptr address, cuuint64_t value,
                                 unsigned flags) {
  CUstreamBatchMemOpParams p{};
  p.writeValue.operation = type;
  p.writeValue.address = address;
  p.writeValue.value64 = value;
  p.writeValue.flags = flags;
  return p;
}

}  // namespace

extern "C" {

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address,
                                cuuint32_t value, unsigned flags) {
  return Enqueue(
      stream, {WaitOf(CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags)});
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address,
                                cuuint64_t value, unsigned flags) {
  return Enqueue(
      stream, {WaitOf(CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags)});
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address,
                                 cuuint32_t value, unsigned flags) {
  return Enqueue(stream, {WriteOf(CU_STREAM_MEM_OP_WRITE_VALUE_32, address,
                                  value, flags)});
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address,
                                 cuuint64_t value, unsigned flags) {
  return Enqueue(stream, {WriteOf(CU_STREAM_MEM_OP_WRITE_VALUE_64, address,
                                  value, flags)});
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
                               CUstreamBatchMemOpParams* parameters,
                               unsigned flags) {
  constexpr unsigned kMostOperations = 256;
  if (parameters == nullptr || flags != 0 || count > kMostOperations) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Enqueue(stream, {parameters, parameters + count});
}

}  // extern "C"
