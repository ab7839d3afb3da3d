// SPDX-License-Identifier: Apache-2.0
#include "tests/core/software/driver/containers.h"

#include <elf.h>

#include <cstring>

#include "absl/strings/str_format.h"

namespace holdfast::software {
namespace {

template <typename T>
void Put(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

std::string FatbinEntry(uint16_t kind, uint32_t arch,
                        const std::string& payload) {
  std::string entry;
  Put(kind, &entry);
  Put(uint16_t{0x101}, &entry);
  Put(uint32_t{64}, &entry);  // bytes of this header
  Put(uint64_t{payload.size()}, &entry);
  Put(uint32_t{0}, &entry);  // compressed
  Put(uint32_t{0}, &entry);
  Put(uint32_t{0x00080000}, &entry);
  Put(arch, &entry);
  Put(uint64_t{0}, &entry);
  Put(uint64_t{0}, &entry);  // flags
  Put(uint64_t{0}, &entry);
  Put(uint64_t{0}, &entry);  // uncompressed
  return entry + payload;
}

std::string Fatbin(const std::string& entries) {
  std::string fatbin;
  Put(uint32_t{0xba55ed50}, &fatbin);
  Put(uint32_t{0x00100001}, &fatbin);
  Put(uint64_t{entries.size()}, &fatbin);
  return fatbin + entries;
}

std::string ArMember(const std::string& name, const std::string& bytes) {
  // Name, time, user, group, mode, size.
  return absl::StrFormat("%-16s%-12d%-6d%-6d%-8s%-10d`\n%s%s", name, 0, 0, 0,
                         "644", bytes.size(), bytes,
                         bytes.size() % 2 == 1 ? "\n" : "");
}

std::string Archive(
    const std::vector<std::pair<std::string, std::string>>& members) {
  std::string archive = "!<arch>\n";
  for (const auto& [name, bytes] : members) {
    archive += ArMember(name + "/", bytes);
  }
  return archive;
}

std::string HostObject(const std::string& section, const std::string& bytes) {
  const std::string names = std::string(1, '\0') + section + '\0';
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_shoff = sizeof(header) + names.size() + bytes.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shstrndx = 0;
  Elf64_Shdr of_names{};
  of_names.sh_type = SHT_STRTAB;
  of_names.sh_offset = sizeof(header);
  of_names.sh_size = names.size();
  Elf64_Shdr of_bytes{};
  of_bytes.sh_name = 1;
  of_bytes.sh_type = SHT_PROGBITS;
  of_bytes.sh_offset = sizeof(header) + names.size();
  of_bytes.sh_size = bytes.size();
  std::string object;
  Put(header, &object);
  object += names + bytes;
  Put(of_names, &object);
  Put(of_bytes, &object);
  return object;
}

}  // namespace holdfast::software
