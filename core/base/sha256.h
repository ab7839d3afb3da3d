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

// Returns the hash of the bytes. Thread-safe.
Sha256Digest Sha256(absl::string_view bytes);

// Hashes bytes in pieces. Not thread-safe.
class Sha256Hasher {
 public:
  Sha256Hasher();
  ~Sha256Hasher();
  // Adds a piece of any size. May be called any number of times.
  void Update(absl::string_view bytes);
  // Returns the hash. The hasher cannot be used afterwards.
  Sha256Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the digest's 32 bytes as a string, as in the protocol.
std::string ToBytes(const Sha256Digest& digest);

// Returns 64 lower-case hexadecimal digits.
std::string ToHex(const Sha256Digest& digest);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_SHA256_H_
