// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_PRIVATE_TABLES_H_
#define HOLDFAST_CORE_CUDA_PRIVATE_TABLES_H_

namespace holdfast::cuda {

// NVIDIA's libraries ask the driver for tables of functions that no header
// describes (cuGetExportTable); Holdfast's drivers have none. NVRTC goes on
// without them. NVIDIA's runtime gives up with "operation not supported": so
// this says on standard error, once a process, why, and what helps. `caller` is
// an address in the code that has asked. Thread-safe.
void SayPrivateTablesAreMissing(const void* caller);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_PRIVATE_TABLES_H_
