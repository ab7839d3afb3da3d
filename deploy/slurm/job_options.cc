// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/job_options.h"

#include <charconv>
#include <system_error>

namespace holdfast::slurm {
namespace {

constexpr uint32_t kMaxWeight = 1000;
constexpr uint32_t kMaxDevices = 64;
constexpr size_t kMaxGroupName = 64;
constexpr uint64_t kMaxMemory = uint64_t{1} << 50;

// Parses a decimal number at the start of *text and removes it.
bool TakeNumber(std::string_view* text, uint64_t* number) {
  const char* const last = text->data() + text->size();
  const auto [end, failure] = std::from_chars(text->data(), last, *number);
  if (failure != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

bool ParseCount(std::string_view text, uint32_t limit, uint32_t* count) {
  uint64_t number = 0;
  if (!TakeNumber(&text, &number) || !text.empty() || number < 1 ||
      number > limit) {
    return false;
  }
  *count = static_cast<uint32_t>(number);
  return true;
}

bool ParseSize(std::string_view text, uint64_t* bytes) {
  constexpr std::string_view kUnits = "KMGT";
  uint64_t number = 0;
  if (!TakeNumber(&text, &number) || text.size() > 1) return false;
  size_t power = 0;
  if (!text.empty()) {
    const char upper = static_cast<char>(text[0] & ~0x20);
    if (kUnits.find(upper) == std::string_view::npos) return false;
    power = kUnits.find(upper) + 1;
  }
  const uint64_t unit = uint64_t{1} << (10 * power);
  if (number < 1 || number > kMaxMemory / unit) return false;
  *bytes = number * unit;
  return true;
}

// The names that a policy's groups may have.
bool IsGroupName(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.size() <= kMaxGroupName &&
         text.find_first_not_of(kLetters) == std::string_view::npos;
}

// Returns an empty text, or what would have been right.
std::string ParsePart(std::string_view name, std::string_view value,
                      node::TenantOptions* options) {
  if (name == "mem") {
    return ParseSize(value, &options->memory_bytes)
               ? ""
               : "mem takes a size of at most 1024T: mem=8G";
  }
  if (name == "reserve") {
    return ParseSize(value, &options->reserved_bytes)
               ? ""
               : "reserve takes a size of at most 1024T: reserve=4G";
  }
  if (name == "weight") {
    return ParseCount(value, kMaxWeight, &options->weight)
               ? ""
               : "weight takes a number from 1 to 1000";
  }
  if (name == "devices") {
    return ParseCount(value, kMaxDevices, &options->devices)
               ? ""
               : "devices takes a number from 1 to 64";
  }
  if (name == "group") {
    if (!IsGroupName(value)) {
      return "group takes a name of at most 64 letters, digits and ._-";
    }
    options->group = value;
    return "";
  }
  return "the parts are mem=SIZE, reserve=SIZE, weight=N, devices=N and "
         "group=NAME";
}

}  // namespace

bool ParseJobOptions(std::string_view text, node::TenantOptions* options,
                     std::string* error) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    const size_t equals = part.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? "" : part.substr(equals + 1);
    const std::string wrong = ParsePart(part.substr(0, equals), value, options);
    if (!wrong.empty() || part.size() + 1 == text.size()) {
      *error =
          "--holdfast: '" + std::string(part) + "': " +
          (wrong.empty() ? "a comma follows with nothing behind it" : wrong);
      return false;
    }
    text.remove_prefix(part.size() == text.size() ? part.size()
                                                  : part.size() + 1);
  }
  return true;
}

}  // namespace holdfast::slurm
