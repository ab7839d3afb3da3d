// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"

namespace holdfast {
namespace {

// TLS with certificates that may change. gRPC's core asks for them at each
// handshake and keeps what it has if it gets none; the C++ library has no class
// for that, so this one binds its port by the core's functions.
class ReloadingCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadingCredentials(std::shared_ptr<TlsCertificates> certificates)
      : certificates_(std::move(certificates)),
        credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                certificates_->asks_clients()
                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
                &ReloadingCredentials::Fetch, this))) {}
  ~ReloadingCredentials() override {
    grpc_server_credentials_release(credentials_);
  }
  ReloadingCredentials(const ReloadingCredentials&) = delete;
  ReloadingCredentials& operator=(const ReloadingCredentials&) = delete;

  // Calls are authenticated by `Callers`.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  // gRPC asks in the thread that hands it the connection: that which accepts
  // for the endpoint, so it is one at a time. (gRPC 1.51 itself does not guard
  // the certificates that it replaces.)
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<ReloadingCredentials*>(self)->Fetch(config);
  }
  grpc_ssl_certificate_config_reload_status Fetch(
      grpc_ssl_server_certificate_config** config) {
    auto texts = certificates_->texts();
    if (texts == given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair = {texts->key.c_str(),
                                             texts->certificate.c_str()};
    // gRPC 1.51 asserts that there is a CA, also where clients are not asked
    // for certificates and none is ever compared with it.
    const std::string& ca =
        certificates_->asks_clients() ? texts->client_ca : texts->certificate;
    *config = grpc_ssl_server_certificate_config_create(ca.c_str(), &pair, 1);
    given_ = std::move(texts);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<TlsCertificates> certificates_;
  grpc_server_credentials* const credentials_;
  // Those that gRPC has.
  std::shared_ptr<const TlsCertificates::Texts> given_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTcpCredentials(
    const Endpoint& endpoint, std::shared_ptr<TlsCertificates> certificates,
    bool insecure) {
  if (certificates != nullptr) {
    return std::make_shared<ReloadingCredentials>(std::move(certificates));
  }
  if (!endpoint.IsLoopback() && !insecure) {
    return absl::FailedPreconditionError(absl::StrCat(
        endpoint.ToString(),
        " is reachable from other machines: give --tls-cert and --tls-key, or "
        "--insecure if the network is trusted"));
  }
  if (!endpoint.IsLoopback()) {
    LogWarning("plain TCP on ", endpoint.ToString(),
               ": whoever can read the network can take over a session");
  }
  return grpc::InsecureServerCredentials();
}

}  // namespace holdfast
