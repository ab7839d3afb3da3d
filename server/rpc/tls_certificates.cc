// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/tls_certificates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/log.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;

using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free)>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;

// One option and the file that it names.
struct Source {
  absl::string_view option;
  const std::string& path;

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": ", path, " ", what));
  }
};

Source CertificateOf(const TlsFiles& files) {
  return {"--tls-cert", files.certificate};
}

Source ClientCaOf(const TlsFiles& files) {
  return {"--tls-client-ca", files.client_ca};
}

absl::StatusOr<std::string> Read(const Source& source) {
  auto text = ReadFile(source.path, kMaxFileBytes);
  if (text.ok()) return text;
  return absl::Status(
      text.status().code(),
      absl::StrCat(source.option, ": ", text.status().message()));
}

BioPtr BioOf(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
          BIO_free};
}

// A key with a password would else be asked for at the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

// Returns the certificates of a text, of which all must be right and one must
// be there.
absl::StatusOr<std::vector<X509Ptr>> ParseCertificates(
    const Source& source, const std::string& text) {
  const BioPtr bio = BioOf(text);
  std::vector<X509Ptr> all;
  while (true) {
    X509Ptr one(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr),
                X509_free);
    if (one == nullptr) break;
    all.push_back(std::move(one));
  }
  const bool at_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (all.empty()) return source.Error("has no certificate (PEM)");
  if (!at_end) return source.Error("has a certificate that cannot be parsed");
  return all;
}

absl::StatusOr<KeyPtr> ParseKey(const Source& source, const std::string& text) {
  const BioPtr bio = BioOf(text);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr),
             EVP_PKEY_free);
  ERR_clear_error();
  if (key == nullptr) {
    return source.Error("has no private key without a password (PEM)");
  }
  return key;
}

absl::Status CheckPair(const Source& certificate, const Source& key,
                       const TlsCertificates::Texts& texts) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::vector<X509Ptr> own,
                            ParseCertificates(certificate, texts.certificate));
  HOLDFAST_ASSIGN_OR_RETURN(const KeyPtr secret, ParseKey(key, texts.key));
  const bool fits = X509_check_private_key(own[0].get(), secret.get()) == 1;
  ERR_clear_error();
  if (fits) return absl::OkStatus();
  return key.Error(
      absl::StrCat("is not the key of the certificate ", certificate.path));
}

bool HasExpired(const X509Ptr& certificate) {
  return X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0;
}

// Whether the texts, which have been parsed before, are good by the clock: the
// server's own certificate, and an authority of the clients' certificates.
absl::Status CheckTime(const TlsFiles& files,
                       const TlsCertificates::Texts& texts) {
  const Source certificate = CertificateOf(files);
  HOLDFAST_ASSIGN_OR_RETURN(const std::vector<X509Ptr> own,
                            ParseCertificates(certificate, texts.certificate));
  if (HasExpired(own[0])) return certificate.Error("has expired");
  if (X509_cmp_current_time(X509_get0_notBefore(own[0].get())) > 0) {
    return certificate.Error("is not valid yet");
  }
  if (texts.client_ca.empty()) return absl::OkStatus();
  const Source client_ca = ClientCaOf(files);
  HOLDFAST_ASSIGN_OR_RETURN(const std::vector<X509Ptr> authorities,
                            ParseCertificates(client_ca, texts.client_ca));
  return std::all_of(authorities.begin(), authorities.end(), &HasExpired)
             ? client_ca.Error("has expired")
             : absl::OkStatus();
}

// Files of secrets in containers are often open to all, so it is no error.
void WarnOfReaders(const Source& key) {
  struct stat info = {};
  if (stat(key.path.c_str(), &info) != 0 || (info.st_mode & S_IROTH) == 0) {
    return;
  }
  LogWarning(key.option, ": ", key.path,
             " can be read by every user of this machine: chmod o-r");
}

absl::StatusOr<TlsCertificates::Texts> ReadTexts(const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty()) {
    return absl::InvalidArgumentError(
        "TLS needs both --tls-cert and --tls-key");
  }
  const Source certificate = CertificateOf(files);
  const Source key{"--tls-key", files.key};
  const Source client_ca = ClientCaOf(files);
  TlsCertificates::Texts texts;
  HOLDFAST_ASSIGN_OR_RETURN(texts.certificate, Read(certificate));
  HOLDFAST_ASSIGN_OR_RETURN(texts.key, Read(key));
  HOLDFAST_RETURN_IF_ERROR(CheckPair(certificate, key, texts));
  WarnOfReaders(key);
  if (files.client_ca.empty()) return texts;
  HOLDFAST_ASSIGN_OR_RETURN(texts.client_ca, Read(client_ca));
  HOLDFAST_RETURN_IF_ERROR(
      ParseCertificates(client_ca, texts.client_ca).status());
  return texts;
}

}  // namespace

absl::StatusOr<std::shared_ptr<TlsCertificates>> TlsCertificates::Load(
    TlsFiles files) {
  std::shared_ptr<TlsCertificates> certificates(
      new TlsCertificates(std::move(files)));
  HOLDFAST_RETURN_IF_ERROR(certificates->Reload());
  return certificates;
}

absl::Status TlsCertificates::CheckTime() const {
  return holdfast::CheckTime(files_, *texts());
}

absl::Status TlsCertificates::Reload() {
  HOLDFAST_ASSIGN_OR_RETURN(Texts texts, ReadTexts(files_));
  const absl::Status in_time = holdfast::CheckTime(files_, texts);
  if (!in_time.ok()) {
    const auto present = this->texts();
    if (present != nullptr && CheckTime().ok()) return in_time;
    LogError(in_time.message(),
             ": no client can connect by TLS; renew the file and reload");
  }
  auto read = std::make_shared<const Texts>(std::move(texts));
  absl::MutexLock lock(&mutex_);
  texts_ = std::move(read);
  return absl::OkStatus();
}

std::shared_ptr<const TlsCertificates::Texts> TlsCertificates::texts() const {
  absl::MutexLock lock(&mutex_);
  return texts_;
}

}  // namespace holdfast
