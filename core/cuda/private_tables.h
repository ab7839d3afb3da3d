// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_PRIVATE_TABLES_H_
#define HOLDFAST_CORE_CUDA_PRIVATE_TABLES_H_

namespace holdfast::cuda {

// Explains on standard error, once in a process, that a private table is
// missing. Private tables are tables of functions that NVIDIA's libraries get
// from the driver (cuGetExportTable) and that no header describes; Holdfast's
// drivers have none. NVIDIA's runtime then fails with "operation not
// supported", so the text has the reason and the remedy. Prints nothing for
// NVRTC, nvJitLink and libNVVM, which work without the tables. `caller` is an
// address in the code that called cuGetExportTable. Thread-safe.
void SayPrivateTablesAreMissing(const void* caller);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_PRIVATE_TABLES_H_
