// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/tls_certificates.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "tests/server/testing/certificates.h"

namespace holdfast {
namespace {

class TlsCertificatesTest : public testing::Test {
 protected:
  TlsCertificatesTest() {
    char name[] = "/tmp/holdfast-test-XXXXXX";
    directory_ = mkdtemp(name);
    files_ = {.certificate = directory_ + "/server.pem",
              .key = directory_ + "/server.key",
              .client_ca = directory_ + "/ca.pem"};
    Write(files_.certificate, server_.certificate);
    Write(files_.key, server_.key);
    Write(files_.client_ca, authority_.certificate());
  }
  ~TlsCertificatesTest() override { std::filesystem::remove_all(directory_); }

  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  std::string directory_;
  CertificateAuthority authority_;
  const Certificate server_ = authority_.Issue("server");
  TlsFiles files_;
};

TEST_F(TlsCertificatesTest, ChainsAndSeveralAuthoritiesAreRead) {
  const CertificateAuthority other;
  Write(files_.certificate, server_.certificate + authority_.certificate());
  Write(files_.client_ca,
        "# both\n" + authority_.certificate() + other.certificate());
  const auto loaded = TlsCertificates::Load(files_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE((*loaded)->asks_clients());
  EXPECT_EQ((*loaded)->texts()->key, server_.key);
  files_.client_ca.clear();
  const auto open = TlsCertificates::Load(files_);
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_FALSE((*open)->asks_clients());
}

TEST_F(TlsCertificatesTest, AMistakeIsToldAndChangesNothing) {
  const auto loaded = TlsCertificates::Load(files_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto texts = (*loaded)->texts();
  const std::string& good = server_.certificate;
  const struct {
    const std::string& path;
    std::string text;
    const char* error;
  } kMistakes[] = {
      {files_.certificate, "", "--tls-cert: "},
      {files_.certificate, server_.key, "server.pem has no certificate"},
      {files_.certificate, good.substr(0, good.size() / 2), "--tls-cert: "},
      {files_.certificate, good + good.substr(0, good.size() / 2),
       "server.pem has a certificate that cannot be parsed"},
      {files_.certificate, authority_.Issue("server").certificate,
       "server.key is not the key of the certificate"},
      {files_.key, "", "server.key has no private key"},
      {files_.key, good, "server.key has no private key"},
      {files_.key, authority_.Issue("server").key, "is not the key of"},
      {files_.key, std::string(2 << 20, '#'), "more than 1048576 bytes"},
      {files_.client_ca, "", "--tls-client-ca: "},
      {files_.client_ca, server_.key, "ca.pem has no certificate"},
  };
  for (const auto& [path, text, error] : kMistakes) {
    std::string before;
    std::getline(std::ifstream(path), before, '\0');
    Write(path, text);
    const absl::Status status = (*loaded)->Reload();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << error;
    EXPECT_TRUE(absl::StrContains(status.message(), error)) << status;
    EXPECT_FALSE(absl::StrContains(status.message(), "BEGIN")) << status;
    EXPECT_EQ((*loaded)->texts(), texts);
    Write(path, before);
  }
  std::filesystem::remove(files_.key);
  EXPECT_EQ((*loaded)->Reload().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*loaded)->texts(), texts);
}

TEST_F(TlsCertificatesTest, FilesThatAreRightReplaceThoseBefore) {
  const auto loaded = TlsCertificates::Load(files_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto texts = (*loaded)->texts();
  const Certificate next = authority_.Issue("server");
  Write(files_.certificate, next.certificate);
  Write(files_.key, next.key);
  ASSERT_TRUE((*loaded)->Reload().ok());
  EXPECT_NE((*loaded)->texts(), texts);
  EXPECT_EQ((*loaded)->texts()->certificate, next.certificate);
  EXPECT_EQ(texts->certificate, server_.certificate);
}

TEST_F(TlsCertificatesTest, ACertificateThatIsGoodIsNotReplacedByOneThatIsNot) {
  const auto use = [this](const Certificate& certificate) {
    Write(files_.certificate, certificate.certificate);
    Write(files_.key, certificate.key);
  };
  const Certificate expired =
      authority_.Issue("server", {.begin = -7200, .end = -3600});
  const Certificate early =
      authority_.Issue("server", {.begin = 3600, .end = 7200});
  const auto loaded = TlsCertificates::Load(files_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  use(expired);
  EXPECT_EQ((*loaded)->Reload().message(),
            "--tls-cert: " + files_.certificate + " has expired");
  use(early);
  EXPECT_EQ((*loaded)->Reload().message(),
            "--tls-cert: " + files_.certificate + " is not valid yet");
  EXPECT_EQ((*loaded)->texts()->certificate, server_.certificate);
  // A daemon starts with it, says so, and takes another.
  testing::internal::CaptureStderr();
  const auto late = TlsCertificates::Load(files_);
  EXPECT_TRUE(absl::StrContains(testing::internal::GetCapturedStderr(),
                                "is not valid yet: no client can connect"));
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_FALSE((*late)->CheckTime().ok());
  use(expired);
  EXPECT_TRUE((*late)->Reload().ok());
  use(server_);
  EXPECT_TRUE((*late)->Reload().ok());
  EXPECT_EQ((*late)->texts()->certificate, server_.certificate);
}

TEST_F(TlsCertificatesTest, OneAuthorityThatHasNotExpiredIsEnough) {
  const CertificateAuthority expired({.begin = -7200, .end = -3600});
  const auto loaded = TlsCertificates::Load(files_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  Write(files_.client_ca, expired.certificate());
  EXPECT_EQ((*loaded)->Reload().message(),
            "--tls-client-ca: " + files_.client_ca + " has expired");
  EXPECT_TRUE((*loaded)->CheckTime().ok());
  Write(files_.client_ca, expired.certificate() + authority_.certificate());
  EXPECT_TRUE((*loaded)->Reload().ok());
}

TEST_F(TlsCertificatesTest, AKeyThatEveryUserCanReadIsWarnedOf) {
  const auto said = [this](int mode) {
    chmod(files_.key.c_str(), static_cast<mode_t>(mode));
    testing::internal::CaptureStderr();
    EXPECT_TRUE(TlsCertificates::Load(files_).ok());
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_TRUE(absl::StrContains(
      said(0644), "server.key can be read by every user of this machine"));
  EXPECT_EQ(said(0640), "");
  EXPECT_EQ(said(0600), "");
}

TEST_F(TlsCertificatesTest, CertificateAndKeyAreNamedTogether) {
  files_.key.clear();
  EXPECT_EQ(TlsCertificates::Load(files_).status().message(),
            "TLS needs both --tls-cert and --tls-key");
}

}  // namespace
}  // namespace holdfast
