// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_TLS_CERTIFICATES_H_
#define HOLDFAST_SERVER_RPC_TLS_CERTIFICATES_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// The PEM files for TLS over TCP. Without files, TCP is plain.
struct TlsFiles {
  std::string certificate;  // the server's, with its chain
  std::string key;
  std::string client_ca;  // if set, it must have signed clients' certificates

  bool empty() const {
    return certificate.empty() && key.empty() && client_ca.empty();
  }
};

// The server's certificates, which may be replaced while it serves.
// Thread-safe.
class TlsCertificates {
 public:
  // PEM texts. Immutable.
  struct Texts {
    std::string certificate;
    std::string key;
    std::string client_ca;  // empty: clients need no certificate
  };

  // Reads the files. INVALID_ARGUMENT: certificate or key is missing, a file is
  // not a PEM file of its kind, or the key does not belong to the certificate.
  // Other errors: a file cannot be read. Errors name the option and the file.
  static absl::StatusOr<std::shared_ptr<TlsCertificates>> Load(TlsFiles files);

  // Reads the files again. On an error nothing changes. Returns the errors of
  // Load, and those of CheckTime if the certificates in use are valid now. If
  // they are not, only logs the error, as Load does: a daemon that is started
  // again after a crash has sessions of clients without TLS, too.
  absl::Status Reload();

  // INVALID_ARGUMENT: the certificate in use has expired or is not valid yet,
  // or all authorities of the clients' certificates have expired.
  absl::Status CheckTime() const;

  // Returns the present texts. Reload replaces the object.
  std::shared_ptr<const Texts> texts() const;

  // Returns true if clients need a certificate.
  bool asks_clients() const { return !files_.client_ca.empty(); }

 private:
  explicit TlsCertificates(TlsFiles files) : files_(std::move(files)) {}

  const TlsFiles files_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const Texts> texts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_TLS_CERTIFICATES_H_
