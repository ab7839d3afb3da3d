// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compile_key.h"

#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace holdfast {
namespace {

// To be raised when a daemon makes something else of the same request.
constexpr int kSchema = 1;

// Maps in the order of their keys, so that equal requests have equal bytes.
std::string Canonical(const v1::CompileRequest& request) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  request.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace

std::string CompileKey(absl::string_view compiler,
                       const v1::CompileRequest& request) {
  Sha256Hasher hasher;
  // With its length, so that compiler and request cannot run into each other.
  hasher.Update(absl::StrCat("holdfast compile ", kSchema, " ", compiler.size(),
                             " ", compiler));
  hasher.Update(Canonical(request));
  return ToBytes(hasher.Finish());
}

}  // namespace holdfast
