// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/exporter/http_connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <chrono>

#include "server/telemetry/exporter/http_server.h"

namespace holdfast::exporter {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

}  // namespace

void HttpConnection::Start() {
  const auto limit = static_cast<uint32_t>(server_.options_.max_request_bytes);
  parser_.header_limit(limit);
  buffer_.max_size(limit);
  stream_.expires_after(std::chrono::milliseconds(server_.options_.timeout_ms));
  http::async_read_header(
      stream_, buffer_, parser_,
      [self = shared_from_this()](const error_code& error, size_t) {
        self->OnRequest(error);
      });
}

void HttpConnection::OnRequest(const error_code& error) {
  // Parsing has failed only if there is an answer to give: else the client has
  // gone, or was too slow.
  if (error == http::error::header_limit ||
      error == http::error::buffer_overflow) {
    return Refuse(431, "", "the request is too long");
  }
  if (error.category() == make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream) {
    return Refuse(400, "", "this is no request of HTTP/1");
  }
  if (error) return End();
  const auto& request = parser_.get();
  if (request.method() != http::verb::get &&
      request.method() != http::verb::head) {
    return Refuse(405, "Allow: GET, HEAD\r\n", "only GET and HEAD are served");
  }
  if (request.count(http::field::host) > 1) {
    return Refuse(400, "", "the request names several hosts");
  }
  boost::asio::post(server_.answers_,
                    [self = shared_from_this()] { self->Answer(); });
}

void HttpConnection::Answer() {
  const auto& fields = parser_.get();
  const std::string target(fields.target());
  const std::string path = target.substr(0, target.find('?'));
  const std::string host(fields[http::field::host]);
  const std::string authorization(fields[http::field::authorization]);
  const auto header = [&](http::field name, const std::string& value) {
    return fields.count(name) == 0 ? nullptr : value.c_str();
  };
  const HoldfastHttpRequest request = {
      .path = path.c_str(),
      .host = header(http::field::host, host),
      .authorization = header(http::field::authorization, authorization)};
  const HoldfastHttpOptions& options = server_.options_;
  options.answer(options.context, &request, TakeAnswer, this);
  boost::asio::post(server_.loop_,
                    [self = shared_from_this()] { self->Send(); });
}

void HttpConnection::TakeAnswer(void* connection,
                                const HoldfastHttpResponse* response) {
  static_cast<HttpConnection*>(connection)->SetText(*response);
}

void HttpConnection::SetText(const HoldfastHttpResponse& response) {
  const auto reason = http::obsolete_reason(
      http::int_to_status(static_cast<unsigned>(response.status)));
  text_ = "HTTP/1.1 " + std::to_string(response.status) + " " +
          std::string(reason) + "\r\nContent-Type: " + response.content_type +
          "\r\nContent-Length: " + std::to_string(response.body_size) +
          "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n" +
          response.headers + "Connection: close\r\n\r\n";
  if (parser_.get().method() == http::verb::head) return;
  text_.append(response.body, response.body_size);
}

void HttpConnection::Refuse(int status, const char* headers,
                            const std::string& why) {
  const std::string body = why + "\n";
  SetText({status, "text/plain", headers, body.data(), body.size()});
  Send();
}

void HttpConnection::Send() {
  stream_.expires_after(std::chrono::milliseconds(server_.options_.timeout_ms));
  boost::asio::async_write(
      stream_, boost::asio::buffer(text_),
      [self = shared_from_this()](const error_code&, size_t) {
        // The client sees the end before the reset that unread bytes cause.
        error_code ignored;
        self->stream_.socket().shutdown(boost::asio::socket_base::shutdown_send,
                                        ignored);
        self->End();
      });
}

void HttpConnection::End() {
  Close();
  server_.connections_.remove(shared_from_this());
}

}  // namespace holdfast::exporter
