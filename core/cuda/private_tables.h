// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_PRIVATE_TABLES_H_
#define HOLDFAST_CORE_CUDA_PRIVATE_TABLES_H_

namespace holdfast::cuda {

// Explains a missing private table on standard error, once for each process.
// NVIDIA's libraries ask the driver for tables of functions that no header
// describes (cuGetExportTable), and Holdfast's drivers have none. NVRTC works
// without them; NVIDIA's runtime fails with "operation not supported". The text
// has the reason and the remedy. `caller` is an address in the asking code.
// Thread-safe.
void SayPrivateTablesAreMissing(const void* caller);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_PRIVATE_TABLES_H_
