// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams that write values to memory and wait for values. None
// waits for the daemon.
#include "client/cuda/api/call.h"
#include "client/cuda/graph/work.h"
#include "client/cuda/value_batch.h"

using namespace holdfast::libcuda;

namespace {

CUresult Submit(CUstream handle, ValueBatch::Parameters parameters) {
  return WithWork(
      handle,
      [&](Process& process, Stream& stream, NodeWork* work) {
        const std::shared_ptr<Context> context = stream.context();
        if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        // Reading changes no operation.
        return ReadValues(
            process,
            {context->handle(), static_cast<unsigned>(parameters.size()),
             const_cast<CUstreamBatchMemOpParams*>(parameters.data()), 0},
            work);
      },
      [&](Process& process, Stream& stream) -> CUresult {
        const std::shared_ptr<Context> context = stream.context();
        if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        HOLDFAST_ANSWER_OR_ASSIGN(const ValueBatch batch,
                                  ValueBatch::Read(process.memory, parameters));
        HOLDFAST_ANSWER_IF_ERROR(batch.CheckSupport(
            process.connection()
                .devices()[static_cast<size_t>(context->ordinal())]));
        return batch.empty() ? CUDA_SUCCESS
                             : Answer(holdfast::BatchValues(batch.operations(),
                                                            stream.queue()));
      });
}

CUresult Wait(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address,
              cuuint64_t value, unsigned flags) {
  CUstreamBatchMemOpParams p{};
  p.waitValue.operation = type;
  p.waitValue.address = address;
  p.waitValue.value64 = value;
  p.waitValue.flags = flags;
  return Submit(stream, {&p, 1});
}

CUresult Write(CUstream stream, CUstreamBatchMemOpType type,
               CUdeviceptr address, cuuint64_t value, unsigned flags) {
  CUstreamBatchMemOpParams p{};
  p.writeValue.operation = type;
  p.writeValue.address = address;
  p.writeValue.value64 = value;
  p.writeValue.flags = flags;
  return Submit(stream, {&p, 1});
}

}  // namespace

extern "C" {

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address,
                                cuuint32_t value, unsigned flags) {
  return Wait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address,
                                cuuint64_t value, unsigned flags) {
  return Wait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address,
                                 cuuint32_t value, unsigned flags) {
  return Write(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address,
                                 cuuint64_t value, unsigned flags) {
  return Write(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
                               CUstreamBatchMemOpParams* parameters,
                               unsigned flags) {
  if (parameters == nullptr || flags != 0)
    return Failed(CUDA_ERROR_INVALID_VALUE);
  return Submit(stream, {parameters, count});
}

}  // extern "C"
