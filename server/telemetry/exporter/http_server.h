// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_EXPORTER_HTTP_SERVER_H_
#define HOLDFAST_SERVER_TELEMETRY_EXPORTER_HTTP_SERVER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "server/telemetry/exporter/exporter.h"

namespace holdfast::exporter {

class HttpConnection;

// Answers GET and HEAD requests on one address, one request a connection.
// Bounded by HoldfastHttpOptions; it serves no files.
//
// One thread accepts, reads and writes for all connections, so a client that
// reads or writes slowly holds up no other client. A connection that finds all
// places taken closes the oldest connection: a client that sends its request
// at once is answered long before it is the oldest. `answer` may block and
// runs in threads of a pool. Thread-safe.
class HttpServer {
 public:
  // Accepts connections when it returns; null: `error` says why.
  static std::unique_ptr<HttpServer> Start(const HoldfastHttpOptions& options,
                                           std::string* error);
  // Closes all connections. Returns when no call of `answer` runs any more.
  ~HttpServer();

  int port() const { return port_; }

 private:
  friend class HttpConnection;

  explicit HttpServer(const HoldfastHttpOptions& options)
      : options_(options), answers_(static_cast<size_t>(options.threads)) {}

  // Throws boost::system::system_error if nothing can listen on the address.
  void Listen(const std::string& address);
  // Accepts the next connection, and then the connection after it.
  void Accept();
  void Add(boost::asio::ip::tcp::socket socket);

  const HoldfastHttpOptions options_;  // `address` is dangling after Start
  int port_ = 0;
  boost::asio::io_context loop_{1};
  boost::asio::ip::tcp::acceptor acceptor_{loop_};
  boost::asio::steady_timer pause_{loop_};  // when no descriptor is free
  // The oldest first. Only the loop's thread uses them.
  std::list<std::shared_ptr<HttpConnection>> connections_;
  boost::asio::thread_pool answers_;
  std::thread thread_;
};

}  // namespace holdfast::exporter

#endif  // HOLDFAST_SERVER_TELEMETRY_EXPORTER_HTTP_SERVER_H_
