// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/metrics_server.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "server/telemetry/page/page_files.h"

namespace holdfast {
namespace {

using Request = ExporterLibrary::Request;
using Response = ExporterLibrary::Response;

constexpr size_t kMaxPasswordFileBytes = 4096;

// The format's own media type.
constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

// The page runs its own script and asks its own server, and stands in no other
// page's frame.
constexpr char kPagePolicy[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; "
    "style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'\r\n";

Response Refuse(int status, std::string why, std::string headers = "") {
  Response response;
  response.status = status;
  response.headers = std::move(headers);
  response.body = std::move(why) + "\n";
  return response;
}

// Does the header "Basic <base64 of user:password>" have this password? Takes
// as long for any wrong one of its length.
bool HasPassword(absl::string_view header, absl::string_view password) {
  std::string decoded;
  if (!absl::ConsumePrefix(&header, "Basic ") ||
      !absl::Base64Unescape(header, &decoded)) {
    return false;
  }
  const size_t colon = decoded.find(':');
  if (colon == std::string::npos) return false;
  return EqualTokens(absl::string_view(decoded).substr(colon + 1), password);
}

// A Host header, "localhost:9464", that names this machine's loopback. Browsers
// always send one.
bool NamesLoopback(absl::string_view host) {
  if (host.empty()) return true;
  // Endpoints always have a port.
  const bool has_port =
      !absl::EndsWith(host, "]") && absl::StrContains(host, ':');
  const auto endpoint =
      Endpoint::Parse(absl::StrCat("tcp:", host, has_port ? "" : ":80"));
  return endpoint.ok() && endpoint->IsLoopback();
}

// As the exporter takes it: "127.0.0.1:9464".
std::string AddressOf(const Endpoint& endpoint) {
  Endpoint numeric = endpoint;
  if (numeric.host == "localhost") numeric.host = "127.0.0.1";
  return std::string(absl::StripPrefix(numeric.ToString(), "tcp:"));
}

// Whether the daemon answers, and whether it takes sessions: a probe, which has
// no password, learns no more. nullopt: another path.
std::optional<Response> AnswerProbe(const std::string& path,
                                    const std::string& obstacle) {
  if (path == "/healthz") return Response{.body = "ok\n"};
  if (path != "/readyz") return std::nullopt;
  if (obstacle.empty()) return Response{.body = "ready\n"};
  return Refuse(503, absl::StrCat("not ready: ", obstacle));
}

}  // namespace

absl::StatusOr<std::string> ReadPassword(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", strerror(errno)));
  }
  if ((status.st_mode & S_IRWXO) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " can be read by every user of this machine: chmod o-rwx"));
  }
  if ((status.st_mode & S_IWGRP) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " can be written by its group: chmod g-w"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string text,
                            ReadFile(path, kMaxPasswordFileBytes));
  const std::string line = text.substr(0, text.find('\n'));
  if (line.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has no password in its first line"));
  }
  return line;
}

MetricsServer::MetricsServer(Options options, ExporterLibrary library)
    : options_(std::move(options)),
      library_(library),
      endpoint_(options_.endpoint) {}

absl::Status MetricsServer::CheckReach(const Endpoint& endpoint,
                                       bool beyond_loopback) {
  if (endpoint.IsLoopback() || beyond_loopback) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "--metrics-address=", AddressOf(endpoint),
      " is reachable from other machines: give --metrics-beyond-loopback if "
      "they may read it"));
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    Options options) {
  HOLDFAST_RETURN_IF_ERROR(
      CheckReach(options.endpoint, options.beyond_loopback));
  HOLDFAST_ASSIGN_OR_RETURN(const ExporterLibrary library,
                            ExporterLibrary::Load());
  std::unique_ptr<MetricsServer> server(
      new MetricsServer(std::move(options), library));
  HOLDFAST_ASSIGN_OR_RETURN(
      server->server_,
      library.Serve(AddressOf(server->endpoint_), server->options_.timeout,
                    [server = server.get()](const Request& request) {
                      return server->Answer(request);
                    }));
  server->endpoint_.port = static_cast<uint16_t>(server->server_->port());
  return server;
}

std::string MetricsServer::url() const {
  return absl::StrCat("http://", AddressOf(endpoint_), "/metrics");
}

Response MetricsServer::Answer(const Request& request) const {
  if (options_.endpoint.IsLoopback() && !NamesLoopback(request.host)) {
    return Refuse(403, "the request's host is not this machine's loopback");
  }
  if (auto probe = AnswerProbe(request.path, options_.obstacle())) {
    return *std::move(probe);
  }
  if (!options_.password.empty() &&
      !HasPassword(request.authorization, options_.password)) {
    return Refuse(401, "a password is needed",
                  "WWW-Authenticate: Basic realm=\"holdfast\"\r\n");
  }
  if (request.path == "/metrics") {
    return {.content_type = kMetricsType,
            .body = library_.Text(options_.collect())};
  }
  if (request.path == "/status.json") {
    return {.content_type = "application/json", .body = options_.status()};
  }
  const auto file = FindPageFile(request.path);
  if (!file.has_value()) {
    return Refuse(404,
                  "there are /, /metrics, /status.json, /healthz and /readyz");
  }
  return {.content_type = std::string(file->content_type),
          .headers = kPagePolicy,
          .body = std::string(file->text)};
}

}  // namespace holdfast
