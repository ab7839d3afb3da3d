// SPDX-License-Identifier: Apache-2.0
#include "client/cli/session_flags.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace holdfast::cli {
namespace {

// For lists of sessions: of a kernel's name, which may be of any length, the
// beginning. A character is not cut in two.
std::string Shown(std::string name) {
  constexpr size_t kMaxBytes = 128;  // of OpenSessionRequest.name
  constexpr absl::string_view kCut = "...";
  if (name.size() <= kMaxBytes) return name;
  size_t end = kMaxBytes - kCut.size();
  while (end > 0 && (name[end] & 0xc0) == 0x80) --end;
  return absl::StrCat(name.substr(0, end), kCut);
}

}  // namespace

void AddDurationFlag(CLI::App* command, const std::string& flag,
                     absl::Duration* duration, const std::string& help) {
  command
      ->add_option_function<std::string>(
          flag,
          [flag, duration](const std::string& text) {
            if (absl::ParseDuration(text, duration) &&
                *duration > absl::ZeroDuration()) {
              return;
            }
            throw CLI::ValidationError(
                flag, text + " is no duration; write 30s, 2m or 500ms");
          },
          help)
      ->type_name("DURATION");
}

void AddSessionFlags(CLI::App* command, SessionFlags* flags) {
  command->add_option("--device", flags->device,
                      "Ordinal, UUID (GPU-..., MIG-...) or most-free; "
                      "default: the first");
  AddDurationFlag(command, "--kernel-time-limit", &flags->kernel_time_limit,
                  "End a kernel that runs longer, e.g. 30s or 500ms; default: "
                  "the daemon's limit");
}

SessionOptions ToSessionOptions(const CommonOptions& options,
                                const SessionFlags& flags, std::string name) {
  SessionOptions opening;
  opening.address = options.address;
  opening.name = Shown(std::move(name));
  opening.kernel_time_limit = flags.kernel_time_limit;
  if (!flags.device.empty()) opening.device_choices = {flags.device};
  if (options.json) {
    opening.kernel_output = [](absl::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stderr);
    };
  }
  return opening;
}

}  // namespace holdfast::cli
