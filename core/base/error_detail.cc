// SPDX-License-Identifier: Apache-2.0
#include "core/base/error_detail.h"

#include <cstring>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace holdfast {
namespace {

constexpr char kTypeUrl[] = "holdfast/error_detail";

// The payload never leaves the process: native byte order, a 64-bit length
// before each string.
class Writer {
 public:
  template <typename T>
  void Put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Put(const std::string& text) {
    Put<uint64_t>(text.size());
    bytes_.append(text);
  }
  void Put(const std::vector<uint32_t>& numbers) {
    Put<uint64_t>(numbers.size());
    for (const uint32_t number : numbers) Put(number);
  }
  std::string&& Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  bool Get(T* value) {
    if (bytes_.size() < sizeof *value) return false;
    std::memcpy(value, bytes_.data(), sizeof *value);
    bytes_.remove_prefix(sizeof *value);
    return true;
  }
  bool Get(std::string* text) {
    uint64_t size = 0;
    if (!Get(&size) || bytes_.size() < size) return false;
    *text = std::string(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return true;
  }
  bool Get(std::vector<uint32_t>* numbers) {
    uint64_t size = 0;
    if (!Get(&size) || bytes_.size() / sizeof(uint32_t) < size) return false;
    numbers->resize(size);
    for (uint32_t& number : *numbers) Get(&number);
    return true;
  }
  bool done() const { return bytes_.empty(); }

 private:
  absl::string_view bytes_;
};

}  // namespace

void SetErrorDetail(const ErrorDetail& detail, absl::Status* status) {
  Writer writer;
  writer.Put(detail.call);
  writer.Put(detail.result);
  writer.Put(detail.result_name);
  writer.Put(detail.explanation);
  writer.Put(detail.log);
  writer.Put(static_cast<uint8_t>(detail.session_lost));
  writer.Put(detail.handle);
  writer.Put(detail.graph_node);
  writer.Put(detail.graph_update_result);
  status->SetPayload(kTypeUrl, absl::Cord(writer.Take()));
}

std::optional<ErrorDetail> GetErrorDetail(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kTypeUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::string bytes(*payload);
  Reader reader(bytes);
  ErrorDetail detail;
  uint8_t session_lost = 0;
  if (!reader.Get(&detail.call) || !reader.Get(&detail.result) ||
      !reader.Get(&detail.result_name) || !reader.Get(&detail.explanation) ||
      !reader.Get(&detail.log) || !reader.Get(&session_lost) ||
      !reader.Get(&detail.handle) || !reader.Get(&detail.graph_node) ||
      !reader.Get(&detail.graph_update_result) || !reader.done()) {
    return std::nullopt;
  }
  detail.session_lost = session_lost != 0;
  return detail;
}

absl::Status WithPrefix(absl::string_view prefix, const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status result(status.code(),
                      absl::StrCat(prefix, ": ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view type_url, const absl::Cord& payload) {
        result.SetPayload(type_url, payload);
      });
  return result;
}

absl::Status AtGraphNode(absl::string_view path, std::span<const uint32_t> ids,
                         const absl::Status& status) {
  if (status.ok() || ids.empty()) return status;
  absl::Status result = WithPrefix(path, status);
  ErrorDetail detail = GetErrorDetail(status).value_or(ErrorDetail());
  detail.graph_node.insert(detail.graph_node.end(), ids.begin(), ids.end());
  SetErrorDetail(detail, &result);
  return result;
}

}  // namespace holdfast
