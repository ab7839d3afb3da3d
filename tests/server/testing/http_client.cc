// SPDX-License-Identifier: Apache-2.0
#include "tests/server/testing/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast {

UniqueFd ConnectTo(const std::string& address) {
  const size_t colon = address.rfind(':');
  sockaddr_in target = {};
  target.sin_family = AF_INET;
  target.sin_port =
      htons(static_cast<uint16_t>(std::atoi(address.c_str() + colon + 1)));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &target.sin_addr);
  UniqueFd connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(connection.get(), reinterpret_cast<sockaddr*>(&target),
              sizeof target) != 0) {
    return {};
  }
  return connection;
}

HttpAnswer ReadAnswer(const UniqueFd& connection) {
  std::string text;
  char bytes[4096];
  ssize_t n = 0;
  while ((n = read(connection.get(), bytes, sizeof bytes)) > 0) {
    text.append(bytes, static_cast<size_t>(n));
  }
  HttpAnswer answer;
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return answer;
  answer.headers = text.substr(0, end + 2);
  answer.body = text.substr(end + 4);
  answer.status = std::atoi(text.c_str() + text.find(' '));
  return answer;
}

HttpAnswer SendHttp(const std::string& address, const std::string& bytes) {
  const UniqueFd connection = ConnectTo(address);
  if (!connection.valid()) return {};
  if (send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
    return {};
  }
  return ReadAnswer(connection);
}

HttpAnswer HttpGet(const std::string& address, const std::string& path,
                   const std::string& headers) {
  return SendHttp(address, "GET " + path + " HTTP/1.1\r\nHost: " + address +
                               "\r\nConnection: close\r\n" + headers + "\r\n");
}

}  // namespace holdfast
