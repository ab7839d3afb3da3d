// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_PCI_GPU_H_
#define HOLDFAST_SERVER_HEALTH_PCI_GPU_H_

#include <optional>
#include <string>

namespace holdfast {

// Returns the address ("0000:3b:00.0") of an NVIDIA GPU that the kernel lists
// in `directory`, with or without a driver; nullopt if there is none. A
// container sees the GPUs of its machine, too.
std::optional<std::string> FindPciGpu(
    const std::string& directory = "/sys/bus/pci/devices");

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_PCI_GPU_H_
