// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/image.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "core/base/error_detail.h"
#include "core/cuda/result.h"
#include "cuda.h"

namespace holdfast::libcuda {
namespace {

constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kLtoIrMagic = 0x7f4e43ed;

// `size` counts the bytes after the header.
struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;
  uint64_t size;
};

struct FatbinWrapper {
  uint32_t magic;
  uint32_t version;
  const void* data;
  const void* unused;
};

template <typename T>
T Read(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

// 0: a text of fewer than four bytes, which may be all that is there.
uint32_t MagicOf(const char* image) {
  return strnlen(image, sizeof(uint32_t)) == sizeof(uint32_t)
             ? Read<uint32_t>(image)
             : 0;
}

// `reason` is for the program's log of errors.
absl::Status NoImage(const char* reason) {
  absl::Status status =
      cuda::ToStatus(CUDA_ERROR_INVALID_IMAGE, "cuModuleLoadData");
  ErrorDetail detail = *GetErrorDetail(status);
  detail.log = reason;
  SetErrorDetail(detail, &status);
  return status;
}

// Only the headers of a cubin tell where its bytes end.
bool IsCubin(const char* image) {
  const auto header = Read<Elf64_Ehdr>(image);
  return header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == EM_CUDA &&
         (header.e_shnum == 0 || header.e_shentsize == sizeof(Elf64_Shdr));
}

// A cubin ends where its last section, segment or table of those ends.
uint64_t CubinSize(const char* cubin) {
  const auto header = Read<Elf64_Ehdr>(cubin);
  uint64_t size = std::max<uint64_t>(
      header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize,
      header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize);
  for (int i = 0; i < header.e_shnum; ++i) {
    const auto section =
        Read<Elf64_Shdr>(cubin + header.e_shoff + i * header.e_shentsize);
    if (section.sh_type == SHT_NOBITS) continue;
    size = std::max<uint64_t>(size, section.sh_offset + section.sh_size);
  }
  return size;
}

}  // namespace

absl::StatusOr<Image> ImageOf(const void* image) {
  if (image == nullptr) return absl::InvalidArgumentError("the image is null");
  const auto* bytes = static_cast<const char*>(image);
  const uint32_t magic = MagicOf(bytes);
  if (magic == kWrapperMagic) return ImageOf(Read<FatbinWrapper>(image).data);
  if (magic == kFatbinMagic) {
    const auto header = Read<FatbinHeader>(image);
    return Image{{bytes, header.header_size + header.size},
                 v1::OBJECT_FORMAT_FATBIN};
  }
  if (std::memcmp(&magic, ELFMAG, SELFMAG) == 0) {
    if (!IsCubin(bytes)) {
      return NoImage(
          "the image is an ELF file, but no cubin: link it, and load what the "
          "linker makes");
    }
    return Image{{bytes, CubinSize(bytes)}, v1::OBJECT_FORMAT_CUBIN};
  }
  const absl::string_view text(bytes);
  if (magic == kLtoIrMagic) {
    return NoImage("the image is LTO IR: link it, and load the cubin");
  }
  if (!absl::StrContains(text, ".version")) {
    return NoImage(
        "the image is neither a cubin, a fat binary nor PTX, which has a "
        ".version");
  }
  return Image{text, v1::OBJECT_FORMAT_PTX};
}

}  // namespace holdfast::libcuda
