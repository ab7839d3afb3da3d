// SPDX-License-Identifier: Apache-2.0
#include "client/cli/session_flags.h"

#include <cstdio>
#include <utility>

namespace holdfast::cli {

void AddSessionFlags(CLI::App* command, SessionFlags* flags) {
  command->add_option("--device", flags->device,
                      "Ordinal, UUID (GPU-..., MIG-...) or most-free; "
                      "default: the first");
  command
      ->add_option_function<std::string>(
          "--kernel-time-limit",
          [flags](const std::string& text) {
            absl::Duration& limit = flags->kernel_time_limit;
            if (absl::ParseDuration(text, &limit) &&
                limit > absl::ZeroDuration()) {
              return;
            }
            throw CLI::ValidationError(
                "--kernel-time-limit",
                text + " is no duration; write 30s, 2m or 500ms");
          },
          "Give up a kernel that runs longer: 30s, 500ms; default: the "
          "daemon's limit")
      ->type_name("DURATION");
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
