// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/sharing_storm_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/unique_fd.h"

namespace holdfast::e2e {

const char* Name(Deed deed) {
  constexpr const char* kNames[kDeeds] = {
      "exported",           "imported",
      "mapped locally",     "imported from a process",
      "versions made",      "versions opened",
      "faults of kernels",  "executors killed",
      "clients killed",     "KiB compared",
      "slept and woke",     "semaphores awaited",
      "semaphores mapped",  "events awaited",
      "faults of processes"};
  return kNames[static_cast<int>(deed)];
}

std::vector<uint32_t> Pattern(uint32_t seed, size_t words) {
  std::vector<uint32_t> pattern(words);
  for (size_t i = 0; i < words; ++i) {
    pattern[i] = seed + static_cast<uint32_t>(i) * 2654435761u;
  }
  return pattern;
}

StormBoard::StormBoard(std::string directory)
    : directory_(std::move(directory)) {
  const UniqueFd fd(open((directory_ + "/counts").c_str(),
                         O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  constexpr size_t kSize = kDeeds * sizeof(uint64_t);
  if (ftruncate(fd.get(), kSize) != 0) std::abort();
  void* const memory =
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) std::abort();
  counts_ = static_cast<uint64_t*>(memory);
}

StormBoard::~StormBoard() { munmap(counts_, kDeeds * sizeof(uint64_t)); }

void StormBoard::Put(const std::string& kind, const Offer& offer) {
  const std::string name = absl::StrCat(kind, "-", getpid(), "-", ++offers_);
  const std::string unfinished = absl::StrCat(directory_, "/new-", name);
  const LocalExport& memory = offer.memory;
  std::ofstream(unfinished)
      << absl::BytesToHexString(memory.token) << ' '
      << (memory.address.empty() ? "-" : memory.address) << ' ' << memory.offset
      << ' ' << memory.size << ' ' << memory.mapped_size << ' '
      << memory.read_only << ' ' << offer.seed;
  std::filesystem::rename(unfinished, absl::StrCat(directory_, "/", name));
}

std::optional<Offer> StormBoard::Take(const std::string& kind,
                                      uint32_t choice) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (absl::StartsWith(entry.path().filename().string(), kind + "-")) {
      paths.push_back(entry.path());
    }
  }
  if (paths.empty()) return std::nullopt;
  const std::string& path = paths[choice % paths.size()];
  Offer offer;
  LocalExport& memory = offer.memory;
  std::string token;
  std::ifstream file(path);
  file >> token >> memory.address >> memory.offset >> memory.size >>
      memory.mapped_size >> memory.read_only >> offer.seed;
  if (!file || unlink(path.c_str()) != 0) return std::nullopt;
  memory.token = absl::HexStringToBytes(token);
  return offer;
}

void StormBoard::Count(Deed deed, uint64_t count) {
  std::atomic_ref<uint64_t>(counts_[static_cast<int>(deed)]) += count;
}

uint64_t StormBoard::Counted(Deed deed) const {
  return std::atomic_ref<uint64_t>(counts_[static_cast<int>(deed)]).load();
}

}  // namespace holdfast::e2e
