// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/failed_connection.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/bench/loopback_certificate.h"
#include "client/cpp/connection/channel.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "tests/server/testing/certificates.h"

// AddressSanitizer's leak check asks for it; nobody else calls it.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:ares_strdup";  // c-ares loses names that it finds in /etc/hosts.
}

namespace holdfast {
namespace {

// A server of gRPC at a port of 127.0.0.1.
class Server {
 public:
  explicit Server(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", credentials, &port_);
    builder.RegisterCallbackGenericService(&nothing_);
    server_ = builder.BuildAndStart();
  }
  ~Server() { server_->Shutdown(); }

  std::string target() const { return absl::StrCat("127.0.0.1:", port_); }
  std::string at(absl::string_view host) const {
    return absl::StrCat(host, ":", port_);
  }

 private:
  int port_ = 0;
  grpc::CallbackGenericService nothing_;
  std::unique_ptr<grpc::Server> server_;
};

class FailedConnectionTest : public testing::Test {
 protected:
  // Writes a file that the test removes. Returns its path.
  std::string Write(absl::string_view name, absl::string_view text) {
    const std::string path = absl::StrCat(testing::TempDir(), "/", name);
    std::ofstream(path) << text;
    return path;
  }

  std::shared_ptr<grpc::ServerCredentials> Tls(bool asks_clients) const {
    grpc::SslServerCredentialsOptions options(
        asks_clients
            ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
            : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    options.pem_root_certs = own_.certificate;
    options.pem_key_cert_pairs.push_back({own_.key, own_.certificate});
    return grpc::SslServerCredentials(options);
  }

  static std::shared_ptr<grpc::ServerCredentials> TlsOf(
      const Certificate& own, const std::string& client_ca = "") {
    grpc::SslServerCredentialsOptions options(
        client_ca.empty()
            ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
            : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = client_ca;
    options.pem_key_cert_pairs.push_back({own.key, own.certificate});
    return grpc::SslServerCredentials(options);
  }

  static std::string WhyNot(const std::string& address) {
    const auto channel =
        ConnectToDaemon(*Address::Parse(address), absl::Seconds(10), "");
    EXPECT_EQ(channel.status().code(), absl::StatusCode::kUnavailable);
    return std::string(channel.status().message());
  }
  static void Expect(const std::string& address, absl::string_view why) {
    const std::string said = WhyNot(address);
    EXPECT_TRUE(absl::StrContains(said, why)) << said;
    EXPECT_TRUE(absl::StrContains(said, address)) << said;
  }

  const bench::LoopbackCertificate own_ = *bench::LoopbackCertificate::Make();
  const bench::LoopbackCertificate other_ = *bench::LoopbackCertificate::Make();
  const std::string ca_ = Write("ca.pem", own_.certificate);
  const std::string key_ = Write("key.pem", own_.key);
  const std::string other_ca_ = Write("other.pem", other_.certificate);
  const std::string other_key_ = Write("other.key", other_.key);
};

TEST_F(FailedConnectionTest, ARightAddressConnects) {
  const Server server(Tls(/*asks_clients=*/true));
  const auto address = Address::Parse(absl::StrCat(
      "tls:", server.target(), "?ca=", ca_, ",cert=", ca_, ",key=", key_));
  EXPECT_TRUE(ConnectToDaemon(*address, absl::Seconds(10), "").ok());
}

TEST_F(FailedConnectionTest, NoAuthorityIsNamed) {
  const Server server(Tls(/*asks_clients=*/false));
  Expect(absl::StrCat("tls:", server.target()), "ca=FILE");
}

TEST_F(FailedConnectionTest, AnotherAuthorityHasSigned) {
  const Server server(Tls(/*asks_clients=*/false));
  Expect(absl::StrCat("tls:", server.target(), "?ca=", other_ca_),
         absl::StrCat("not signed by ca=", other_ca_));
}

TEST_F(FailedConnectionTest, TheCertificateIsForAnotherName) {
  const Server server(Tls(/*asks_clients=*/false));
  Expect(absl::StrCat("tls:", server.at("localhost"), "?ca=", ca_),
         "is for 127.0.0.1, not for localhost: name=127.0.0.1");
}

TEST_F(FailedConnectionTest, AClientsCertificateIsWanted) {
  const Server server(Tls(/*asks_clients=*/true));
  Expect(absl::StrCat("tls:", server.target(), "?ca=", ca_), "cert=FILE");
}

TEST_F(FailedConnectionTest, AClientsCertificateIsNotAccepted) {
  const Server server(Tls(/*asks_clients=*/true));
  Expect(absl::StrCat("tls:", server.target(), "?ca=", ca_, ",cert=", other_ca_,
                      ",key=", other_key_),
         absl::StrCat("does not accept cert=", other_ca_));
}

constexpr CertificateAuthority::Validity kExpired = {.begin = -7200,
                                                     .end = -3600};

TEST_F(FailedConnectionTest, TheDaemonsCertificateHasExpired) {
  CertificateAuthority authority;
  const Server server(TlsOf(authority.Issue("localhost", kExpired)));
  Expect(absl::StrCat("tls:", server.at("localhost"),
                      "?ca=", Write("signed.pem", authority.certificate())),
         ": the daemon's certificate: certificate has expired");
}

TEST_F(FailedConnectionTest, AnAuthorityHasExpired) {
  CertificateAuthority authority(kExpired);
  const Server server(TlsOf(authority.Issue("localhost")));
  const std::string ca = Write("expired.pem", authority.certificate());
  Expect(absl::StrCat("tls:", server.at("localhost"), "?ca=", ca),
         absl::StrCat("the authority /CN=test authority in ca=", ca,
                      ": certificate has expired"));
}

TEST_F(FailedConnectionTest, AClientsCertificateHasExpired) {
  CertificateAuthority authority;
  const Certificate client = authority.Issue("client", kExpired);
  const Server server(
      TlsOf(authority.Issue("localhost"), authority.certificate()));
  const std::string cert = Write("old.pem", client.certificate);
  Expect(absl::StrCat("tls:", server.at("localhost"),
                      "?ca=", Write("signed.pem", authority.certificate()),
                      ",cert=", cert, ",key=", Write("old.key", client.key)),
         absl::StrCat("cert=", cert, " has expired"));
}

TEST_F(FailedConnectionTest, AnAuthorityOfClientsHasExpired) {
  CertificateAuthority authority;
  CertificateAuthority expired(kExpired);
  const Certificate client = expired.Issue("client");
  const Server server(
      TlsOf(authority.Issue("localhost"), expired.certificate()));
  const std::string cert = Write("client.pem", client.certificate);
  Expect(absl::StrCat("tls:", server.at("localhost"),
                      "?ca=", Write("signed.pem", authority.certificate()),
                      ",cert=", cert, ",key=", Write("client.key", client.key)),
         absl::StrCat("does not accept cert=", cert,
                      ": its --tls-client-ca has not signed it, or has "
                      "expired"));
}

TEST_F(FailedConnectionTest, AKeyIsNotThatOfItsCertificate) {
  const Server server(Tls(/*asks_clients=*/true));
  Expect(absl::StrCat("tls:", server.target(), "?ca=", ca_, ",cert=", ca_,
                      ",key=", other_key_),
         "is not the private key");
}

TEST_F(FailedConnectionTest, TheServerSpeaksPlainText) {
  const Server server(grpc::InsecureServerCredentials());
  Expect(absl::StrCat("tls:", server.target(), "?ca=", ca_),
         absl::StrCat("use tcp:", server.target()));
}

TEST_F(FailedConnectionTest, TheServerSpeaksTls) {
  const Server server(Tls(/*asks_clients=*/false));
  Expect(absl::StrCat("tcp:", server.target()),
         absl::StrCat("use tls:", server.target()));
}

TEST_F(FailedConnectionTest, NobodyListens) {
  std::string target;
  {
    const Server server(grpc::InsecureServerCredentials());
    target = server.target();
  }
  Expect(absl::StrCat("tcp:", target), "no daemon listens at this port");
  Expect(absl::StrCat("tls:", target), "no daemon listens at this port");
  Expect("tcp:no-such-host.invalid:7070", "is not known");
}

}  // namespace
}  // namespace holdfast
