// SPDX-License-Identifier: Apache-2.0
//
// The containers of device code that compilers make, built by hand.
#ifndef HOLDFAST_TESTS_CORE_SOFTWARE_DRIVER_CONTAINERS_H_
#define HOLDFAST_TESTS_CORE_SOFTWARE_DRIVER_CONTAINERS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::software {

inline constexpr uint16_t kPtxEntry = 1;
inline constexpr uint16_t kMachineCodeEntry = 2;

// One entry of a fat binary, not compressed, for an architecture such as 75.
std::string FatbinEntry(uint16_t kind, uint32_t arch,
                        const std::string& payload);

std::string Fatbin(const std::string& entries);

// One member of an archive, with the name as its header has it.
std::string ArMember(const std::string& name, const std::string& bytes);

// An archive of members, each a name and its bytes.
std::string Archive(
    const std::vector<std::pair<std::string, std::string>>& members);

// An object file for x86-64 with one section besides that of names.
std::string HostObject(const std::string& section, const std::string& bytes);

}  // namespace holdfast::software

#endif  // HOLDFAST_TESTS_CORE_SOFTWARE_DRIVER_CONTAINERS_H_
