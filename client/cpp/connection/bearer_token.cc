// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/bearer_token.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "proto/metadata.h"

namespace holdfast {
namespace {

using grpc::experimental::InterceptionHookPoints;

// gRPC ends the process if a header's value has other bytes than these.
absl::StatusOr<std::string> Checked(const std::string& token,
                                    absl::string_view from) {
  const std::string stripped(absl::StripAsciiWhitespace(token));
  const bool printable =
      std::all_of(stripped.begin(), stripped.end(), [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c));
      });
  if (printable) return stripped;
  return absl::InvalidArgumentError(
      absl::StrCat(from, ": a token has printable ASCII characters only"));
}

class TokenSender final : public grpc::experimental::Interceptor {
 public:
  explicit TokenSender(std::string value) : value_(std::move(value)) {}

  void Intercept(
      grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace(kAuthorizationKey.name,
                                                 value_);
    }
    methods->Proceed();
  }

 private:
  const std::string value_;
};

class TokenSenderFactory final
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit TokenSenderFactory(const std::string& token)
      : value_(absl::StrCat("Bearer ", token)) {}

  // gRPC owns the result, one for each call.
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new TokenSender(value_);
  }

 private:
  const std::string value_;
};

}  // namespace

absl::StatusOr<std::string> DefaultToken() {
  if (const char* token = std::getenv("HOLDFAST_TOKEN");
      token != nullptr && *token != '\0') {
    return Checked(token, "HOLDFAST_TOKEN");
  }
  const char* path = std::getenv("HOLDFAST_TOKEN_FILE");
  if (path == nullptr || *path == '\0') return std::string();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file.is_open() || !(text << file.rdbuf())) {
    return absl::InvalidArgumentError(
        absl::StrCat("HOLDFAST_TOKEN_FILE: cannot read ", path));
  }
  return Checked(text.str(), path);
}

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
SendToken(const std::string& token) {
  return std::make_unique<TokenSenderFactory>(token);
}

}  // namespace holdfast
