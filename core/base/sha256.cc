// SPDX-License-Identifier: Apache-2.0
#include "core/base/sha256.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"

namespace holdfast {

struct Sha256Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256Hasher::Sha256Hasher() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr);
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
