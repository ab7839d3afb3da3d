// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_HTTP_CLIENT_H_
#define HOLDFAST_TESTS_SERVER_TESTING_HTTP_CLIENT_H_

#include <string>

#include "core/base/unique_fd.h"

namespace holdfast {

struct HttpAnswer {
  int status = 0;       // 0: there was no complete header
  std::string headers;  // with the status line
  std::string body;
};

// Connects to an IPv4 address and port, "127.0.0.1:9464". Returns an invalid
// descriptor on failure.
UniqueFd ConnectTo(const std::string& address);

// Reads until the server closes the connection.
HttpAnswer ReadAnswer(const UniqueFd& connection);

// Connects, sends these bytes, and reads the answer.
HttpAnswer SendHttp(const std::string& address, const std::string& bytes);

// Sends a GET request. `headers` are additional lines, each with "\r\n".
HttpAnswer HttpGet(const std::string& address, const std::string& path,
                   const std::string& headers = "");

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_HTTP_CLIENT_H_
