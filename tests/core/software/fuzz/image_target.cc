// SPDX-License-Identifier: Apache-2.0
//
// Containers of PTX: fat binaries, linked images, objects, archives, their
// compression.
#include <zstd.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/cuda/archive.h"
#include "core/cuda/container.h"
#include "core/cuda/decompress.h"
#include "tests/core/software/driver/containers.h"
#include "tests/core/software/fuzz/fuzz_target.h"

namespace holdfast::software {
namespace {

constexpr char kText[] = ".version 7.0\n.target sm_75\n.address_size 64\n";

template <typename T>
void Put(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// An entry of PTX as the CUDA compilers write it.
std::string Entry(uint64_t flags, const std::string& payload) {
  std::string entry;
  Put(uint16_t{1}, &entry);
  Put(uint16_t{0x101}, &entry);
  Put(uint32_t{64}, &entry);
  Put(uint64_t{payload.size()}, &entry);
  Put(static_cast<uint32_t>(payload.size()), &entry);
  Put(uint32_t{0}, &entry);
  Put(uint32_t{0x00080000}, &entry);
  Put(uint32_t{75}, &entry);
  Put(uint64_t{0}, &entry);
  Put(flags, &entry);
  Put(uint64_t{0}, &entry);
  Put(uint64_t{sizeof(kText)}, &entry);
  return entry + payload;
}

}  // namespace

std::vector<std::string> FuzzCorpus() {
  std::string zstd(ZSTD_compressBound(sizeof(kText)), '\0');
  zstd.resize(ZSTD_compress(&zstd[0], zstd.size(), kText, sizeof(kText), 3));
  const std::string plain(kText, sizeof(kText));
  const std::string lz4 =
      std::string("\xf0") + static_cast<char>(sizeof(kText) - 15) + plain;
  return {plain,
          Fatbin(Entry(0, plain)),
          Fatbin(Entry(0x8000, zstd)),
          Fatbin(Entry(0x2000, lz4) + Entry(0, plain)),
          cuda::WriteLinkedImage({plain, plain}),
          HostObject(".nv_fatbin", Fatbin(Entry(0, plain))),
          Archive({{"x.o", plain}}) + ArMember("#1/2", "y\n"),
          "\x7f"
          "ELF\x02\x01\x01"};
}

}  // namespace holdfast::software

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace cuda = holdfast::cuda;
  // A copy of its own, so that a sanitizer sees each byte too far.
  const std::vector<uint8_t> bytes(data, data + size);
  std::vector<std::string> modules;
  std::string text;
  cuda::ReadContainer(bytes.data(), bytes.size(), 90, &modules, &text);
  cuda::ReadLinkInput(std::string(bytes.begin(), bytes.end()), 90, &modules,
                      &text);
  const absl::string_view view(reinterpret_cast<const char*>(bytes.data()),
                               bytes.size());
  std::vector<cuda::ArchiveMember> members;
  cuda::ReadArchive(view, &members);
  cuda::DecompressLz4(view, 1000, &text);
  cuda::DecompressZstd(view, 1000, &text);
  return 0;
}
