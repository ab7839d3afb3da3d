// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/exporter/http_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace holdfast::exporter {
namespace {

// civetweb's own log would go to files and to standard error.
int DropMessage(const mg_connection*, const char*) { return 1; }

// A connection with the status that it was answered with, for civetweb.
struct Sending {
  mg_connection* connection;
  int status = 0;
};

void Send(void* target, const HoldfastHttpResponse* response) {
  auto* const sending = static_cast<Sending*>(target);
  sending->status = response->status;
  const int written = mg_printf(
      sending->connection,
      "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "%sConnection: close\r\n\r\n",
      response->status,
      mg_get_response_code_text(sending->connection, response->status),
      response->content_type, response->body_size, response->headers);
  if (written <= 0) return;
  mg_write(sending->connection, response->body, response->body_size);
}

// Connects to the port now and then until it is destroyed: civetweb looks only
// every two seconds whether it is to stop, or when somebody connects.
class Waker {
 public:
  explicit Waker(sockaddr_in6 address)
      : thread_([this, address] {
          while (!done_) {
            Connect(address);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
        }) {}
  ~Waker() {
    done_ = true;
    thread_.join();
  }

 private:
  static void Connect(const sockaddr_in6& address) {
    const int fd = socket(address.sin6_family,
                          SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    // Not waited for; a sockaddr_in6 has room for IPv4, too.
    (void)connect(fd, reinterpret_cast<const sockaddr*>(&address),
                  address.sin6_family == AF_INET ? sizeof(sockaddr_in)
                                                 : sizeof(sockaddr_in6));
    close(fd);
  }

  std::atomic<bool> done_{false};
  std::thread thread_;  // uses the flag
};

// Where a server on "127.0.0.1:0" or "[::]:0" that got this port is reached:
// the kernel takes "any" for loopback.
sockaddr_in6 Reach(const std::string& address, int port) {
  sockaddr_in6 target = {};
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(target);
  const std::string host = address.substr(0, address.rfind(':'));
  if (inet_pton(AF_INET, host.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(static_cast<uint16_t>(port));
    return target;
  }
  target.sin6_family = AF_INET6;
  target.sin6_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(),
            &target.sin6_addr);
  return target;
}

}  // namespace

int HttpServer::OnRequest(mg_connection* connection) {
  const mg_request_info* const request = mg_get_request_info(connection);
  return static_cast<const HttpServer*>(request->user_data)->Answer(connection);
}

int HttpServer::Answer(mg_connection* connection) const {
  Sending sending{connection};
  const mg_request_info* const info = mg_get_request_info(connection);
  if (std::strcmp(info->request_method, "GET") != 0) {
    constexpr char kBody[] = "only GET is served\n";
    const HoldfastHttpResponse refused = {405, "text/plain", "Allow: GET\r\n",
                                          kBody, sizeof kBody - 1};
    Send(&sending, &refused);
    return sending.status;
  }
  HoldfastHttpRequest request = {};
  request.path = info->local_uri == nullptr ? "" : info->local_uri;
  request.host = mg_get_header(connection, "Host");
  request.authorization = mg_get_header(connection, "Authorization");
  answer_(context_, &request, Send, &sending);
  return sending.status == 0 ? 500 : sending.status;
}

std::unique_ptr<HttpServer> HttpServer::Start(
    const HoldfastHttpOptions& options, std::string* error) {
  std::unique_ptr<HttpServer> server(new HttpServer(options));
  const std::string threads = std::to_string(options.threads);
  const std::string waiting = std::to_string(options.waiting);
  const std::string timeout = std::to_string(options.timeout_ms);
  const std::string bytes = std::to_string(options.max_request_bytes);
  const char* settings[] = {"listening_ports",
                            options.address,
                            "num_threads",
                            threads.c_str(),
                            "connection_queue",
                            waiting.c_str(),
                            "listen_backlog",
                            waiting.c_str(),
                            "request_timeout_ms",
                            timeout.c_str(),
                            "max_request_size",
                            bytes.c_str(),
                            "enable_keep_alive",
                            "no",
                            "enable_directory_listing",
                            "no",
                            "enable_auth_domain_check",
                            "no",
                            nullptr};
  mg_callbacks callbacks = {};
  callbacks.begin_request = OnRequest;
  callbacks.log_message = DropMessage;
  char text[256] = {};
  mg_error_data problem = {};
  problem.text = text;
  problem.text_buffer_size = sizeof text;
  mg_init_data data = {};
  data.callbacks = &callbacks;
  data.user_data = server.get();
  data.configuration_options = settings;
  mg_init_library(0);
  server->server_ = mg_start2(&data, &problem);
  if (server->server_ == nullptr) {
    *error = text;
    return nullptr;
  }
  mg_server_port port = {};
  if (mg_get_server_ports(server->server_, 1, &port) == 1) {
    server->port_ = port.port;
  }
  return server;
}

HttpServer::~HttpServer() {
  if (server_ != nullptr) {
    const Waker waker(Reach(address_, port_));
    mg_stop(server_);
  }
  mg_exit_library();
}

}  // namespace holdfast::exporter
