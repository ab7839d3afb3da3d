// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_PCI_GPU_H_
#define HOLDFAST_SERVER_HEALTH_PCI_GPU_H_

#include <optional>
#include <string>

namespace holdfast {

// Returns the PCI address ("0000:3b:00.0") of an NVIDIA GPU that the Linux
// kernel lists in `directory`, with or without a driver; nullopt if there is
// none. In a container, the kernel lists the GPUs of the machine, too.
std::optional<std::string> FindPciGpu(
    const std::string& directory = "/sys/bus/pci/devices");

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_PCI_GPU_H_
