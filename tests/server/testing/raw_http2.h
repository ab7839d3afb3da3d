// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_RAW_HTTP2_H_
#define HOLDFAST_TESTS_SERVER_TESTING_RAW_HTTP2_H_

#include <cstdint>
#include <string>

#include "core/base/unique_fd.h"

namespace holdfast {

// An HTTP/2 client that writes its frames by hand, as no gRPC client would.
class RawHttp2 {
 public:
  // "unix:/path" or "127.0.0.1:port". Sends nothing yet.
  explicit RawHttp2(const std::string& address);

  // The connection preface and empty settings.
  bool Begin();

  // Appends the frames of one call to what Flush sends.
  void AddHeaders(uint32_t stream, const std::string& path);
  void AddReset(uint32_t stream);
  void AddSettings() { AddFrame(4, 0, 0, ""); }

  // Sends what was added, and throws away what the server says. Returns false
  // when the server has closed the connection.
  bool Flush();

  // True once the server has closed the connection; waits for a moment.
  bool IsClosed(int milliseconds);

 private:
  void AddFrame(uint8_t type, uint8_t flags, uint32_t stream,
                const std::string& payload);
  bool SendAll(const std::string& bytes);

  UniqueFd fd_;
  std::string pending_;
};

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_RAW_HTTP2_H_
