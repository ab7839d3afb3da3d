// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_RAW_HTTP2_H_
#define HOLDFAST_TESTS_SERVER_TESTING_RAW_HTTP2_H_

#include <cstdint>
#include <string>

#include "core/base/unique_fd.h"

namespace holdfast {

// An HTTP/2 client that writes any sequence of frames, unlike a gRPC client.
class RawHttp2 {
 public:
  // "unix:/path" or "127.0.0.1:port". Sends nothing yet.
  explicit RawHttp2(const std::string& address);

  // Sends the connection preface and empty settings.
  bool Begin();

  // Appends the frames of one call to what Flush sends.
  void AddHeaders(uint32_t stream, const std::string& path);
  void AddReset(uint32_t stream);
  void AddSettings() { AddFrame(4, 0, 0, ""); }

  // Sends the added frames, and discards the server's frames. Returns false
  // when the server has closed the connection.
  bool Flush();

  // Returns true once the server has closed the connection; false if the server
  // sends nothing for this time.
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
