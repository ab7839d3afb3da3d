// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_OBJECT_CODE_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_OBJECT_CODE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/connection/daemon.h"

namespace holdfast {

namespace v1 {
class ObjectHeader;
enum ObjectFormat : int;
}  // namespace v1

// The values of v1::ObjectFormat, for programs that do not include its header,
// which needs Protocol Buffers.
inline constexpr v1::ObjectFormat kPtxFormat{1};
inline constexpr v1::ObjectFormat kCubinFormat{2};
inline constexpr v1::ObjectFormat kLtoIrFormat{3};
inline constexpr v1::ObjectFormat kFatbinFormat{4};

// Compiled code in the daemon's object store, named by its SHA-256. Made by
// Program::Compile or from bytes; Session::Load makes a Module of it. A value
// type that all sessions of the daemon can use.
struct ObjectCode {
  // 32 bytes.
  std::string sha256;
  uint64_t size = 0;
  v1::ObjectFormat format = {};
  // The name in the object, by the source-level name.
  std::map<std::string, std::string> symbols;

  static ObjectCode FromHeader(const v1::ObjectHeader& header);

  // Puts code into the store, and returns its name. The bytes are sent only if
  // the store lacks them. Waits.
  static absl::StatusOr<ObjectCode> Put(
      Daemon& daemon, absl::string_view bytes, v1::ObjectFormat format,
      std::map<std::string, std::string> symbols = {});

  // Returns the bytes. Waits. NOT_FOUND: the store does not have them any more.
  // DATA_LOSS: the received bytes have another hash.
  absl::StatusOr<std::string> Fetch(Daemon& daemon) const;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_OBJECT_CODE_H_
