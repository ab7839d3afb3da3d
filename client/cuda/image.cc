// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/image.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"

namespace holdfast::libcuda {
namespace {

constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint32_t kWrapperMagic = 0x466243b1;

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

// The headers of a cubin end where the last section or segment ends.
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
  if (Read<uint32_t>(image) == kWrapperMagic) {
    return ImageOf(Read<FatbinWrapper>(image).data);
  }
  const auto* bytes = static_cast<const char*>(image);
  if (Read<uint32_t>(image) == kFatbinMagic) {
    const auto header = Read<FatbinHeader>(image);
    return Image{{bytes, header.header_size + header.size},
                 v1::OBJECT_FORMAT_FATBIN};
  }
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) {
    return Image{{bytes, CubinSize(bytes)}, v1::OBJECT_FORMAT_CUBIN};
  }
  return Image{{bytes, std::strlen(bytes)}, v1::OBJECT_FORMAT_PTX};
}

}  // namespace holdfast::libcuda
