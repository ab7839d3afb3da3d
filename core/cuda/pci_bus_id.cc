// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/pci_bus_id.h"

#include <array>
#include <charconv>
#include <string>
#include <system_error>

#include "absl/strings/ascii.h"

namespace holdfast::cuda {
namespace {

constexpr size_t kMostNumbers = 4;

// Numbers, and what stands between them: "::." for all four.
struct Parts {
  std::array<unsigned, kMostNumbers> numbers{};
  std::string separators;
};

std::optional<Parts> Split(absl::string_view text) {
  Parts parts;
  for (unsigned& number : parts.numbers) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number, 16);
    if (error != std::errc()) return std::nullopt;
    if (rest == end) return parts;
    parts.separators += *rest;
    text.remove_prefix(static_cast<size_t>(rest + 1 - text.data()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<PciBusId> ParsePciBusId(absl::string_view text) {
  const auto parts = Split(absl::StripAsciiWhitespace(text));
  if (!parts.has_value()) return std::nullopt;
  const auto& n = parts->numbers;
  if (parts->separators == "::.") return PciBusId{n[0], n[1], n[2], n[3]};
  if (parts->separators == "::") return PciBusId{n[0], n[1], n[2], 0};
  if (parts->separators == ":.") return PciBusId{0, n[0], n[1], n[2]};
  return std::nullopt;
}

}  // namespace holdfast::cuda
