// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_EXPORTER_HTTP_CONNECTION_H_
#define HOLDFAST_SERVER_TELEMETRY_EXPORTER_HTTP_CONNECTION_H_

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <string>

#include "server/telemetry/exporter/exporter.h"

namespace holdfast::exporter {

class HttpServer;

// The connection of one client: reads one request, sends the answer, and
// closes. The object exists until then, or until Close. Only the thread of the
// server's loop calls its methods, except for Answer.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpServer& server, boost::asio::ip::tcp::socket socket)
      : server_(server), stream_(std::move(socket)) {}

  // Begins to read the request.
  void Start();
  // Ends the running read or write. Has no effect on a closed connection.
  void Close() { stream_.close(); }

 private:
  void OnRequest(const boost::system::error_code& error);
  // Calls the server's `answer`. Runs in a thread of the server's pool.
  void Answer();
  static void TakeAnswer(void* connection,
                         const HoldfastHttpResponse* response);
  void SetText(const HoldfastHttpResponse& response);
  // Answers with the error `status` and its reason.
  void Refuse(int status, const char* headers, const std::string& why);
  void Send();
  // Closes the connection, and removes it from the server's list.
  void End();

  HttpServer& server_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  boost::beast::http::request_parser<boost::beast::http::empty_body> parser_;
  std::string text_;  // the answer
};

}  // namespace holdfast::exporter

#endif  // HOLDFAST_SERVER_TELEMETRY_EXPORTER_HTTP_CONNECTION_H_
