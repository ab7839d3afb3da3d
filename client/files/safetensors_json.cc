// SPDX-License-Identifier: Apache-2.0
#include "client/files/safetensors_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/files/safetensors.h"
#include "core/base/array_layout.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

using Json = nlohmann::json;

// The text is {NAME: {"dtype": .., "shape": [..], "data_offsets": [..]}, ..},
// where the NAME "__metadata__" has an object of strings. The reader is always
// at one of these places; whatever an event means elsewhere is an error.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  absl::StatusOr<HeaderJson> Take() {
    if (!status_.ok()) return status_;
    return std::move(header_);
  }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a boolean"); }
  bool number_integer(number_integer_t) override {
    return Unexpected("a negative number");
  }
  bool number_float(number_float_t, const string_t&) override {
    return Unexpected("a number that is not whole");
  }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kNumbers) return Unexpected("a number");
    if (numbers_->size() == kMaxDimensions) {
      return Fail(absl::OutOfRangeError(
          absl::StrCat(Where(), "more than ", kMaxDimensions, " numbers")));
    }
    numbers_->push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      if (!header_.metadata.emplace(key_, value).second) return Twice();
    } else if (place_ == Place::kEntry && key_ == "dtype") {
      header_.entries.back().dtype = value;
    } else {
      return Unexpected("a string");
    }
    return true;
  }

  bool key(string_t& value) override {
    key_ = value;
    if (place_ == Place::kNames) return BeginName();
    if (place_ != Place::kEntry) return true;
    const unsigned bit = FieldBit();
    if (bit == 0) return Unexpected("an unknown field");
    if ((fields_ & bit) != 0) return Twice();
    fields_ |= bit;
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::kBegin) {
      place_ = Place::kNames;
    } else if (place_ == Place::kNames) {
      place_ = name_ == "__metadata__" ? Place::kMetadata : Place::kEntry;
    } else {
      return Unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kEntry && fields_ != kAllFields) {
      return Fail(absl::InvalidArgumentError(absl::StrCat(
          Where(), "dtype, shape and data_offsets are all needed")));
    }
    place_ = place_ == Place::kNames ? Place::kEnd : Place::kNames;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kEntry || key_ == "dtype") return Unexpected("a list");
    HeaderEntry& entry = header_.entries.back();
    numbers_ = key_ == "shape" ? &entry.shape : &entry.data_offsets;
    place_ = Place::kNumbers;
    return true;
  }

  bool end_array() override {
    place_ = Place::kEntry;
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("the header is not JSON, from byte ", position)));
  }

 private:
  enum class Place { kBegin, kNames, kMetadata, kEntry, kNumbers, kEnd };
  static constexpr unsigned kAllFields = 7;

  bool BeginName() {
    name_ = key_;
    if (!names_.insert(name_).second) return Twice();
    fields_ = 0;
    if (name_ == "__metadata__") return true;
    if (header_.entries.size() == kMaxStoredArrays) {
      return Fail(absl::OutOfRangeError(
          absl::StrCat("more than ", kMaxStoredArrays, " arrays")));
    }
    header_.entries.push_back({name_, {}, {}, {}});
    return true;
  }

  unsigned FieldBit() const {
    if (key_ == "dtype") return 1;
    if (key_ == "shape") return 2;
    return key_ == "data_offsets" ? 4 : 0;
  }

  std::string Where() const {
    if (place_ == Place::kBegin || name_.empty()) return "the header: ";
    return absl::StrCat("array \"", ToPrintable(name_), "\": ");
  }

  bool Twice() {
    return Fail(absl::InvalidArgumentError(absl::StrCat(
        Where(), "\"", ToPrintable(key_), "\" stands there twice")));
  }

  bool Unexpected(absl::string_view found) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat(Where(), found, " where the format has none, at \"",
                     ToPrintable(key_), "\"")));
  }

  bool Fail(absl::Status status) {
    status_ = std::move(status);
    return false;
  }

  HeaderJson header_;
  Place place_ = Place::kBegin;
  absl::flat_hash_set<std::string> names_;
  std::string name_;
  std::string key_;
  unsigned fields_ = 0;
  std::vector<uint64_t>* numbers_ = nullptr;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<HeaderJson> ParseHeaderJson(absl::string_view text) {
  HeaderReader reader;
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.Take();
}

}  // namespace holdfast
