// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/image.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/cuda/result.h"
#include "cuda.h"

namespace holdfast::cuda {
namespace {

constexpr uint32_t kFatbinMagic = 0xba55ed50;

// At the front of a fatbin; `size` counts what follows the header.
struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;
  uint64_t size;
};

// True if [offset, offset + count * size) lies within the image.
bool Within(absl::string_view image, uint64_t offset, uint64_t count,
            uint64_t size) {
  if (offset > image.size()) return false;
  return size == 0 || count <= (image.size() - offset) / size;
}

// An error as the driver would make it, which is not asked.
absl::Status InvalidImage(absl::string_view why) {
  ErrorDetail detail;
  detail.result = CUDA_ERROR_INVALID_IMAGE;
  detail.result_name = ResultName(CUDA_ERROR_INVALID_IMAGE);
  detail.explanation = std::string(ExplainResult(CUDA_ERROR_INVALID_IMAGE));
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat(why, " (", detail.result_name, ")"));
  SetErrorDetail(detail, &status);
  return status;
}

absl::Status Truncated(absl::string_view kind, absl::string_view image) {
  return InvalidImage(
      absl::StrCat("the ", kind, " of ", image.size(),
                   " bytes is truncated: its headers point beyond its end"));
}

absl::Status CheckCubin(absl::string_view image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof header) return Truncated("cubin", image);
  std::memcpy(&header, image.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      (header.e_shnum > 0 && header.e_shentsize != sizeof(Elf64_Shdr))) {
    return InvalidImage("the image is an ELF file but no cubin");
  }
  if (!Within(image, header.e_shoff, header.e_shnum, header.e_shentsize) ||
      !Within(image, header.e_phoff, header.e_phnum, header.e_phentsize)) {
    return Truncated("cubin", image);
  }
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image.data() + header.e_shoff + i * sizeof section,
                sizeof section);
    if (section.sh_type != SHT_NOBITS &&
        !Within(image, section.sh_offset, section.sh_size, 1)) {
      return Truncated("cubin", image);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFatbin(absl::string_view image) {
  FatbinHeader header;
  if (image.size() < sizeof header) return Truncated("fatbin", image);
  std::memcpy(&header, image.data(), sizeof header);
  if (!Within(image, header.header_size, header.size, 1)) {
    return Truncated("fatbin", image);
  }
  return absl::OkStatus();
}

bool LooksLikeText(absl::string_view image) {
  for (const char c : image) {
    if (c == '\0') return false;
  }
  return absl::StrContains(image, ".version");
}

}  // namespace

absl::StatusOr<ImageFormat> CheckImage(absl::string_view image) {
  uint32_t magic = 0;
  if (image.size() >= sizeof magic) {
    std::memcpy(&magic, image.data(), sizeof magic);
  }
  if (absl::StartsWith(image, absl::string_view(ELFMAG, SELFMAG))) {
    const absl::Status status = CheckCubin(image);
    if (!status.ok()) return status;
    return ImageFormat::kCubin;
  }
  if (magic == kFatbinMagic) {
    const absl::Status status = CheckFatbin(image);
    if (!status.ok()) return status;
    return ImageFormat::kFatbin;
  }
  // PTX from compilers often ends with a zero byte.
  while (absl::EndsWith(image, absl::string_view("\0", 1))) {
    image.remove_suffix(1);
  }
  if (LooksLikeText(image)) return ImageFormat::kPtx;
  return InvalidImage(
      absl::StrCat("the image of ", image.size(),
                   " bytes is neither PTX nor a cubin nor a fatbin"));
}

// A cubin names the function among its symbols, PTX where it is called. The
// parts of a fatbin may be compressed.
bool MayPrint(absl::string_view image) {
  const auto format = CheckImage(image);
  return !format.ok() || *format == ImageFormat::kFatbin ||
         absl::StrContains(image, "vprintf");
}

}  // namespace holdfast::cuda
