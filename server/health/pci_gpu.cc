// SPDX-License-Identifier: Apache-2.0
#include "server/health/pci_gpu.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"

namespace holdfast {
namespace {

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::optional<std::string> FindPciGpu(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end;
       !error && at != end; at.increment(error)) {
    const std::filesystem::directory_entry& device = *at;
    // The base class 0x03 is that of display controllers, those without an
    // output included.
    if (FirstLine(device.path() / "vendor") == "0x10de" &&
        absl::StartsWith(FirstLine(device.path() / "class"), "0x03")) {
      return device.path().filename().string();
    }
  }
  return std::nullopt;
}

}  // namespace holdfast
