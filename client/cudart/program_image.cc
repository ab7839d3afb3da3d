// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/program_image.h"

#include <cstdint>
#include <cstring>

#include "fatbinary_section.h"

namespace holdfast::libcudart {
namespace {

// The beginning of a fat binary.
struct FatBinaryHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;
  uint64_t size;  // The bytes after the header.
};

size_t SizeOf(const void* fat_binary) {
  FatBinaryHeader header;
  std::memcpy(&header, fat_binary, sizeof(header));
  return header.header_size + static_cast<size_t>(header.size);
}

// Lets the thread load code while the program captures a stream.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver)
      : driver_(driver),
        exchanged_(driver.ThreadExchangeStreamCaptureMode(&mode_) ==
                   CUDA_SUCCESS) {}
  ~RelaxedCapture() {
    if (exchanged_) driver_.ThreadExchangeStreamCaptureMode(&mode_);
  }

  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Driver& driver_;
  // The mode that the thread does not have now.
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  const bool exchanged_;
};

CUresult LoadData(const Driver& driver, const void* code, CUlibrary* library) {
  return driver.LibraryLoadData(library, code, nullptr, nullptr, 0, nullptr,
                                nullptr, 0);
}

// As LoadData, without the driver's explanation of a refusal: parts may serve
// instead. The image is read now, which a driver may else leave for later.
CUresult TryToLoad(const Driver& driver, const void* code, CUlibrary* library) {
  char log[1] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUresult result = driver.LibraryLoadData(library, code, options, values, 2,
                                           nullptr, nullptr, 0);
  if (result != CUDA_SUCCESS) return result;
  unsigned count = 0;
  result = driver.LibraryGetKernelCount(&count, *library);
  if (result != CUDA_SUCCESS) driver.LibraryUnload(*library);
  return result;
}

}  // namespace

ProgramImage::ProgramImage(const void* wrapper) {
  __fatBinC_Wrapper_t described;
  std::memcpy(&described, wrapper, sizeof(described));
  code_ = described.data;
  parts_ = described.version == FATBINC_LINK_VERSION
               ? static_cast<const void* const*>(described.filename_or_fatbins)
               : nullptr;
}

CUresult ProgramImage::Load(const Driver& driver, CUlibrary* library) const {
  const RelaxedCapture relaxed(driver);
  if (parts_ == nullptr) return LoadData(driver, code_, library);
  const CUresult result = TryToLoad(driver, code_, library);
  const bool unusable = result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
                        result == CUDA_ERROR_INVALID_IMAGE;
  if (unusable) return LoadParts(driver, library);
  // Again, so that the driver says why.
  return result == CUDA_SUCCESS ? result : LoadData(driver, code_, library);
}

CUresult ProgramImage::LoadParts(const Driver& driver,
                                 CUlibrary* library) const {
  CUlinkState link = nullptr;
  CUresult result = driver.LinkCreate(0, nullptr, nullptr, &link);
  if (result != CUDA_SUCCESS) return result;
  for (const void* const* part = parts_;
       *part != nullptr && result == CUDA_SUCCESS; ++part) {
    result = driver.LinkAddData(link, CU_JIT_INPUT_FATBINARY,
                                const_cast<void*>(*part), SizeOf(*part), "", 0,
                                nullptr, nullptr);
  }
  void* code = nullptr;
  size_t size = 0;
  if (result == CUDA_SUCCESS) result = driver.LinkComplete(link, &code, &size);
  if (result == CUDA_SUCCESS) result = LoadData(driver, code, library);
  driver.LinkDestroy(link);
  return result;
}

}  // namespace holdfast::libcudart
