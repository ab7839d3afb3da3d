// SPDX-License-Identifier: Apache-2.0
#include "core/compile/link_input.h"

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/container.h"
#include "core/cuda/image.h"
#include "core/cuda/result.h"
#include "cuda.h"

namespace holdfast::compile {
namespace {

constexpr absl::string_view kElf =
    "\x7f"
    "ELF";
constexpr absl::string_view kArchive = "!<arch>\n";

absl::Status Mismatch(const LinkInput& input) {
  return absl::InvalidArgumentError(
      absl::StrCat("link input \"", input.name, "\" of ", input.bytes.size(),
                   " bytes is no ", ObjectFormatName(input.format)));
}

absl::Status CheckImage(const LinkInput& input, cuda::ImageFormat expected) {
  const auto format = cuda::CheckImage(input.bytes);
  if (!format.ok()) {
    return WithPrefix(absl::StrCat("link input \"", input.name, "\""),
                      format.status());
  }
  return *format == expected ? absl::OkStatus() : Mismatch(input);
}

// nvJitLink leaves out what is linked already, without a word.
absl::Status CheckRelocatable(const LinkInput& input) {
  Elf64_Half type = 0;
  std::memcpy(&type, input.bytes.data() + offsetof(Elf64_Ehdr, e_type),
              sizeof type);
  if (type == ET_REL) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("link input \"", input.name,
                   "\" is a cubin that is linked already; compile it with "
                   "--relocatable-device-code=true"));
}

// The header of LTO IR, as NVRTC 13.0 writes it. NVIDIA does not document it:
// the offsets are what makes nvJitLink 13.0 crash if they lead out of the
// input. It refuses other major versions, and whatever else is wrong.
struct LtoHeader {
  uint32_t magic;
  uint8_t major;
  uint8_t rest_of_versions[11];
  uint32_t offsets[2];  // of the parts behind the header
  uint8_t unknown[16];
};
static_assert(sizeof(LtoHeader) == 40);
constexpr uint32_t kLtoMagic = 0x7f4e43ed;
constexpr uint8_t kLtoMajor = 1;

absl::Status CheckLto(const LinkInput& input) {
  LtoHeader header;
  if (input.bytes.size() < sizeof header) return Mismatch(input);
  std::memcpy(&header, input.bytes.data(), sizeof header);
  if (header.magic != kLtoMagic) return Mismatch(input);
  if (header.major != kLtoMajor) return absl::OkStatus();
  const auto [first, second] = header.offsets;
  if (sizeof header <= first && first <= second &&
      second <= input.bytes.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("link input \"", input.name, "\" of ", input.bytes.size(),
                   " bytes is truncated LTO IR: its header names parts at ",
                   first, " and ", second));
}

// 90 for "sm_90a".
uint32_t NumberOf(absl::string_view arch) {
  uint32_t number = 0;
  for (const char c : arch) {
    if (absl::ascii_isdigit(c)) number = number * 10 + (c - '0');
  }
  return number;
}

}  // namespace

absl::Status CheckLinkInput(const LinkInput& input) {
  if (input.bytes.empty()) return Mismatch(input);
  switch (input.format) {
    case ObjectFormat::kPtx:
      return CheckImage(input, cuda::ImageFormat::kPtx);
    case ObjectFormat::kCubin:
      HOLDFAST_RETURN_IF_ERROR(CheckImage(input, cuda::ImageFormat::kCubin));
      return CheckRelocatable(input);
    case ObjectFormat::kFatbin:
      return CheckImage(input, cuda::ImageFormat::kFatbin);
    case ObjectFormat::kObject:
      if (!absl::StartsWith(input.bytes, kElf)) return Mismatch(input);
      return CheckImage(input, cuda::ImageFormat::kCubin);
    case ObjectFormat::kLibrary:
      return absl::StartsWith(input.bytes, kArchive) ? absl::OkStatus()
                                                     : Mismatch(input);
    case ObjectFormat::kLtoir:
      return CheckLto(input);
  }
  return Mismatch(input);
}

bool IsContainer(const LinkInput& input) {
  return input.format == ObjectFormat::kFatbin ||
         input.format == ObjectFormat::kObject;
}

absl::StatusOr<std::vector<std::string>> UnpackPtx(const LinkInput& input,
                                                   absl::string_view arch) {
  HOLDFAST_RETURN_IF_ERROR(CheckLinkInput(input));
  std::vector<std::string> modules;
  std::string log;
  const CUresult result = cuda::ReadLinkInput(std::string(input.bytes),
                                              NumberOf(arch), &modules, &log);
  if (result == CUDA_SUCCESS) return modules;
  return WithPrefix(absl::StrCat("link input \"", input.name, "\": ", log),
                    cuda::ToStatus(result, "cuLinkAddData"));
}

}  // namespace holdfast::compile
