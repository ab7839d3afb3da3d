// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_SHA256_H_
#define HOLDFAST_CORE_BASE_SHA256_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

using Sha256Digest = std::array<uint8_t, 32>;

// Hashes bytes that lie in memory at once. Thread-safe.
Sha256Digest Sha256(absl::string_view bytes);

// Hashes bytes that come in pieces. Not thread-safe.
class Sha256Hasher {
 public:
  Sha256Hasher();
  ~Sha256Hasher();
  // Any number of times, pieces of any size.
  void Update(absl::string_view bytes);
  // Ends the hash; the hasher is of no more use.
  Sha256Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The digest's 32 bytes as a string, as the protocol carries them.
std::string ToBytes(const Sha256Digest& digest);

// 64 lower-case hex digits.
std::string ToHex(const Sha256Digest& digest);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_SHA256_H_
