// SPDX-License-Identifier: Apache-2.0
#include "core/base/populate.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "core/base/start_thread.h"

namespace holdfast {
namespace {

// Linux 5.14; older headers do not have it.
constexpr int kMadvPopulateWrite = 23;

constexpr size_t kPieceBytes = size_t{8} << 20;
constexpr size_t kMaxThreads = 8;

void PopulatePiece(char* data, size_t size) {
  if (madvise(data, size, kMadvPopulateWrite) == 0) return;
  // An older kernel: reading a page of shared memory makes it, too.
  for (size_t at = 0; at < size; at += 4096) {
    static_cast<void>(*static_cast<volatile char*>(data + at));
  }
}

}  // namespace

void Populate(void* data, size_t size) {
  if (size == 0) return;
  char* const start = static_cast<char*>(data);
  madvise(start, size, MADV_HUGEPAGE);  // A wish; some kernels have none.
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t at; (at = next.fetch_add(kPieceBytes)) < size;) {
      PopulatePiece(start + at, std::min(kPieceBytes, size - at));
    }
  };
  const size_t pieces = (size + kPieceBytes - 1) / kPieceBytes;
  const size_t threads =
      std::min({pieces, kMaxThreads,
                size_t{std::max(1u, std::thread::hardware_concurrency())}});
  std::vector<std::thread> helpers;
  while (helpers.size() + 1 < threads) {
    auto helper = StartThread("pages of memory", work);
    if (!helper.ok()) break;  // The others do its part.
    helpers.push_back(*std::move(helper));
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace holdfast
