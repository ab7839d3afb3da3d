// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/attach/unacknowledged.h"

#include <utility>

namespace holdfast {
namespace {

// Tag and wire type of CommandBatch.first_sequence.
constexpr char kFirstSequenceTag = 0x08;

}  // namespace

bool Unacknowledged::Add(absl::string_view bytes) {
  if (bytes.empty() || bytes[0] != kFirstSequenceTag) return false;
  uint64_t sequence = 0;
  for (size_t i = 1, shift = 0; shift < 64; ++i, shift += 7) {
    if (i == bytes.size()) return false;
    const auto byte = static_cast<uint8_t>(bytes[i]);
    sequence |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      bytes_ += bytes.size();
      batches_.push_back({sequence, std::string(bytes)});
      return true;
    }
  }
  return false;
}

void Unacknowledged::Acknowledge(uint64_t sequence) {
  while (!batches_.empty() && batches_.front().first_sequence <= sequence) {
    bytes_ -= batches_.front().bytes.size();
    batches_.pop_front();
  }
}

}  // namespace holdfast
