// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_PCI_BUS_ID_H_
#define HOLDFAST_CORE_CUDA_PCI_BUS_ID_H_

#include <cstdio>
#include <optional>

namespace holdfast::cuda {

struct PciBusId {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;

  bool operator==(const PciBusId&) const = default;
};

// Parses the text of cuDeviceGetByPCIBusId: "domain:bus:device.function" in
// hexadecimal digits, also without the function or the domain. nullopt: another
// text, for which NVIDIA's driver returns CUDA_ERROR_INVALID_VALUE.
inline std::optional<PciBusId> ParsePciBusId(const char* text) {
  PciBusId id;
  if (std::sscanf(text, "%x:%x:%x.%x", &id.domain, &id.bus, &id.device,
                  &id.function) >= 3) {
    return id;
  }
  id = {};
  if (std::sscanf(text, "%x:%x.%x", &id.bus, &id.device, &id.function) == 3) {
    return id;
  }
  return std::nullopt;
}

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_PCI_BUS_ID_H_
