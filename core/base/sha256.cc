// SPDX-License-Identifier: Apache-2.0
#include "core/base/sha256.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"

namespace holdfast {
namespace {

// Looked for once: a search of all providers each time takes a lock that is
// shared, and longer than a small text. Never freed.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm =
      EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return algorithm;
}

}  // namespace

struct Sha256Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256Hasher::Sha256Hasher() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context, Algorithm(), nullptr);
}

Sha256Hasher::~Sha256Hasher() = default;

void Sha256Hasher::Update(absl::string_view bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

Sha256Digest Sha256Hasher::Finish() {
  Sha256Digest digest{};
  EVP_DigestFinal_ex(state_->context, digest.data(), nullptr);
  return digest;
}

Sha256Digest Sha256(absl::string_view bytes) {
  Sha256Hasher hasher;
  hasher.Update(bytes);
  return hasher.Finish();
}

std::string ToBytes(const Sha256Digest& digest) {
  return std::string(reinterpret_cast<const char*>(digest.data()),
                     digest.size());
}

std::string ToHex(const Sha256Digest& digest) {
  return absl::BytesToHexString(ToBytes(digest));
}

}  // namespace holdfast
