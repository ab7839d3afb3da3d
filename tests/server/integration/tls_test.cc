// SPDX-License-Identifier: Apache-2.0
//
// TCP with certificates: the daemon accepts these connections itself as well,
// and a client is then who its certificate names.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "tests/server/integration/daemon_fixture.h"
#include "tests/server/testing/certificates.h"
#include "tests/server/testing/raw_http2.h"

namespace holdfast {
namespace {

class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    char name[] = "/tmp/holdfast-test-XXXXXX";
    directory_ = mkdtemp(name);
    const Certificate server = authority_.Issue("server");
    daemon_ = std::make_unique<DaemonProcess>(std::vector<std::string>{
        "--tls-cert=" + Write("server.pem", server.certificate),
        "--tls-key=" + Write("server.key", server.key),
        "--tls-client-ca=" + Write("ca.pem", authority_.certificate()),
        "--max-sessions-per-client=1"});
  }
  ~TlsTest() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  Channel ConnectAs(const Certificate& client) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority_.certificate();
    options.pem_cert_chain = client.certificate;
    options.pem_private_key = client.key;
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("server");
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(daemon_->tcp_address(),
                                     grpc::SslCredentials(options), arguments);
  }

  static grpc::Status Open(const Channel& channel) {
    grpc::ClientContext context;
    v1::OpenSessionRequest request;
    request.set_protocol_version(1);
    v1::OpenSessionResponse response;
    return v1::SessionService::NewStub(channel)->OpenSession(&context, request,
                                                             &response);
  }

  std::string directory_;
  CertificateAuthority authority_;
  std::unique_ptr<DaemonProcess> daemon_;
};

TEST_F(TlsTest, SharesGoByCertificateNotByAddressOrConnection) {
  const Certificate alice = authority_.Issue("alice");
  const Certificate bob = authority_.Issue("bob");
  const grpc::Status opened = Open(ConnectAs(alice));
  EXPECT_TRUE(opened.ok()) << Text(opened);
  const grpc::Status second = Open(ConnectAs(alice));
  EXPECT_EQ(second.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(absl::StrContains(second.error_message(), "certificate alice"))
      << Text(second);
  EXPECT_TRUE(Open(ConnectAs(bob)).ok());
}

TEST_F(TlsTest, StrangersAndPlainConnectionsAreRefused) {
  CertificateAuthority other;
  EXPECT_EQ(Open(ConnectAs(other.Issue("alice"))).error_code(),
            StatusCode::UNAVAILABLE);
  EXPECT_EQ(Open(ConnectAs({})).error_code(), StatusCode::UNAVAILABLE);
  RawHttp2 plain(daemon_->tcp_address());
  EXPECT_TRUE(plain.Begin());
  EXPECT_TRUE(plain.IsClosed(10'000));
}

}  // namespace
}  // namespace holdfast
