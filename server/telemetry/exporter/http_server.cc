// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/exporter/http_server.h"

#include <fcntl.h>

#include <boost/system/system_error.hpp>
#include <chrono>
#include <utility>

#include "server/telemetry/exporter/http_connection.h"

namespace holdfast::exporter {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// Until another connection is tried, when the system has refused one.
constexpr auto kPause = std::chrono::milliseconds(100);

// Not for a program that this process executes: an upgrade takes the same
// port.
template <typename Socket>
void CloseOnExec(Socket& socket) {
  fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

}  // namespace

std::unique_ptr<HttpServer> HttpServer::Start(
    const HoldfastHttpOptions& options, std::string* error) {
  std::unique_ptr<HttpServer> server(new HttpServer(options));
  try {
    server->Listen(options.address);
    server->Accept();
    server->thread_ = std::thread([loop = &server->loop_] { loop->run(); });
  } catch (const std::exception& failure) {
    *error = failure.what();
    return nullptr;
  }
  return server;
}

HttpServer::~HttpServer() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
  answers_.stop();  // requests that wait are not answered
  answers_.join();
}

void HttpServer::Listen(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  const auto found = tcp::resolver(loop_).resolve(
      host, address.substr(colon + 1), tcp::resolver::passive);
  const tcp::endpoint endpoint = *found.begin();
  acceptor_.open(endpoint.protocol());
  CloseOnExec(acceptor_);
  acceptor_.set_option(tcp::acceptor::reuse_address(true));
  acceptor_.bind(endpoint);
  acceptor_.listen();
  port_ = acceptor_.local_endpoint().port();
}

void HttpServer::Accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (!error) {
      Add(std::move(socket));
      return Accept();
    }
    pause_.expires_after(kPause);
    pause_.async_wait([this](const error_code&) { Accept(); });
  });
}

void HttpServer::Add(tcp::socket socket) {
  CloseOnExec(socket);
  if (connections_.size() >= static_cast<size_t>(options_.connections)) {
    connections_.front()->Close();
    connections_.pop_front();
  }
  connections_.push_back(
      std::make_shared<HttpConnection>(*this, std::move(socket)));
  connections_.back()->Start();
}

}  // namespace holdfast::exporter
