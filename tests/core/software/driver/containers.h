// SPDX-License-Identifier: Apache-2.0
//
// These functions build by hand the containers in which compilers put device
// code.
#ifndef HOLDFAST_TESTS_CORE_SOFTWARE_DRIVER_CONTAINERS_H_
#define HOLDFAST_TESTS_CORE_SOFTWARE_DRIVER_CONTAINERS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::software {

inline constexpr uint16_t kPtxEntry = 1;
inline constexpr uint16_t kMachineCodeEntry = 2;

// Returns one uncompressed entry of a fat binary. `arch` is an architecture
// such as 75.
std::string FatbinEntry(uint16_t kind, uint32_t arch,
                        const std::string& payload);

std::string Fatbin(const std::string& entries);

// Returns one member of an archive. `name` is written into the header as it is.
std::string ArMember(const std::string& name, const std::string& bytes);

// Returns an archive. Each member is a name and its bytes.
std::string Archive(
    const std::vector<std::pair<std::string, std::string>>& members);

// Returns an object file for x86-64 with two sections: the section names, and
// `section` with `bytes`.
std::string HostObject(const std::string& section, const std::string& bytes);

}  // namespace holdfast::software

#endif  // HOLDFAST_TESTS_CORE_SOFTWARE_DRIVER_CONTAINERS_H_
