// SPDX-License-Identifier: Apache-2.0
//
// The HTTP endpoint with metrics of the test's own.
#include "server/telemetry/metrics_server.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/counters/duration_histogram.h"
#include "server/telemetry/metric_values.h"
#include "tests/server/testing/http_client.h"

namespace holdfast {
namespace {

MetricFamilies Example() {
  MetricFamilies families;
  families.AddCounter("example_bytes_total", "Bytes, \"moved\".\nAnd more.")
      .Add(3, {{"path", "a\"b\\c\nd"}});
  families.AddGauge("example_open", "Open ones.").Add(7);
  DurationHistogram durations;
  durations.Observe(absl::Milliseconds(3));
  durations.Observe(absl::Milliseconds(3));
  durations.Observe(absl::Hours(1));
  families.AddHistogram("example_duration_seconds", "How long.")
      .samples.push_back(SampleOf(durations, {{"method", "Get"}}));
  return families;
}

MetricsServer::Options OnLoopback() {
  return {.endpoint = *Endpoint::Parse("tcp:127.0.0.1:0"),
          .collect = Example,
          .timeout = absl::Milliseconds(500)};
}

// A server and its address.
class Served {
 public:
  explicit Served(MetricsServer::Options options = OnLoopback()) {
    auto server = MetricsServer::Start(std::move(options));
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    address_ = server_->url().substr(7);
    address_.resize(address_.find('/'));
  }

  const std::string& address() const { return address_; }

 private:
  std::unique_ptr<MetricsServer> server_;
  std::string address_;
};

TEST(MetricsServerTest, ServesPrometheusTextFormat) {
  const Served served;
  const HttpAnswer answer = HttpGet(served.address(), "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(absl::StrContains(answer.headers,
                                "Content-Type: text/plain; version=0.0.4"));
  for (const char* line : {
           "# TYPE example_bytes_total counter\n",
           "example_bytes_total{path=\"a\\\"b\\\\c\\nd\"} 3\n",
           "# TYPE example_open gauge\nexample_open 7\n",
           "# TYPE example_duration_seconds histogram\n",
           "example_duration_seconds_count{method=\"Get\"} 3\n",
           "example_duration_seconds_bucket{method=\"Get\",le=\"0.0025\"} 0\n",
           "example_duration_seconds_bucket{method=\"Get\",le=\"0.005\"} 2\n",
           "example_duration_seconds_bucket{method=\"Get\",le=\"+Inf\"} 3\n",
       }) {
    EXPECT_TRUE(absl::StrContains(answer.body, line)) << line << "is not in\n"
                                                      << answer.body;
  }
}

TEST(MetricsServerTest, AnswersGetAndHeadAndNothingElse) {
  const Served served;
  const std::string rest =
      " /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc";
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    EXPECT_EQ(SendHttp(served.address(), method + rest).status, 405) << method;
  }
  EXPECT_EQ(HttpGet(served.address(), "/nothing").status, 404);
  EXPECT_EQ(HttpGet(served.address(), "/../etc/passwd").status, 404);
  EXPECT_EQ(HttpGet(served.address(), "/metrics?a=b").status, 200);
  EXPECT_NE(SendHttp(served.address(), "\x16\x03\x01\r\n\r\n").status, 200);
}

TEST(MetricsServerTest, AnswersHeadWithTheHeadersOfGet) {
  const Served served;
  const HttpAnswer answer = SendHttp(
      served.address(), "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(absl::StrContains(answer.headers, "Content-Length: "));
  EXPECT_FALSE(absl::StrContains(answer.headers, "Content-Length: 0\r\n"));
  EXPECT_EQ(answer.body, "");
}

// Probes have no password.
TEST(MetricsServerTest, TellsProbesWhetherItTakesSessions) {
  std::atomic<bool> ready = false;
  MetricsServer::Options options = OnLoopback();
  options.password = "open:sesame";
  options.obstacle = [&ready] { return ready.load() ? "" : "no device works"; };
  const Served served(std::move(options));
  EXPECT_EQ(HttpGet(served.address(), "/healthz").status, 200);
  EXPECT_EQ(HttpGet(served.address(), "/readyz").status, 503);
  EXPECT_EQ(HttpGet(served.address(), "/readyz").body,
            "not ready: no device works\n");
  ready = true;
  EXPECT_EQ(HttpGet(served.address(), "/readyz").status, 200);
  EXPECT_EQ(HttpGet(served.address(), "/readyz").body, "ready\n");
}

TEST(MetricsServerTest, RefusesARequestThatNamesTwoHosts) {
  const Served served;
  EXPECT_EQ(SendHttp(served.address(),
                     "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
                     "Host: evil.example\r\n\r\n")
                .status,
            400);
}

TEST(MetricsServerTest, AsksForThePassword) {
  MetricsServer::Options options = OnLoopback();
  options.password = "open:sesame";
  const Served served(std::move(options));
  const auto get = [&](const std::string& credentials) {
    return HttpGet(served.address(), "/metrics",
                   "Authorization: " + credentials + "\r\n");
  };
  const HttpAnswer refused = HttpGet(served.address(), "/metrics");
  EXPECT_EQ(refused.status, 401);
  EXPECT_TRUE(absl::StrContains(refused.headers, "WWW-Authenticate: Basic"));
  EXPECT_EQ(get("Basic cHJvbWV0aGV1czpvcGVuOnNlc2FtZQ==").status, 200);
  EXPECT_EQ(get("Basic cHJvbWV0aGV1czpvcGVuOnNlc2FtZg==").status, 401);
  EXPECT_EQ(get("Basic cHJvbWV0aGV1cw==").status, 401);  // without a colon
  EXPECT_EQ(get("Basic ???").status, 401);
  EXPECT_EQ(get("Bearer open:sesame").status, 401);
}

// A page of the web, read by an operator's browser, under a name of its own
// that leads to 127.0.0.1.
TEST(MetricsServerTest, RefusesOtherHostsThanLoopbackOnLoopback) {
  const Served served;
  const auto status = [&](const std::string& host) {
    return SendHttp(served.address(),
                    "GET /metrics HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
        .status;
  };
  EXPECT_EQ(status("evil.example"), 403);
  EXPECT_EQ(status("127.0.0.1.evil.example:80"), 403);
  EXPECT_EQ(status("localhost"), 200);
  EXPECT_EQ(status("localhost:9464"), 200);
  EXPECT_EQ(status("[::1]:9464"), 200);
  EXPECT_EQ(SendHttp(served.address(), "GET /metrics HTTP/1.0\r\n\r\n").status,
            200);
}

TEST(MetricsServerTest, ListensBeyondLoopbackOnlyIfToldTo) {
  MetricsServer::Options options = OnLoopback();
  options.endpoint = *Endpoint::Parse("tcp:0.0.0.0:0");
  EXPECT_EQ(MetricsServer::Start(options).status().code(),
            absl::StatusCode::kFailedPrecondition);
  options.beyond_loopback = true;
  const Served served(std::move(options));
  const std::string port = served.address().substr(served.address().rfind(':'));
  EXPECT_EQ(SendHttp("127.0.0.1" + port,
                     "GET /metrics HTTP/1.1\r\nHost: gpu7\r\n\r\n")
                .status,
            200);
}

TEST(MetricsServerTest, SaysWhyItCannotListen) {
  const Served served;
  MetricsServer::Options options = OnLoopback();
  options.endpoint = *Endpoint::Parse("tcp:" + served.address());
  const absl::Status status = MetricsServer::Start(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), served.address())) << status;
}

TEST(MetricsServerTest, SaysWhichLibraryIsMissing) {
  const std::string library = getenv("HOLDFAST_METRICS_LIBRARY");
  setenv("HOLDFAST_METRICS_LIBRARY", "/nowhere/libholdfast_metrics.so", 1);
  const absl::Status status = MetricsServer::Start(OnLoopback()).status();
  setenv("HOLDFAST_METRICS_LIBRARY", library.c_str(), 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "/nowhere/")) << status;
}

TEST(MetricsServerTest, RefusesLongRequests) {
  const Served served;
  const std::string padding = "X-Padding: " + std::string(1 << 20, 'x');
  EXPECT_NE(HttpGet(served.address(), "/metrics", padding + "\r\n").status,
            200);
  EXPECT_EQ(HttpGet(served.address(), "/metrics").status, 200);
}

TEST(MetricsServerTest, GivesUpOnClientsThatDoNotFinishTheirRequest) {
  const Served served;
  const UniqueFd slow = ConnectTo(served.address());
  ASSERT_EQ(send(slow.get(), "GET ", 4, MSG_NOSIGNAL), 4);
  EXPECT_EQ(ReadAnswer(slow).status, 0);
}

// More than there are places for, none of which ends by itself: each is a user
// of the machine who wants to keep the operator out.
TEST(MetricsServerTest, ManySlowClientsKeepNobodyOut) {
  MetricsServer::Options options = OnLoopback();
  options.timeout = absl::Hours(1);
  const Served served(std::move(options));
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 500; ++i) {
    slow.push_back(ConnectTo(served.address()));
    // Fails where the connection is closed already.
    (void)send(slow.back().get(), "GET ", 4, MSG_NOSIGNAL);
  }
  EXPECT_EQ(HttpGet(served.address(), "/metrics").status, 200);
  EXPECT_EQ(ReadAnswer(slow.front()).status, 0);
}

TEST(MetricsServerTest, StopsWhileClientsAreConnected) {
  auto served = std::make_unique<Served>();
  const UniqueFd idle = ConnectTo(served->address());
  const std::string address = served->address();
  served = nullptr;
  EXPECT_EQ(HttpGet(address, "/metrics").status, 0);
}

class PasswordFileTest : public testing::Test {
 protected:
  void Write(const std::string& text, mode_t mode) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
  }
  ~PasswordFileTest() override { unlink(path_.c_str()); }

  const std::string path_ = testing::TempDir() + "/password";
};

TEST_F(PasswordFileTest, HasThePasswordInItsFirstLine) {
  Write("open sesame\nnot this\n", 0600);
  EXPECT_EQ(*ReadPassword(path_), "open sesame");
}

// As a TLS key of root's that the daemon's group may read.
TEST_F(PasswordFileTest, MayBeReadByItsGroup) {
  Write("open sesame", 0640);
  EXPECT_EQ(*ReadPassword(path_), "open sesame");
}

TEST_F(PasswordFileTest, IsRefusedIfOthersCanReadItOrItIsEmpty) {
  Write("open sesame\n", 0644);
  EXPECT_TRUE(absl::StrContains(ReadPassword(path_).status().message(),
                                "can be read by every user"));
  Write("open sesame\n", 0660);
  EXPECT_TRUE(absl::StrContains(ReadPassword(path_).status().message(),
                                "can be written by its group"));
  Write("\n", 0600);
  EXPECT_FALSE(ReadPassword(path_).ok());
  EXPECT_FALSE(ReadPassword(path_ + "-of-another").ok());
}

}  // namespace
}  // namespace holdfast
