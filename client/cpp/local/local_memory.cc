// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/local/local_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cpp/local/local_context.h"
#include "client/cpp/local/local_driver.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

// A descriptor that opens an allocation in another process, and where the
// bytes lie in it.
struct Exported {
  UniqueFd descriptor;
  uint64_t offset = 0;
};

absl::Status CannotShare(const LocalDriver& driver, CUresult result,
                         const char* call) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the memory cannot be shared: ", driver.Check(result, call).message()));
}

// A descriptor of memory that cuMemCreate made; not valid if another call did.
absl::StatusOr<UniqueFd> ExportChunk(const LocalDriver& driver,
                                     uint64_t pointer) {
  CUmemGenericAllocationHandle handle = 0;
  if (driver.cuMemRetainAllocationHandle(
          &handle, reinterpret_cast<void*>(pointer)) != CUDA_SUCCESS) {
    return UniqueFd();
  }
  int fd = -1;
  const CUresult result = driver.cuMemExportToShareableHandle(
      &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  driver.cuMemRelease(handle);
  if (result != CUDA_SUCCESS) {
    return CannotShare(driver, result, "cuMemExportToShareableHandle");
  }
  return UniqueFd(fd);
}

// A memfd with the allocation's IPC handle.
absl::StatusOr<UniqueFd> ExportHandle(const LocalDriver& driver,
                                      CUdeviceptr base) {
  CUipcMemHandle handle;
  const CUresult result = driver.cuIpcGetMemHandle(&handle, base);
  if (result != CUDA_SUCCESS) {
    return CannotShare(driver, result, "cuIpcGetMemHandle");
  }
  return CreateSealedMemfd("holdfast-ipc-handle",
                           {handle.reserved, sizeof handle.reserved});
}

// REQUIRES: the device's context is current.
absl::StatusOr<Exported> Export(const LocalDriver& driver, uint64_t pointer,
                                uint64_t size) {
  CUdeviceptr base = 0;
  size_t all = 0;
  const CUresult result = driver.cuMemGetAddressRange(&base, &all, pointer);
  if (result != CUDA_SUCCESS) {
    return CannotShare(driver, result, "cuMemGetAddressRange");
  }
  Exported exported{.offset = pointer - base};
  if (size > all - exported.offset) {
    return absl::FailedPreconditionError(
        absl::StrCat(size, " bytes at ", exported.offset,
                     " of an allocation of ", all, " bytes"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(exported.descriptor, ExportChunk(driver, pointer));
  if (!exported.descriptor.valid()) {
    HOLDFAST_ASSIGN_OR_RETURN(exported.descriptor, ExportHandle(driver, base));
  }
  return exported;
}

}  // namespace

absl::StatusOr<Buffer> ImportLocal(const Device& device, uint64_t pointer,
                                   uint64_t size,
                                   const LocalMappingOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const LocalDriver driver,
                            LocalDriver::Load(options.driver));
  HOLDFAST_ASSIGN_OR_RETURN(const LocalContext context,
                            LocalContext::Retain(driver, options.device));
  absl::StatusOr<Exported> exported;
  {
    const ScopedLocalContext current(driver, context);
    HOLDFAST_RETURN_IF_ERROR(current.status());
    exported = Export(driver, pointer, size);
  }
  HOLDFAST_RETURN_IF_ERROR(exported.status());
  return device.ImportDescriptor(exported->descriptor.get(), exported->offset,
                                 size);
}

}  // namespace holdfast
