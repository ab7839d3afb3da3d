// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/image.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "core/software/driver/error.h"
#include "core/software/driver/settings.h"
#include "core/software/driver/trace.h"

namespace holdfast::software {
namespace {

constexpr char kElfMagic[4] = {'\x7f', 'E', 'L', 'F'};
constexpr char kOnlyMachineCode[] =
    "the image holds machine code of a GPU only; the software driver runs "
    "PTX: compile with -arch=compute_XX instead of -arch=sm_XX";

// A fat binary: a header, then entries, each a header and a payload. What the
// CUDA compilers emit into __nv_fatbin sections, and pass by a wrapper.
constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint16_t kKindPtx = 1;
constexpr uint64_t kCompressed = 0x2000 | 0x8000;  // LZ4, zstd

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

// The PTX entry for the highest architecture; empty if there is none that can
// be read.
absl::string_view FindPtx(const char* fatbin, std::string* log) {
  FatbinHeader header;
  memcpy(&header, fatbin, sizeof(header));
  const char* at = fatbin + header.header_size;
  uint64_t left = header.payload_size;
  absl::string_view best;
  uint32_t best_arch = 0;
  *log = kOnlyMachineCode;
  while (left >= sizeof(FatbinEntry)) {
    FatbinEntry entry;
    memcpy(&entry, at, sizeof(entry));
    if (entry.header_size < sizeof(entry) || entry.header_size > left ||
        entry.payload_size > left - entry.header_size) {
      *log = "the fat binary is damaged";
      return {};
    }
    if (entry.kind == kKindPtx && (entry.flags & kCompressed) != 0) {
      *log =
          "the fat binary's PTX is compressed; compile with "
          "--no-compress or load the PTX itself";
    } else if (entry.kind == kKindPtx && entry.arch >= best_arch) {
      best = {at + entry.header_size, entry.payload_size};
      best_arch = entry.arch;
    }
    at += entry.header_size + entry.payload_size;
    left -= entry.header_size + entry.payload_size;
  }
  return best.substr(0, best.find('\0'));
}

CUresult FindText(const void* image, absl::string_view* text,
                  std::string* log) {
  const char* bytes = static_cast<const char*>(image);
  uint32_t magic = 0;
  // Short texts end before the fourth byte.
  if (strnlen(bytes, sizeof(magic)) == sizeof(magic)) {
    memcpy(&magic, bytes, sizeof(magic));
  }
  if (magic == kWrapperMagic) {
    Wrapper wrapper;
    memcpy(&wrapper, bytes, sizeof(wrapper));
    return FindText(wrapper.fatbin, text, log);
  }
  if (magic == kFatbinMagic) {
    *text = FindPtx(bytes, log);
    return text->empty() ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_SUCCESS;
  }
  if (memcmp(&magic, kElfMagic, sizeof(magic)) == 0) {
    *log = kOnlyMachineCode;
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  *text = bytes;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult JitOptions::Parse(unsigned count, CUjit_option* options, void** values,
                           JitOptions* parsed) {
  if (count > 0 && (options == nullptr || values == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::bitset<CU_JIT_NUM_OPTIONS> seen;
  for (unsigned i = 0; i < count; ++i) {
    const auto option = static_cast<unsigned>(options[i]);
    if (option >= CU_JIT_NUM_OPTIONS || seen[option]) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    seen[option] = true;
    switch (options[i]) {
      case CU_JIT_ERROR_LOG_BUFFER:
        parsed->error_.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        parsed->error_.size = &values[i];
        break;
      case CU_JIT_INFO_LOG_BUFFER:
        parsed->info_.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        parsed->info_.size = &values[i];
        break;
      default:
        break;
    }
  }
  return CUDA_SUCCESS;
}

void JitOptions::Log::Write(const std::string& log) const {
  if (buffer == nullptr || size == nullptr) return;
  // The value is 32 bits wide; what lies above is the caller's.
  const auto room = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(*size));
  if (room == 0) return;
  const size_t length = std::min<size_t>(log.size(), room - 1);
  memcpy(buffer, log.data(), length);
  buffer[length] = '\0';
  *size = reinterpret_cast<void*>(length);
}

CUresult LoadImage(const void* image, const JitOptions& options,
                   std::unique_ptr<Executable>* executable) {
  absl::string_view text;
  std::string log;
  CUresult result = FindText(image, &text, &log);
  if (result == CUDA_SUCCESS) {
    result = Executable::Load(text, executable, &log);
  }
  options.WriteErrorLog(result == CUDA_SUCCESS ? "" : log);
  options.WriteInfoLog("");
  if (result != CUDA_SUCCESS && GetSettings().trace != Trace::kOff) {
    Print(ErrorName(result), ": ", log);
  }
  return result;
}

}  // namespace holdfast::software
