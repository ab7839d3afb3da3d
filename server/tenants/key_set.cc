// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/key_set.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/params.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "server/tenants/unambiguous_json.h"

namespace holdfast {
namespace {

using nlohmann::json;

constexpr size_t kMaxKeyBytes = 1024;   // of one number: 8192 bits
constexpr size_t kMaxKeys = 256;        // of one set
constexpr size_t kMaxKeyIdBytes = 256;  // a longer one is cut in messages

using Key = std::shared_ptr<EVP_PKEY>;

// Returns an empty string if there is no such member.
absl::StatusOr<std::string> TextOf(const json& key, const char* name) {
  const auto found = key.find(name);
  if (found == key.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no string"));
}

absl::StatusOr<std::string> BytesOf(const json& key, const char* name) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string text, TextOf(key, name));
  std::optional<std::string> bytes = DecodeBase64Url(text);
  if (bytes.has_value() && bytes->size() <= kMaxKeyBytes) {
    return *std::move(bytes);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "' is not 1 to ", kMaxKeyBytes, " bytes in base64url"));
}

const unsigned char* Bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Members of a key whose owner alone may have them (RFC 7518, section 6).
bool IsPrivate(const json& key) {
  for (const char* const name : {"d", "p", "q", "dp", "dq", "qi", "k"}) {
    if (key.contains(name)) return true;
  }
  return false;
}

Key MakeRsa(const BIGNUM* modulus, const BIGNUM* exponent) {
  const std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)> builder(
      OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus);
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent);
  const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> parameters(
      OSSL_PARAM_BLD_to_param(builder.get()), OSSL_PARAM_free);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  if (EVP_PKEY_fromdata_init(context.get()) == 1) {
    EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY,
                      parameters.get());
  }
  ERR_clear_error();
  return {key, EVP_PKEY_free};
}

// Returns null if OpenSSL takes no such key.
absl::StatusOr<Key> ReadRsa(const json& key) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string n, BytesOf(key, "n"));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string e, BytesOf(key, "e"));
  const auto number = [](const std::string& bytes) {
    return std::unique_ptr<BIGNUM, decltype(&BN_free)>(
        BN_bin2bn(Bytes(bytes), static_cast<int>(bytes.size()), nullptr),
        BN_free);
  };
  const auto modulus = number(n);
  const auto exponent = number(e);
  // 1 and even numbers sign nothing; a long one takes long.
  if (!BN_is_odd(exponent.get()) || BN_is_one(exponent.get()) ||
      BN_num_bits(exponent.get()) > 33) {
    return absl::InvalidArgumentError(
        "'e' is no odd number from 3 to 2 to the power of 33");
  }
  return MakeRsa(modulus.get(), exponent.get());
}

absl::StatusOr<Key> ReadEd25519(const json& key) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string x, BytesOf(key, "x"));
  Key read(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(x),
                                       x.size()),
           EVP_PKEY_free);
  ERR_clear_error();
  return read;
}

// Whether the key signs tokens by an algorithm that the daemon has.
absl::StatusOr<bool> SignsTokens(const json& key) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string kind, TextOf(key, "kty"));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string use, TextOf(key, "use"));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string algorithm, TextOf(key, "alg"));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string curve, TextOf(key, "crv"));
  if (kind.empty()) return absl::InvalidArgumentError("it has no 'kty'");
  if (!use.empty() && use != "sig") return false;
  if (kind == "RSA") return algorithm.empty() || algorithm == "RS256";
  return kind == "OKP" && curve == "Ed25519" &&
         (algorithm.empty() || algorithm == "EdDSA" || algorithm == "Ed25519");
}

absl::StatusOr<TokenKey> ReadKey(const json& key) {
  HOLDFAST_ASSIGN_OR_RETURN(std::string id, TextOf(key, "kid"));
  HOLDFAST_ASSIGN_OR_RETURN(
      Key read, key["kty"] == "RSA" ? ReadRsa(key) : ReadEd25519(key));
  if (read == nullptr) {
    return absl::InvalidArgumentError("the public key cannot be read");
  }
  return TokenKey::Create(std::move(read), std::move(id));
}

// "keys[2] ('2026-a')"
std::string NameOf(size_t number, const json& key) {
  std::string name = absl::StrCat("keys[", number, "]");
  if (key.contains("kid") && key["kid"].is_string()) {
    const auto id = key["kid"].get<std::string>();
    absl::StrAppend(&name, " ('", ToPrintable(id.substr(0, kMaxKeyIdBytes)),
                    "')");
  }
  return name;
}

// Adds the key, unless it is one to pass over.
absl::Status AddKey(const json& key, std::set<std::string>* ids,
                    std::vector<TokenKey>* keys) {
  if (!key.is_object()) return absl::InvalidArgumentError("it is no object");
  if (IsPrivate(key)) {
    return absl::InvalidArgumentError(
        "it is a private or secret key, which is for the issuer alone");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const bool signs, SignsTokens(key));
  if (!signs) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(TokenKey read, ReadKey(key));
  if (!read.id().empty() && !ids->insert(read.id()).second) {
    return absl::InvalidArgumentError("another key has the same 'kid'");
  }
  keys->push_back(std::move(read));
  return absl::OkStatus();
}

}  // namespace

bool IsKeySet(const std::string& text) {
  const auto first = std::find_if_not(text.begin(), text.end(), [](char c) {
    return absl::ascii_isspace(static_cast<unsigned char>(c));
  });
  return first != text.end() && *first == '{';
}

absl::StatusOr<std::vector<TokenKey>> ParseKeySet(const std::string& text) {
  const std::string place = PlaceOfJsonError(text);
  if (!place.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": it is no JSON"));
  }
  const auto set = ParseObject(text);
  if (!set.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it ", set.status().message()));
  }
  const auto list = set->find("keys");
  if (list == set->end() || !list->is_array() || list->size() > kMaxKeys) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has no member 'keys', an array of at most ", kMaxKeys,
                     " keys (JWKS, RFC 7517)"));
  }
  std::vector<TokenKey> keys;
  std::set<std::string> ids;
  for (size_t i = 0; i < list->size(); ++i) {
    const absl::Status added = AddKey((*list)[i], &ids, &keys);
    if (added.ok()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(i, (*list)[i]), ": ", added.message()));
  }
  if (!keys.empty()) return keys;
  return absl::InvalidArgumentError(
      "no key in it signs tokens by RS256 or EdDSA");
}

}  // namespace holdfast
