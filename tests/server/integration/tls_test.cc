// SPDX-License-Identifier: Apache-2.0
//
// TCP with certificates: the daemon accepts these connections itself as well,
// and a client is then who its certificate names.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
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
    WriteServer(authority_);
    daemon_ = std::make_unique<DaemonProcess>(std::vector<std::string>{
        "--tls-cert=" + directory_ + "/server.pem",
        "--tls-key=" + directory_ + "/server.key",
        "--tls-client-ca=" + Write("ca.pem", authority_.certificate()),
        "--audit-log=" + audit(), "--max-sessions-per-client=1"});
  }
  ~TlsTest() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  // Gives the daemon a certificate and key of this authority.
  void WriteServer(CertificateAuthority& authority) {
    const Certificate server = authority.Issue("server");
    Write("server.pem", server.certificate);
    Write("server.key", server.key);
  }

  std::string audit() const { return directory_ + "/audit.json"; }

  // Returns when the daemon has read its files again: the audit log is opened
  // anew after them.
  void Reload() {
    std::filesystem::remove(audit());
    kill(daemon_->pid(), SIGHUP);
    for (int i = 0; i < 3000; ++i) {
      if (std::filesystem::exists(audit())) return;
      absl::SleepFor(absl::Milliseconds(10));
    }
    FAIL() << "the daemon has read nothing";
  }

  ChannelPtr ConnectAs(const Certificate& client) {
    return ConnectAs(client, authority_);
  }
  // The client trusts one authority.
  ChannelPtr ConnectAs(const Certificate& client,
                       const CertificateAuthority& trusted) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = trusted.certificate();
    options.pem_cert_chain = client.certificate;
    options.pem_private_key = client.key;
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("server");
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(daemon_->tcp_address(),
                                     grpc::SslCredentials(options), arguments);
  }

  static grpc::Status Open(const ChannelPtr& channel) {
    grpc::ClientContext context;
    v1::OpenSessionRequest request;
    request.set_protocol_version(1);
    v1::OpenSessionResponse response;
    return v1::SessionService::NewStub(channel)->OpenSession(&context, request,
                                                             &response);
  }

  static StatusCode List(const ChannelPtr& channel) {
    grpc::ClientContext context;
    v1::ListSessionsResponse response;
    return v1::SessionService::NewStub(channel)
        ->ListSessions(&context, {}, &response)
        .error_code();
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

// Twenty seconds; gRPC alone would wait for two minutes.
TEST_F(TlsTest, AHandshakeThatNeverEndsIsEnded) {
  RawHttp2 silent(daemon_->tcp_address());
  EXPECT_TRUE(silent.IsClosed(/*milliseconds=*/60'000));
}

TEST_F(TlsTest, NewCertificatesAreForNewConnectionsFromSighupOn) {
  CertificateAuthority next;
  const Certificate old_client = authority_.Issue("alice");
  const Certificate new_client = next.Issue("alice");
  const ChannelPtr open = ConnectAs(old_client);
  EXPECT_EQ(List(open), StatusCode::OK);
  EXPECT_EQ(List(ConnectAs(new_client, next)), StatusCode::UNAVAILABLE);
  WriteServer(next);
  Write("ca.pem", next.certificate());
  EXPECT_EQ(List(ConnectAs(old_client)), StatusCode::OK);
  Reload();
  EXPECT_EQ(List(ConnectAs(new_client, next)), StatusCode::OK);
  // The server's certificate is another, and the client's is of no authority
  // that the daemon still trusts.
  EXPECT_EQ(List(ConnectAs(old_client)), StatusCode::UNAVAILABLE);
  EXPECT_EQ(List(ConnectAs(old_client, next)), StatusCode::UNAVAILABLE);
  EXPECT_EQ(List(open), StatusCode::OK);
  // As often as one likes.
  for (int i = 0; i < 20; ++i) {
    WriteServer(next);
    Reload();
    ASSERT_EQ(List(ConnectAs(new_client, next)), StatusCode::OK) << i;
  }
}

TEST_F(TlsTest, WithoutAClientCaWhoeverTrustsTheDaemonMayConnect) {
  daemon_ = std::make_unique<DaemonProcess>(
      std::vector<std::string>{"--tls-cert=" + directory_ + "/server.pem",
                               "--tls-key=" + directory_ + "/server.key"});
  const grpc::Status opened = Open(ConnectAs({}));
  EXPECT_TRUE(opened.ok()) << Text(opened);
}

TEST_F(TlsTest, ABadFileChangesNothing) {
  CertificateAuthority next;
  const Certificate client = authority_.Issue("alice");
  const std::string bad[][2] = {{"server.key", next.Issue("server").key},
                                {"server.key", ""},
                                {"server.pem", "no certificate"},
                                {"ca.pem", "no certificate"}};
  for (const auto& [name, text] : bad) {
    WriteServer(authority_);
    Write("ca.pem", authority_.certificate());
    Reload();
    Write(name, text);
    Reload();
    EXPECT_EQ(List(ConnectAs(client)), StatusCode::OK) << name;
    EXPECT_EQ(List(ConnectAs(next.Issue("alice"), next)),
              StatusCode::UNAVAILABLE);
  }
}

}  // namespace
}  // namespace holdfast
