// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/exporter_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace holdfast {
namespace {

constexpr char kFile[] = "libholdfast_metrics.so";

// Scrapes come every few seconds from one or two places. A client is answered
// in a few milliseconds, in which nobody can open so many connections.
constexpr int kThreads = 4;
constexpr int kConnections = 256;
constexpr int kMaxRequestBytes = 8192;

// Directory of this executable, with a slash at its end; empty if unknown.
std::string ExecutableDirectory() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) return "";
  const absl::string_view text(path, static_cast<size_t>(n));
  return std::string(text.substr(0, text.rfind('/') + 1));
}

std::vector<std::string> Candidates() {
  const char* const named = getenv("HOLDFAST_METRICS_LIBRARY");
  if (named != nullptr && *named != '\0') return {named};
  const std::string here = ExecutableDirectory();
  return {absl::StrCat(here, kFile), absl::StrCat(here, "../lib/", kFile),
          absl::StrCat(here, "../lib/holdfast/", kFile),
          absl::StrCat(here, "telemetry/", kFile)};
}

ExporterLibrary::Request ToRequest(const HoldfastHttpRequest& request) {
  const auto text = [](const char* header) -> std::string {
    return header == nullptr ? "" : header;
  };
  return {text(request.path), text(request.host), text(request.authorization)};
}

class RunningServer final : public ExporterLibrary::Server {
 public:
  RunningServer(const HoldfastExporter& exporter,
                ExporterLibrary::Answer answer)
      : exporter_(exporter), answer_(std::move(answer)) {}
  ~RunningServer() override {
    if (server_ != nullptr) exporter_.stop(server_);
  }

  absl::Status Start(const std::string& address, absl::Duration timeout) {
    const HoldfastHttpOptions options = {
        .address = address.c_str(),
        .context = this,
        .answer = Answer,
        .timeout_ms = static_cast<int>(absl::ToInt64Milliseconds(timeout)),
        .threads = kThreads,
        .connections = kConnections,
        .max_request_bytes = kMaxRequestBytes};
    char error[256] = {};
    server_ = exporter_.start(&options, error, sizeof error);
    if (server_ != nullptr) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("metrics cannot be served on ", address, ": ", error));
  }

  int port() const override { return exporter_.port(server_); }

 private:
  static void Answer(void* context, const HoldfastHttpRequest* request,
                     void (*send)(void*, const HoldfastHttpResponse*),
                     void* connection) {
    const auto& server = *static_cast<const RunningServer*>(context);
    const ExporterLibrary::Response response =
        server.answer_(ToRequest(*request));
    const HoldfastHttpResponse message = {
        .status = response.status,
        .content_type = response.content_type.c_str(),
        .headers = response.headers.c_str(),
        .body = response.body.data(),
        .body_size = response.body.size()};
    send(connection, &message);
  }

  const HoldfastExporter& exporter_;
  const ExporterLibrary::Answer answer_;
  void* server_ = nullptr;
};

// The families with C types, which point into what they were made from.
class CFamilies {
 public:
  explicit CFamilies(const MetricFamilies& families) {
    for (const MetricFamily& family : families.list()) Add(family);
  }

  const std::vector<HoldfastFamily>& list() const { return families_; }

 private:
  void Add(const MetricFamily& family) {
    std::vector<HoldfastSample>& samples = samples_.emplace_back();
    for (const MetricFamily::Sample& sample : family.samples) {
      samples.push_back(Convert(sample));
    }
    families_.push_back({.name = family.name.c_str(),
                         .help = family.help.c_str(),
                         .type = static_cast<int>(family.type),
                         .samples = samples.data(),
                         .sample_count = samples.size()});
  }

  HoldfastSample Convert(const MetricFamily::Sample& sample) {
    std::vector<HoldfastLabel>& labels = labels_.emplace_back();
    for (const auto& [name, value] : sample.labels) {
      labels.push_back({name.c_str(), value.c_str()});
    }
    std::vector<HoldfastBucket>& buckets = buckets_.emplace_back();
    for (const MetricFamily::Bucket& bucket : sample.buckets) {
      buckets.push_back({bucket.upper_bound, bucket.cumulative_count});
    }
    return {.labels = labels.data(),
            .label_count = labels.size(),
            .value = sample.value,
            .count = sample.count,
            .buckets = buckets.data(),
            .bucket_count = buckets.size()};
  }

  // Entries of a deque stay where they are.
  std::deque<std::vector<HoldfastLabel>> labels_;
  std::deque<std::vector<HoldfastBucket>> buckets_;
  std::deque<std::vector<HoldfastSample>> samples_;
  std::vector<HoldfastFamily> families_;
};

static_assert(static_cast<int>(MetricFamily::Type::kCounter) ==
              HOLDFAST_COUNTER);
static_assert(static_cast<int>(MetricFamily::Type::kGauge) == HOLDFAST_GAUGE);
static_assert(static_cast<int>(MetricFamily::Type::kHistogram) ==
              HOLDFAST_HISTOGRAM);

}  // namespace

absl::StatusOr<ExporterLibrary> ExporterLibrary::Load() {
  std::vector<std::string> tried;
  for (const std::string& path : Candidates()) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      tried.emplace_back(dlerror());
      continue;
    }
    const auto get = reinterpret_cast<decltype(&holdfastExporter)>(
        dlsym(library, "holdfastExporter"));
    if (get == nullptr || get()->version != HOLDFAST_EXPORTER_VERSION) {
      tried.push_back(path + ": is of another version of Holdfast");
      continue;
    }
    return ExporterLibrary(*get());
  }
  return absl::UnavailableError(absl::StrCat(
      "metrics need ", kFile,
      ", which is in the wheel, in the package holdfastd and in the archive "
      "holdfast-metrics of the bundle; tried ",
      absl::StrJoin(tried, "; ")));
}

absl::StatusOr<std::unique_ptr<ExporterLibrary::Server>> ExporterLibrary::Serve(
    const std::string& address, absl::Duration timeout, Answer answer) const {
  auto server = std::make_unique<RunningServer>(*exporter_, std::move(answer));
  const absl::Status started = server->Start(address, timeout);
  if (!started.ok()) return started;
  return server;
}

std::string ExporterLibrary::Text(const MetricFamilies& families) const {
  const CFamilies converted(families);
  std::string text;
  exporter_->write_text(
      converted.list().data(), converted.list().size(),
      [](void* sink, const char* bytes, size_t size) {
        static_cast<std::string*>(sink)->append(bytes, size);
      },
      &text);
  return text;
}

}  // namespace holdfast
