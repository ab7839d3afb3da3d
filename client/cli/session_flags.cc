// SPDX-License-Identifier: Apache-2.0
#include "client/cli/session_flags.h"

#include <cstdio>
#include <utility>

namespace holdfast::cli {

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
                  "Give up a kernel that runs longer: 30s, 500ms; default: the "
                  "daemon's limit");
}

SessionOptions ToSessionOptions(const CommonOptions& options,
                                const SessionFlags& flags, std::string name) {
  SessionOptions opening;
  opening.address = options.address;
  opening.name = std::move(name);
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
