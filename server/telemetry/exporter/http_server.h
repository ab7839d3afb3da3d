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

// Answers GET and HEAD requests on one address, one request for each
// connection, within the limits of HoldfastHttpOptions. Serves no files.
//
// One thread accepts, reads and writes for all connections, so a client that
// reads or writes slowly holds up no other client. A new connection over the
// limit closes the oldest connection: a client that sends its request at once
// gets its answer long before its connection is the oldest. `answer` may block
// and runs in threads of a pool. Thread-safe.
class HttpServer {
 public:
  // Starts a server, which accepts connections when this function returns.
  // Returns null on an error, with the reason in `error`.
  static std::unique_ptr<HttpServer> Start(const HoldfastHttpOptions& options,
                                           std::string* error);
  // Closes all connections. Blocks until no call of `answer` runs any more.
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
  // Oldest first; used by the loop's thread only.
  std::list<std::shared_ptr<HttpConnection>> connections_;
  boost::asio::thread_pool answers_;
  std::thread thread_;
};

}  // namespace holdfast::exporter

#endif  // HOLDFAST_SERVER_TELEMETRY_EXPORTER_HTTP_SERVER_H_
