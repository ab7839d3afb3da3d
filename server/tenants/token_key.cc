// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/token_key.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr int kLeastRsaBits = 2048;  // RFC 7518, section 3.3
constexpr int kMostRsaBits = 8192;   // a check of more takes too long

// One "-----BEGIN NAME-----" of a PEM text.
struct PemBlock {
  PemBlock() = default;
  PemBlock(const PemBlock&) = delete;
  PemBlock& operator=(const PemBlock&) = delete;
  ~PemBlock() {
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(data);
  }

  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
};

absl::StatusOr<std::string> AlgorithmOf(const EVP_PKEY* key) {
  const int kind = EVP_PKEY_get_base_id(key);
  if (kind == EVP_PKEY_ED25519) return "EdDSA";
  if (kind != EVP_PKEY_RSA) {
    return absl::InvalidArgumentError(
        "a public key is neither RSA nor Ed25519");
  }
  const int bits = EVP_PKEY_get_bits(key);
  if (bits >= kLeastRsaBits && bits <= kMostRsaBits) return "RS256";
  return absl::InvalidArgumentError(
      absl::StrCat("an RSA key has ", bits, " bits; it must have ",
                   kLeastRsaBits, " to ", kMostRsaBits));
}

absl::StatusOr<TokenKey> ToKey(const PemBlock& block) {
  const absl::string_view name = block.name;
  if (absl::EndsWith(name, "PRIVATE KEY")) {
    return absl::InvalidArgumentError(
        "there is a private key in it, which is for the issuer alone; its "
        "public key is wanted (openssl pkey -pubout)");
  }
  if (name != "PUBLIC KEY") {
    return absl::InvalidArgumentError(
        absl::StrCat("there is a '", ToPrintable(name),
                     "' in it; wanted are blocks 'PUBLIC KEY'"));
  }
  const unsigned char* data = block.data;
  std::shared_ptr<EVP_PKEY> key(d2i_PUBKEY(nullptr, &data, block.size),
                                EVP_PKEY_free);
  if (key == nullptr) {
    return absl::InvalidArgumentError("a public key cannot be parsed");
  }
  return TokenKey::Create(std::move(key));
}

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

absl::StatusOr<TokenKey> TokenKey::Create(std::shared_ptr<evp_pkey_st> key,
                                          std::string id) {
  HOLDFAST_ASSIGN_OR_RETURN(std::string algorithm, AlgorithmOf(key.get()));
  return TokenKey(std::move(key), std::move(algorithm), std::move(id));
}

bool TokenKey::Verifies(absl::string_view text,
                        absl::string_view signature) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), EVP_MD_CTX_free);
  // Ed25519 hashes by itself.
  const EVP_MD* const hash = algorithm_ == "RS256" ? EVP_sha256() : nullptr;
  const bool verified =
      EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, key_.get()) ==
          1 &&
      EVP_DigestVerify(context.get(), Bytes(signature), signature.size(),
                       Bytes(text), text.size()) == 1;
  // Otherwise what was wrong stays in a list of this thread.
  ERR_clear_error();
  return verified;
}

absl::StatusOr<std::vector<TokenKey>> ParseTokenKeys(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  std::vector<TokenKey> keys;
  while (true) {
    PemBlock block;
    if (PEM_read_bio(bio.get(), &block.name, &block.header, &block.data,
                     &block.size) != 1) {
      break;
    }
    HOLDFAST_ASSIGN_OR_RETURN(TokenKey key, ToKey(block));
    keys.push_back(std::move(key));
  }
  const bool at_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) {
    return absl::InvalidArgumentError("a block in it is broken (PEM)");
  }
  if (!keys.empty()) return keys;
  return absl::InvalidArgumentError(
      "no public key is in it (PEM, -----BEGIN PUBLIC KEY-----)");
}

}  // namespace holdfast
