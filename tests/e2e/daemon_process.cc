// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/daemon_process.h"

#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace holdfast::e2e {

DaemonProcess::DaemonProcess(const std::vector<std::string>& more_flags) {
  const char* const device = getenv("HOLDFAST_TEST_DEVICE");
  const char* const level = getenv("HOLDFAST_TEST_LOG_LEVEL");
  directory_ = "/tmp/holdfast-e2e-XXXXXX";
  if (mkdtemp(directory_.data()) == nullptr) std::abort();
  // Descriptor 1 is the way in which it reports that it is ready.
  std::vector<std::string> arguments = {
      ProgramPath("HOLDFAST_DAEMON"),
      std::string("--device=") + (device == nullptr ? "cpu" : device),
      std::string("--log-level=") + (level == nullptr ? "warning" : level),
      "--listen=unix:" + directory_ + "/holdfast.sock",
      "--listen=tcp:127.0.0.1:0",
      "--runtime-dir=" + directory_,
      "--cache-directory=" + directory_ + "/programs",
      "--ready-fd=1"};
  arguments.insert(arguments.end(), more_flags.begin(), more_flags.end());
  process_ = std::make_unique<Process>(arguments);
  for (const std::string& address : std::vector<std::string>(
           absl::StrSplit(process_->ReadLine(), ' ', absl::SkipEmpty()))) {
    (absl::StartsWith(address, "unix:") ? unix_ : tcp_) = address;
  }
  if (unix_.empty() || tcp_.empty()) {
    throw std::runtime_error("holdfastd did not start");
  }
}

DaemonProcess::~DaemonProcess() {
  process_->Signal(SIGTERM);
  process_->Finish();
  std::filesystem::remove_all(directory_);
}

}  // namespace holdfast::e2e
