// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compile_key.h"

#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message_lite.h"

namespace holdfast {
namespace {

// To be raised when a daemon makes something else of the same request.
constexpr int kSchema = 4;

// Maps in the order of their keys, so that equal requests have equal bytes.
std::string Canonical(const google::protobuf::MessageLite& request) {
  std::string bytes(request.ByteSizeLong(), '\0');
  google::protobuf::io::ArrayOutputStream stream(
      bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  request.SerializeWithCachedSizes(&coded);
  return bytes;
}

// With the compiler's length, so that it and the request cannot run into each
// other.
std::string Key(absl::string_view kind, absl::string_view compiler,
                const google::protobuf::MessageLite& request) {
  Sha256Hasher hasher;
  hasher.Update(absl::StrCat("holdfast ", kind, " ", kSchema, " ",
                             compiler.size(), " ", compiler));
  hasher.Update(Canonical(request));
  return ToBytes(hasher.Finish());
}

}  // namespace

std::string CompileKey(absl::string_view compiler,
                       const v1::CompileRequest& request) {
  return Key("compile", compiler, request);
}

std::string LinkKey(absl::string_view compiler,
                    const v1::LinkRequest& request) {
  return Key("link", compiler, request);
}

}  // namespace holdfast
