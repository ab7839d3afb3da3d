// SPDX-License-Identifier: Apache-2.0
//
// A real daemon's metrics: that they count what happens, that Prometheus takes
// them, and that the dashboard and the alerts name metrics that exist.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/handle.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/devices.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "proto/metadata.h"
#include "tests/server/integration/daemon_fixture.h"
#include "tests/server/telemetry/metrics_text.h"
#include "tests/server/testing/http_client.h"

namespace holdfast {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

class DaemonMetricsTest : public testing::Test {
 protected:
  std::string Text() {
    const HttpAnswer answer = HttpGet(daemon_.metrics_address(), "/metrics");
    EXPECT_EQ(answer.status, 200) << answer.headers;
    return answer.body;
  }

  std::optional<double> Find(const std::string& sample) {
    const auto samples = Samples(Text());
    const auto found = samples.find(sample);
    if (found == samples.end()) return std::nullopt;
    return found->second;
  }
  double Value(const std::string& sample) {
    const auto found = Find(sample);
    EXPECT_TRUE(found.has_value()) << sample;
    return found.value_or(-1);
  }

  // Waits for what another process is about to do.
  bool Becomes(const std::string& sample, double value) {
    for (int i = 0; i < 600; ++i) {
      if (Find(sample) == value) return true;
      absl::SleepFor(absl::Milliseconds(100));
    }
    return false;
  }

  grpc::Status Compile(const std::string& code) {
    v1::CompileRequest request;
    request.set_source(code);
    request.set_language(v1::SOURCE_LANGUAGE_CUDA_CPP);
    request.set_target(v1::OBJECT_FORMAT_PTX);
    request.set_arch("sm_90");
    v1::CompileResponse response;
    grpc::ClientContext context;
    return v1::CompileService::NewStub(unix_)->Compile(&context, request,
                                                       &response);
  }

  DaemonProcess daemon_{{"--metrics-address=127.0.0.1:0"}};
  ChannelPtr unix_ = daemon_.Unix();
};

TEST_F(DaemonMetricsTest, CountsCommandsAndKeepsTheCountsOfDeadExecutors) {
  const std::string fences =
      "holdfast_commands_total{command=\"fence\",outcome=\"done\"}";
  // Faults count on devices that are known, which they are soon.
  EXPECT_TRUE(
      Becomes("holdfast_device_health{device=\"0\",state=\"ready\"}", 1));
  TestSession session(unix_);
  EXPECT_TRUE(session.Run(daemon_.Tcp()).ok());
  EXPECT_TRUE(session.Run(daemon_.Tcp()).ok());
  EXPECT_EQ(Value(fences), 2);
  EXPECT_EQ(Value("holdfast_sessions{state=\"active\"}"), 1);
  grpc::ClientContext context;
  v1::ListSessionsResponse list;
  ASSERT_TRUE(v1::SessionService::NewStub(unix_)
                  ->ListSessions(&context, {}, &list)
                  .ok());
  kill(static_cast<pid_t>(list.sessions(0).executor_pid()), SIGKILL);
  EXPECT_TRUE(Becomes("holdfast_sessions{state=\"active\"}", 0));
  EXPECT_EQ(Value("holdfast_executors_lost_total"), 1);
  EXPECT_EQ(Value("holdfast_tenant_faults_total{tenant=\"(other)\"}"), 1);
  EXPECT_EQ(Value("holdfast_recoveries_total{tenant=\"(other)\"}"), 0);
  EXPECT_EQ(Value("holdfast_device_faults_total{device=\"0\"}"), 1);
  EXPECT_EQ(Value(fences), 2);
  (void)session.Close();
  EXPECT_EQ(Value(fences), 2);
}

TEST_F(DaemonMetricsTest, CountsSessionsThatCameBack) {
  TestSession session(unix_, "", 0, v1::RECOVERY_POLICY_ALWAYS);
  grpc::ClientContext context;
  v1::ListSessionsResponse list;
  ASSERT_TRUE(v1::SessionService::NewStub(unix_)
                  ->ListSessions(&context, {}, &list)
                  .ok());
  kill(static_cast<pid_t>(list.sessions(0).executor_pid()), SIGKILL);
  EXPECT_TRUE(Becomes("holdfast_recoveries_total{tenant=\"(other)\"}", 1));
  EXPECT_EQ(Value("holdfast_tenant_faults_total{tenant=\"(other)\"}"), 1);
}

TEST_F(DaemonMetricsTest, ASessionThatIsClosedLosesNoExecutor) {
  TestSession session(unix_);
  EXPECT_TRUE(session.Close().ok());
  EXPECT_EQ(Value("holdfast_executors_lost_total"), 0);
}

TEST_F(DaemonMetricsTest, TellsOfTheHealthOfDevices) {
  const TestSession session(unix_);
  const std::string probes =
      "holdfast_device_probes_total{device=\"0\",outcome=\"passed\"}";
  EXPECT_TRUE(Becomes(probes, 1));
  const auto samples = Samples(Text());
  const auto state = [&](const std::string& name) {
    return samples.at(absl::StrCat(
        "holdfast_device_health{device=\"0\",state=\"", name, "\"}"));
  };
  EXPECT_EQ(state("ready"), 1);
  EXPECT_EQ(state("probing"), 0);
  EXPECT_EQ(state("quarantined"), 0);
  EXPECT_EQ(samples.at("holdfast_device_probes_total{device=\"0\",outcome="
                       "\"failed\"}"),
            0);
  EXPECT_GT(
      samples.at("holdfast_device_last_probe_duration_seconds{device=\"0\"}"),
      0);
  EXPECT_NEAR(
      samples.at("holdfast_device_last_probe_timestamp_seconds{device=\"0\"}"),
      static_cast<double>(absl::ToUnixSeconds(absl::Now())), 3600);
}

TEST_F(DaemonMetricsTest, IsNotReadyWhileItDrains) {
  const auto becomes = [this](int status) {
    for (int i = 0; i < 600; ++i) {
      if (HttpGet(daemon_.metrics_address(), "/readyz").status == status) {
        return true;
      }
      absl::SleepFor(absl::Milliseconds(100));
    }
    return false;
  };
  const auto drain = [this](bool stop) {
    grpc::ClientContext context;
    v1::DrainRequest request;
    request.set_stop(stop);
    request.mutable_timeout();
    v1::DrainResponse response;
    return v1::AdminService::NewStub(unix_)->Drain(&context, request,
                                                   &response);
  };
  ASSERT_TRUE(becomes(200));
  ASSERT_TRUE(drain(false).ok());
  EXPECT_TRUE(becomes(503));
  EXPECT_TRUE(absl::StrContains(
      HttpGet(daemon_.metrics_address(), "/readyz").body, "is draining"));
  EXPECT_EQ(HttpGet(daemon_.metrics_address(), "/healthz").status, 200);
  ASSERT_TRUE(drain(true).ok());
  EXPECT_TRUE(becomes(200));
  const TestSession session(unix_);
  kill(daemon_.pid(), SIGTERM);
  EXPECT_TRUE(becomes(503));
}

// Schedulers make a tenant a job, and every user is one.
TEST_F(DaemonMetricsTest, OnlyTenantsOfThePolicyHaveSeriesOfTheirOwn) {
  const std::string policy = daemon_.directory() + "/policy.toml";
  std::ofstream(policy) << "unnamed = \"serve\"\n"
                           "[tenants.team-a]\nusers = [\"nobody\"]\n";
  const DaemonProcess daemon(
      {"--metrics-address=127.0.0.1:0", "--policy=" + policy});
  const TestSession session(daemon.Unix());
  const auto samples =
      Samples(HttpGet(daemon.metrics_address(), "/metrics").body);
  for (const char* tenant : {"team-a", "(other)"}) {
    EXPECT_EQ(samples.at(absl::StrCat("holdfast_tenant_gpu_seconds_total{"
                                      "tenant=\"",
                                      tenant, "\",device=\"0\"}")),
              0)
        << tenant;
    EXPECT_EQ(samples.at(absl::StrCat(
                  "holdfast_tenant_launches_total{tenant=\"", tenant, "\"}")),
              0);
  }
  EXPECT_EQ(samples.at("holdfast_gpu_seconds_total{device=\"0\"}"), 0);
  const auto tenants =
      std::count_if(samples.begin(), samples.end(), [](const auto& sample) {
        return absl::StartsWith(sample.first, "holdfast_tenant_launches");
      });
  EXPECT_EQ(tenants, 2);
}

TEST_F(DaemonMetricsTest, ShowsTheAccountOfATenantBesideItsQuota) {
  const std::string policy = daemon_.directory() + "/policy.toml";
  std::ofstream(policy) << "[tenants.team-a]\nusers = [" << geteuid()
                        << "]\n[tenants.team-a.quota]\n"
                           "device-memory = \"1GiB\"\n";
  const DaemonProcess daemon(
      {"--metrics-address=127.0.0.1:0", "--policy=" + policy});
  const ChannelPtr channel = daemon.Unix();
  const TestSession session(channel), other(channel);
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  v1::AllocateBuffer& allocate =
      *batch.add_commands()->mutable_allocate_buffer();
  allocate.set_buffer(Handle{HandleKind::kBuffer, 1, 0}.Pack());
  allocate.set_size(12345);
  allocate.set_device(0);
  batch.add_commands()->mutable_fence()->set_all_streams(true);
  grpc::ClientContext context;
  session.AddToken(&context);
  v1::ResultBatch results;
  ASSERT_TRUE(v1::CommandService::NewStub(channel)
                  ->Run(&context, batch, &results)
                  .ok());
  const auto samples =
      Samples(HttpGet(daemon.metrics_address(), "/metrics").body);
  const auto memory = [&](const std::string& metric, const std::string& kind) {
    return samples.at(
        absl::StrCat(metric, "{tenant=\"team-a\",kind=\"", kind, "\"}"));
  };
  EXPECT_EQ(memory("holdfast_tenant_memory_bytes", "device"), 12345);
  EXPECT_EQ(memory("holdfast_tenant_memory_bytes", "pinned"), 0);
  EXPECT_EQ(memory("holdfast_tenant_memory_limit_bytes", "device"), 1 << 30);
  EXPECT_EQ(memory("holdfast_tenant_memory_limit_bytes", "arena"), 0);
  EXPECT_EQ(samples.at("holdfast_tenant_sessions{tenant=\"team-a\"}"), 2);
}

TEST_F(DaemonMetricsTest, CountsExecutorsOfAGroupApart) {
  const std::string policy = daemon_.directory() + "/policy.toml";
  std::ofstream(policy) << "[groups.inference]\nconcurrency = \"shared\"\n"
                           "[tenants.team-a]\nusers = ["
                        << geteuid() << "]\ngroup = \"inference\"\n";
  const DaemonProcess daemon({"--metrics-address=127.0.0.1:0",
                              "--policy=" + policy, "--warm-executors=0"});
  const TestSession session(daemon.Unix());
  const auto samples =
      Samples(HttpGet(daemon.metrics_address(), "/metrics").body);
  const auto of_group = [&](const std::string& metric) {
    return samples.at(metric + "{group=\"inference\"}");
  };
  EXPECT_EQ(of_group("holdfast_executors_started_total"), 1);
  EXPECT_EQ(of_group("holdfast_executor_start_failures_total"), 0);
  EXPECT_EQ(of_group("holdfast_executors_can_start"), 1);
  EXPECT_EQ(of_group("holdfast_executors_waiting"), 0);
  EXPECT_EQ(of_group("holdfast_executors_lost_waiting_total"), 0);
  // The one that the daemon learns its devices from.
  EXPECT_EQ(samples.at("holdfast_executors_started_total"), 1);
}

TEST_F(DaemonMetricsTest, CountsCallsByMethodAndStatus) {
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    v1::CloseSessionResponse response;
    context.AddMetadata(kSessionTokenKey.name, std::string(32, '0'));
    EXPECT_EQ(v1::SessionService::NewStub(unix_)
                  ->CloseSession(&context, {}, &response)
                  .error_code(),
              StatusCode::NOT_FOUND);
  }
  EXPECT_EQ(Value("holdfast_rpc_calls_total{method=\"SessionService/"
                  "CloseSession\",code=\"NOT_FOUND\"}"),
            3);
  EXPECT_EQ(Value("holdfast_rpc_duration_seconds_count{method=\"SessionService/"
                  "CloseSession\"}"),
            3);
  EXPECT_EQ(Value("holdfast_rpc_calls_running{method=\"SessionService/"
                  "CloseSession\"}"),
            0);
}

TEST_F(DaemonMetricsTest, CountsCompilationsAndHitsOfTheCache) {
  const std::string code = "extern \"C\" __global__ void f() {}";
  EXPECT_TRUE(Compile(code).ok());
  EXPECT_TRUE(Compile(code).ok());
  EXPECT_FALSE(Compile("this is no C++").ok());
  const auto samples = Samples(Text());
  EXPECT_EQ(samples.at("holdfast_compiles_total{outcome=\"done\"}"), 1);
  EXPECT_EQ(samples.at("holdfast_compiles_total{outcome=\"failed\"}"), 1);
  EXPECT_EQ(samples.at("holdfast_compile_duration_seconds_count"), 2);
  EXPECT_EQ(samples.at("holdfast_compile_cache_hits_total{tier=\"memory\"}"),
            1);
  EXPECT_EQ(samples.at("holdfast_compile_cache_misses_total"), 2);
}

// However much a client makes, there are no more series.
TEST_F(DaemonMetricsTest, HasNoSeriesOfSessionsOrClients) {
  const auto sample = [&] { return Samples(Text()).size(); };
  std::vector<std::unique_ptr<TestSession>> sessions;
  sessions.push_back(std::make_unique<TestSession>(unix_, "first"));
  EXPECT_TRUE(sessions.back()->Run(daemon_.Tcp()).ok());
  const size_t before = sample();
  for (int i = 0; i < 3; ++i) {
    sessions.push_back(
        std::make_unique<TestSession>(unix_, absl::StrCat("name", i)));
    EXPECT_TRUE(sessions.back()->Run(daemon_.Tcp()).ok());
  }
  EXPECT_EQ(sample(), before);
}

// NVML is the tests' fake, which the process finds as the loader finds the real
// one.
TEST_F(DaemonMetricsTest, ShowsWhatNvmlTells) {
  grpc::ClientContext context;
  v1::ListDevicesResponse list;
  ASSERT_TRUE(
      v1::DeviceService::NewStub(unix_)->ListDevices(&context, {}, &list).ok());
  const std::string uuid = absl::BytesToHexString(list.devices(0).uuid());
  const std::string library =
      std::filesystem::canonical(getenv("FAKE_NVML")).parent_path().string();
  setenv("HOLDFAST_SOFTWARE_FAKE_NVML_UUID", ("GPU-" + uuid).c_str(), 1);
  setenv("LD_LIBRARY_PATH", library.c_str(), 1);
  const DaemonProcess daemon(
      {"--metrics-address=127.0.0.1:0", "--telemetry=on"});
  unsetenv("LD_LIBRARY_PATH");
  std::map<std::string, double> samples;
  do {
    samples = Samples(HttpGet(daemon.metrics_address(), "/metrics").body);
  } while (!samples.contains("holdfast_device_last_xid{device=\"0\"}"));
  EXPECT_EQ(samples.at("holdfast_device_last_xid{device=\"0\"}"), 79);
  EXPECT_EQ(samples.at("holdfast_device_temperature_celsius{device=\"0\"}"),
            55);
}

// The exit code of promtool, with this on its standard input.
void ExpectPromtool(const std::string& arguments, const std::string& input) {
  if (access("/usr/bin/promtool", X_OK) != 0) {
    GTEST_SKIP() << "no promtool: install the package prometheus";
  }
  const std::string output = testing::TempDir() + "/promtool.txt";
  FILE* const promtool =
      popen(absl::StrCat("/usr/bin/promtool ", arguments, " >", output, " 2>&1")
                .c_str(),
            "w");
  ASSERT_NE(promtool, nullptr);
  fwrite(input.data(), 1, input.size(), promtool);
  EXPECT_EQ(pclose(promtool), 0) << ReadFile(output);
}

TEST_F(DaemonMetricsTest, PassesPromtoolsCheckOfMetrics) {
  const TestSession session(unix_);
  ASSERT_TRUE(Compile("extern \"C\" __global__ void f() {}").ok());
  ExpectPromtool("check metrics", Text());
}

TEST(AlertsTest, PassPromtoolsCheckOfRules) {
  ExpectPromtool(absl::StrCat("check rules ", getenv("HOLDFAST_ALERTS")), "");
}

TEST_F(DaemonMetricsTest, AlertsNameMetricsThatExist) {
  const std::set<std::string> families = FamilyNames(Text());
  const std::set<std::string> named =
      MetricsIn(ReadFile(getenv("HOLDFAST_ALERTS")));
  EXPECT_GT(named.size(), 10u);
  for (const std::string& name : named) {
    EXPECT_TRUE(families.contains(name)) << name;
  }
}

TEST_F(DaemonMetricsTest, DashboardNamesMetricsThatExist) {
  const TestSession session(unix_);
  ASSERT_TRUE(Compile("extern \"C\" __global__ void f() {}").ok());
  // Metrics of tenants and of NVML have no samples without a policy and NVML.
  const std::string text = Text();
  std::set<std::string> names = SampleNames(text);
  names.merge(FamilyNames(text));
  const auto dashboard =
      nlohmann::json::parse(ReadFile(getenv("HOLDFAST_DASHBOARD")));
  size_t expressions = 0;
  for (const auto& panel : dashboard["panels"]) {
    if (panel["type"] == "row") continue;
    for (const auto& target : panel["targets"]) {
      ++expressions;
      const std::set<std::string> named = MetricsIn(target["expr"]);
      EXPECT_FALSE(named.empty()) << target["expr"];
      for (const std::string& name : named) {
        EXPECT_TRUE(names.contains(name)) << name << " in " << target["expr"];
      }
    }
  }
  EXPECT_GT(expressions, 20u);
}

// MONITORING.md has a line on every metric of Holdfast's own, and on no other.
TEST_F(DaemonMetricsTest, TheManualExplainsEveryMetric) {
  const std::string manual = ReadFile(getenv("HOLDFAST_MONITORING"));
  const std::set<std::string> families = FamilyNames(Text());
  for (const std::string& name : families) {
    if (!absl::StartsWith(name, "holdfast_")) continue;
    EXPECT_TRUE(absl::StrContains(manual, absl::StrCat("`", name))) << name;
  }
  for (const std::string& name : MetricsIn(manual)) {
    EXPECT_TRUE(families.contains(name)) << name;
  }
}

// A port that was free a moment ago.
int FreePort() {
  const UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(probe.get(), reinterpret_cast<sockaddr*>(&address), size);
  getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// The distribution's Prometheus, scraping one target once a second.
class Prometheus {
 public:
  Prometheus(const std::string& directory, const std::string& target)
      : address_(absl::StrCat("127.0.0.1:", FreePort())) {
    std::ofstream(directory + "/prometheus.yml")
        << "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
           "scrape_configs:\n"
           "  - job_name: holdfast\n"
           "    static_configs: [{targets: ['"
        << target << "']}]\n";
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string config =
        absl::StrCat("--config.file=", directory, "/prometheus.yml");
    const std::string data =
        absl::StrCat("--storage.tsdb.path=", directory, "/data");
    const std::string listen = "--web.listen-address=" + address_;
    execl("/usr/bin/prometheus", "prometheus", config.c_str(), data.c_str(),
          listen.c_str(), "--log.level=error", nullptr);
    _exit(127);
  }
  ~Prometheus() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  // The result of an instant query, once it has one.
  nlohmann::json Query(const std::string& metric) {
    for (int i = 0; i < 600; ++i) {
      const HttpAnswer answer =
          HttpGet(address_, "/api/v1/query?query=" + metric);
      const auto parsed =
          nlohmann::json::parse(answer.body, nullptr, /*exceptions=*/false);
      if (answer.status == 200 && !parsed.is_discarded() &&
          !parsed["data"]["result"].empty()) {
        return parsed["data"]["result"][0];
      }
      absl::SleepFor(absl::Milliseconds(100));
    }
    ADD_FAILURE() << "Prometheus has no " << metric;
    return {};
  }

 private:
  const std::string address_;
  pid_t pid_ = -1;
};

TEST_F(DaemonMetricsTest, PrometheusScrapesThem) {
  if (access("/usr/bin/prometheus", X_OK) != 0) {
    GTEST_SKIP() << "no Prometheus: install the package prometheus";
  }
  const TestSession session(unix_);
  Prometheus prometheus(daemon_.directory(), daemon_.metrics_address());
  const auto active =
      prometheus.Query("holdfast_sessions%7Bstate=%22active%22%7D");
  EXPECT_EQ(active["metric"]["job"], "holdfast");
  EXPECT_EQ(active["value"][1], "1");
  EXPECT_EQ(prometheus.Query("up")["value"][1], "1");
}

TEST(MetricsFlagsTest, TheDaemonServesNoMetricsUnlessToldTo) {
  const DaemonProcess daemon;
  EXPECT_EQ(daemon.metrics_address(), "");
}

}  // namespace
}  // namespace holdfast
