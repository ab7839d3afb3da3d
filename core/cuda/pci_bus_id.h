// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_PCI_BUS_ID_H_
#define HOLDFAST_CORE_CUDA_PCI_BUS_ID_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace holdfast::cuda {

struct PciBusId {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;

  bool operator==(const PciBusId&) const = default;
};

// Parses the text of cuDeviceGetByPCIBusId: "domain:bus:device.function" in
// hexadecimal digits. Either the function or the domain may be missing. White
// space around the text is allowed, so that callers can pass a line of a file.
// Returns nullopt if the text has another form; NVIDIA's driver returns
// CUDA_ERROR_INVALID_VALUE for such a text.
std::optional<PciBusId> ParsePciBusId(absl::string_view text);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_PCI_BUS_ID_H_
