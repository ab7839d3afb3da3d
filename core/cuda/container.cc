// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/container.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "core/cuda/archive.h"
#include "core/cuda/decompress.h"

namespace holdfast::cuda {
namespace {

constexpr char kElfMagic[4] = {'\x7f', 'E', 'L', 'F'};
constexpr char kOnlyMachineCode[] =
    "the image holds machine code of a GPU only; the software driver runs "
    "PTX: compile with -arch=compute_XX instead of -arch=sm_XX";
constexpr char kHostFile[] =
    "the image is an ELF file of the host: link it, and load what the linker "
    "makes";
constexpr char kNoDeviceCode[] =
    "an ELF file of the host without code for a GPU in it";

// A fat binary: a header, then entries, each a header and a payload. The CUDA
// compilers emit it into __nv_fatbin sections, and pass it by a wrapper.
constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint16_t kKindPtx = 1;
constexpr uint64_t kLz4 = 0x2000;
constexpr uint64_t kZstd = 0x8000;
// A linked image: a fat binary's header and, instead of entries, for each
// module its size in 64 bits and its text.
constexpr uint32_t kLinkedMagic = 0x4b4c4648;  // "HFLK"

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* fatbin;
  const void* reserved;
};

struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;
  uint64_t payload_size;  // of all entries
};

struct FatbinEntry {
  uint16_t kind;
  uint16_t version;
  uint32_t header_size;
  uint64_t payload_size;
  uint32_t compressed_size;
  uint32_t options;
  uint16_t minor;
  uint16_t major;
  uint32_t arch;
  uint32_t name_offset;
  uint32_t name_size;
  uint64_t flags;
  uint64_t reserved;
  uint64_t uncompressed_size;
};

constexpr char kDamaged[] = "the fat binary is damaged";

// Text ends at its first zero.
std::string Text(absl::string_view bytes) {
  return std::string(bytes.substr(0, bytes.find('\0')));
}

bool IsCompressed(const FatbinEntry& entry) {
  return (entry.flags & (kLz4 | kZstd)) != 0;
}

bool ReadContent(const FatbinEntry& entry, absl::string_view payload,
                 std::string* content) {
  if (!IsCompressed(entry)) {
    *content = std::string(payload);
    return true;
  }
  if (entry.compressed_size > payload.size()) return false;
  payload = payload.substr(0, entry.compressed_size);
  return (entry.flags & kLz4) != 0
             ? DecompressLz4(payload, entry.uncompressed_size, content)
             : DecompressZstd(payload, entry.uncompressed_size, content);
}

bool ReadEntry(const FatbinEntry& entry, absl::string_view payload,
               std::string* text) {
  std::string content;
  if (!ReadContent(entry, payload, &content)) return false;
  *text = Text(content);
  return true;
}

// False if the header or what it claims goes beyond `size`.
bool ReadHeader(const char* image, size_t size, FatbinHeader* header) {
  if (size < sizeof(*header)) return false;
  memcpy(header, image, sizeof(*header));
  return header->header_size >= sizeof(*header) &&
         header->header_size <= size &&
         header->payload_size <= size - header->header_size;
}

// Is `entry` a better choice than `best`? A device runs PTX of its own
// architecture and of earlier ones; PTX of a later one may do.
bool IsBetter(const FatbinEntry& entry, const FatbinEntry& best, uint32_t own) {
  if ((entry.arch <= own) != (best.arch <= own)) return entry.arch <= own;
  return entry.arch <= own ? entry.arch >= best.arch : entry.arch < best.arch;
}

// Calls `visit` with each entry and its payload. Returns false if the fat
// binary is damaged.
bool ForEachEntry(
    const char* fatbin, size_t size,
    absl::FunctionRef<void(const FatbinEntry&, absl::string_view)> visit) {
  FatbinHeader header{};
  if (!ReadHeader(fatbin, size, &header)) return false;
  const char* at = fatbin + header.header_size;
  uint64_t left = header.payload_size;
  while (left >= sizeof(FatbinEntry)) {
    FatbinEntry entry;
    memcpy(&entry, at, sizeof(entry));
    if (entry.header_size < sizeof(entry) || entry.header_size > left ||
        entry.payload_size > left - entry.header_size) {
      return false;
    }
    visit(entry, {at + entry.header_size, entry.payload_size});
    at += entry.header_size + entry.payload_size;
    left -= entry.header_size + entry.payload_size;
  }
  return true;
}

CUresult ReadFatbin(const char* fatbin, size_t size, uint32_t arch,
                    std::vector<std::string>* modules, std::string* log) {
  FatbinEntry best{};
  absl::string_view payload;
  const auto choose = [&](const FatbinEntry& entry, absl::string_view bytes) {
    if (entry.kind != kKindPtx) return;
    if (!payload.empty() && !IsBetter(entry, best, arch)) return;
    best = entry;
    payload = bytes;
  };
  if (!ForEachEntry(fatbin, size, choose)) {
    *log = kDamaged;
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (payload.empty()) {
    *log = kOnlyMachineCode;
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (ReadEntry(best, payload, &modules->emplace_back())) return CUDA_SUCCESS;
  *log = kDamaged;
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

// Each fat binary of a section begins at a multiple of 8 bytes.
CUresult ReadSection(absl::string_view section, uint32_t arch,
                     std::vector<std::string>* modules, std::string* log) {
  while (section.size() >= sizeof(FatbinHeader)) {
    FatbinHeader header{};
    if (!ReadHeader(section.data(), section.size(), &header) ||
        header.magic != kFatbinMagic) {
      *log = kDamaged;
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    const CUresult result =
        ReadFatbin(section.data(), section.size(), arch, modules, log);
    if (result != CUDA_SUCCESS && *log != kOnlyMachineCode) return result;
    const size_t bytes = header.header_size + header.payload_size;
    section.remove_prefix(std::min(section.size(), (bytes + 7) & ~size_t{7}));
  }
  return CUDA_SUCCESS;
}

CUresult ReadHostObject(absl::string_view object, uint32_t arch,
                        std::vector<std::string>* modules, std::string* log) {
  const std::vector<absl::string_view> sections = FatbinSections(object);
  if (sections.empty()) {
    *log = kNoDeviceCode;
    return CUDA_ERROR_INVALID_IMAGE;
  }
  for (const absl::string_view section : sections) {
    const CUresult result = ReadSection(section, arch, modules, log);
    if (result != CUDA_SUCCESS) return result;
  }
  if (modules->empty()) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  log->clear();
  return CUDA_SUCCESS;
}

CUresult ReadLinked(const char* image, size_t size,
                    std::vector<std::string>* modules, std::string* log) {
  FatbinHeader header{};
  bool good = ReadHeader(image, size, &header);
  const char* at = image + sizeof(header);
  for (uint64_t left = header.payload_size; good && left > 0;) {
    uint64_t length = 0;
    good = left >= sizeof(length);
    if (!good) break;
    memcpy(&length, at, sizeof(length));
    left -= sizeof(length);
    good = length <= left;
    if (!good) break;
    modules->emplace_back(at + sizeof(length), length);
    at += sizeof(length) + length;
    left -= length;
  }
  if (good) return CUDA_SUCCESS;
  *log = "the linked image is damaged";
  return CUDA_ERROR_INVALID_IMAGE;
}

// Headers of ELF have the machine behind the type. False for a file that ends
// before it.
bool IsHostElf(const char* elf, size_t size) {
  constexpr size_t kMachineAt = 18;
  constexpr uint16_t kCuda = 190;
  uint16_t machine = 0;
  if (size < kMachineAt + sizeof(machine)) return false;
  memcpy(&machine, elf + kMachineAt, sizeof(machine));
  return machine != kCuda;
}

// Returns true for the PTX of the toolkit's device runtime, which calls
// functions that only NVIDIA's driver has. It is in programs of `nvcc
// -rdc=true` that use its functions, such as cudaCGSynchronize of grids.
bool IsDeviceRuntime(absl::string_view ptx) {
  return absl::StrContains(ptx, "__cuda_syscall_CGS_");
}

template <typename T>
void Append(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

FatbinState VisitFatbinParts(
    absl::string_view fatbin,
    absl::FunctionRef<void(absl::string_view part)> visit) {
  size_t left = kMaxFatbinBytes;
  bool fits = true;
  const auto measure = [&](const FatbinEntry& entry, absl::string_view bytes) {
    const bool compressed = IsCompressed(entry);
    const size_t size = compressed ? entry.uncompressed_size : bytes.size();
    fits = fits && size <= left && (!compressed || size <= kMaxDecompressed);
    if (fits) left -= size;
  };
  bool whole = ForEachEntry(fatbin.data(), fatbin.size(), measure);
  if (!fits) return FatbinState::kTooLarge;
  if (!whole) return FatbinState::kDamaged;
  ForEachEntry(fatbin.data(), fatbin.size(),
               [&](const FatbinEntry& entry, absl::string_view payload) {
                 std::string part;
                 whole = whole && ReadContent(entry, payload, &part);
                 if (whole) visit(part);
               });
  return whole ? FatbinState::kWhole : FatbinState::kDamaged;
}

CUresult ReadContainer(const void* image, size_t size, uint32_t arch,
                       std::vector<std::string>* modules, std::string* log) {
  // The address of an empty image may be null.
  const char* bytes = size == 0 ? "" : static_cast<const char*>(image);
  uint32_t magic = 0;
  // Short texts end before the fourth byte.
  if (strnlen(bytes, std::min(size, sizeof(magic))) == sizeof(magic)) {
    memcpy(&magic, bytes, sizeof(magic));
  }
  modules->clear();
  switch (magic) {
    case kWrapperMagic: {
      Wrapper wrapper{};
      memcpy(&wrapper, bytes, std::min(size, sizeof(wrapper)));
      if (size != kUnknownSize || wrapper.fatbin == nullptr) {
        *log = "a wrapper points out of the image";
        return CUDA_ERROR_INVALID_IMAGE;
      }
      return ReadFatbin(static_cast<const char*>(wrapper.fatbin), size, arch,
                        modules, log);
    }
    case kFatbinMagic:
      return ReadFatbin(bytes, size, arch, modules, log);
    case kLinkedMagic:
      return ReadLinked(bytes, size, modules, log);
    default:
      break;
  }
  if (memcmp(&magic, kElfMagic, sizeof(magic)) == 0) {
    const bool is_host = IsHostElf(bytes, size);
    *log = is_host ? kHostFile : kOnlyMachineCode;
    return is_host ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  modules->emplace_back(bytes, strnlen(bytes, size));
  return CUDA_SUCCESS;
}

CUresult ReadLinkInput(const std::string& input, uint32_t arch,
                       std::vector<std::string>* modules, std::string* log) {
  modules->clear();
  // With the zero at its end, text is an image.
  const CUresult result =
      IsHostObject(input)
          ? ReadHostObject(input, arch, modules, log)
          : ReadContainer(input.c_str(), input.size() + 1, arch, modules, log);
  modules->erase(
      std::remove_if(modules->begin(), modules->end(), IsDeviceRuntime),
      modules->end());
  return result;
}

std::string WriteLinkedImage(const std::vector<std::string>& modules) {
  if (modules.size() == 1) return modules.front() + '\0';
  std::string payload;
  for (const std::string& module : modules) {
    Append(uint64_t{module.size()}, &payload);
    payload += module;
  }
  std::string image;
  Append(FatbinHeader{kLinkedMagic, 1, sizeof(FatbinHeader), payload.size()},
         &image);
  return image + payload;
}

}  // namespace holdfast::cuda
