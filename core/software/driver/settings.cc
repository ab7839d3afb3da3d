// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/settings.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/base/machine_memory.h"
#include "core/software/driver/trace.h"
#include "core/software/runtime/thread_count.h"

namespace holdfast::software {
namespace {

constexpr size_t kAlignment = 2 << 20;

// A device's share of half of the memory.
size_t ShareOfMemory(size_t memory, int devices) {
  return std::max(memory / 2 / devices & ~(kAlignment - 1), kAlignment);
}

bool ParseInt(absl::string_view text, int low, int high, int* value) {
  int parsed = 0;
  if (!absl::SimpleAtoi(text, &parsed) || parsed < low || parsed > high) {
    return false;
  }
  *value = parsed;
  return true;
}

// The one of `names` that `choice` is the number or the beginning of; -1 if
// there is none or more than one.
int FindDevice(absl::string_view choice,
               const std::vector<std::string>& names) {
  int found = -1;
  if (ParseInt(choice, 0, static_cast<int>(names.size()) - 1, &found)) {
    return found;
  }
  if (!absl::StartsWith(choice, "GPU-")) return -1;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!absl::StartsWithIgnoreCase(names[i], choice)) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

// Calls parse(value) if the variable is set; complains if it returns false.
template <typename Parse>
void Read(const char* variable, Parse parse) {
  const char* value = getenv(variable);
  if (value == nullptr || *value == '\0' || parse(value)) return;
  Print("cannot use ", variable, "=\"", value, "\", its default is taken");
}

Settings ReadEnvironment() {
  Settings s;
  s.threads = ThreadCount();
  Read("HOLDFAST_SOFTWARE_DEVICES", [&](const char* value) {
    return ParseInt(value, 1, kMaxDevices, &s.devices);
  });
  Read("HOLDFAST_SOFTWARE_VISIBLE_DEVICES", [&](const char* value) {
    s.visible_devices = value;
    return true;
  });
  size_t machine = 0;
  Read("HOLDFAST_SOFTWARE_MACHINE_MEMORY",
       [&](const char* value) { return ParseSize(value, &machine); });
  if (machine == 0) machine = MachineMemory();
  s.memory_bytes = {ShareOfMemory(machine, s.devices)};
  Read("HOLDFAST_SOFTWARE_MEMORY",
       [&](const char* value) { return ParseSizes(value, &s.memory_bytes); });
  s.memory_bytes.resize(static_cast<size_t>(s.devices), s.memory_bytes.back());
  Read("HOLDFAST_SOFTWARE_THREADS",
       [&](const char* value) { return ParseThreads(value, &s.threads); });
  Read("HOLDFAST_SOFTWARE_COMPUTE_CAPABILITY", [&](const char* value) {
    return ParseComputeCapability(value, &s.compute_major, &s.compute_minor);
  });
  Read("HOLDFAST_SOFTWARE_LAUNCH_TIMEOUT", [&](const char* value) {
    return ParseInt(value, 0, 1 << 30, &s.launch_timeout_seconds);
  });
  Read("HOLDFAST_SOFTWARE_MEMCHECK", [&](const char* value) {
    int on = 0;
    if (!ParseInt(value, 0, 1, &on)) return false;
    s.memcheck = on == 1;
    return true;
  });
  Read("HOLDFAST_SOFTWARE_TRACE", [&](const char* value) {
    int level = 0;
    if (!ParseInt(value, 0, 2, &level)) return false;
    s.trace = static_cast<Trace>(level);
    return true;
  });
  return s;
}

}  // namespace

const Settings& GetSettings() {
  static const Settings settings = ReadEnvironment();
  return settings;
}

bool ParseSize(absl::string_view text, size_t* bytes) {
  constexpr absl::string_view kUnits = "KMGT";
  int shift = 0;
  if (!text.empty()) {
    const size_t unit = kUnits.find(text.back());
    if (unit != absl::string_view::npos) {
      shift = 10 * static_cast<int>(unit + 1);
      text.remove_suffix(1);
    }
  }
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number == 0) return false;
  if (number > (SIZE_MAX >> shift)) return false;
  *bytes = static_cast<size_t>(number) << shift;
  return true;
}

bool ParseSizes(absl::string_view text, std::vector<size_t>* bytes) {
  std::vector<size_t> sizes;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    if (!ParseSize(part, &sizes.emplace_back())) return false;
  }
  *bytes = std::move(sizes);
  return true;
}

std::vector<int> ChooseDevices(absl::string_view list,
                               const std::vector<std::string>& names) {
  std::vector<int> chosen;
  if (list.empty()) {
    for (size_t i = 0; i < names.size(); ++i) {
      chosen.push_back(static_cast<int>(i));
    }
    return chosen;
  }
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    const int device = FindDevice(absl::StripAsciiWhitespace(part), names);
    if (device < 0 ||
        std::find(chosen.begin(), chosen.end(), device) != chosen.end()) {
      break;
    }
    chosen.push_back(device);
  }
  return chosen;
}

bool ParseComputeCapability(absl::string_view text, int* major, int* minor) {
  const bool dotted = text.size() == 3 && text[1] == '.';
  if (!dotted && text.size() != 2) return false;
  const char first = text.front();
  const char last = text.back();
  if (first < '5' || first > '9' || last < '0' || last > '9') return false;
  if (first == '9' && last != '0') return false;
  *major = first - '0';
  *minor = last - '0';
  return true;
}

}  // namespace holdfast::software
