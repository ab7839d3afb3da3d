// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/credentials.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

absl::StatusOr<std::string> ReadPem(absl::string_view option,
                                    const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": ", path, " cannot be read"));
  }
  if (text.str().find("-----BEGIN ") == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": ", path, " is no PEM file"));
  }
  return text.str();
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTls(
    const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty()) {
    return absl::InvalidArgumentError(
        "TLS needs both --tls-cert and --tls-key");
  }
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  HOLDFAST_ASSIGN_OR_RETURN(pair.cert_chain,
                            ReadPem("--tls-cert", files.certificate));
  HOLDFAST_ASSIGN_OR_RETURN(pair.private_key, ReadPem("--tls-key", files.key));
  options.pem_key_cert_pairs.push_back(std::move(pair));
  if (!files.client_ca.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(options.pem_root_certs,
                              ReadPem("--tls-client-ca", files.client_ca));
    options.client_certificate_request =
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(options);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTcpCredentials(
    const Endpoint& endpoint, const TlsFiles& files, bool insecure) {
  if (!files.certificate.empty() || !files.key.empty() ||
      !files.client_ca.empty()) {
    return MakeTls(files);
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
