// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_TOML_READER_H_
#define HOLDFAST_SERVER_TENANTS_TOML_READER_H_

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Errors are values, with their places in the file.
#define TOML_EXCEPTIONS 0
#include "toml++/toml.h"

namespace holdfast {

// The base class for the reader of one kind of TOML file. Converts nodes to
// values: tables, numbers, sizes, times, users.
//
// Each error is INVALID_ARGUMENT; its message has the place in the file and the
// possible values: "FILE:LINE:COLUMN: true or false is wanted".
class TomlReader {
 public:
  // `file` is the file's name in errors.
  explicit TomlReader(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  // Returns "FILE:LINE:COLUMN: ".
  std::string PlaceOf(const toml::source_position& at) const;
  absl::Status ErrorAt(const toml::source_position& at,
                       absl::string_view what) const;
  absl::Status ErrorAt(const toml::node& node, absl::string_view what) const;

  // Returns the error "unknown key 'lisen'; did you mean listen? There are:
  // ...".
  absl::Status UnknownKey(const toml::key& key,
                          const std::vector<std::string>& known) const;
  // Checks that every key of `table` is one of `known`.
  absl::Status CheckKeys(const toml::table& table,
                         std::initializer_list<absl::string_view> known) const;

  absl::StatusOr<const toml::table*> TableOf(const toml::node& node) const;
  absl::StatusOr<const toml::array*> ArrayOf(const toml::node& node) const;
  // Returns a text that is not empty.
  absl::StatusOr<std::string> TextOf(const toml::node& node) const;
  absl::StatusOr<uint64_t> NumberOf(const toml::node& node, uint64_t least,
                                    uint64_t most) const;
  // Returns a number from 1 to 100.
  absl::StatusOr<uint32_t> PercentageOf(const toml::node& node) const;
  absl::StatusOr<bool> BoolOf(const toml::node& node) const;
  // Returns the bytes of a number, or of a string such as "8GiB"; at least 1.
  absl::StatusOr<uint64_t> BytesOf(const toml::node& node) const;
  // Returns the time of a string such as "1.5s"; more than 0, at most 24 hours.
  absl::StatusOr<absl::Duration> TimeOf(const toml::node& node) const;
  // Return the number of a user or group of this machine, which is given as a
  // number or a name.
  absl::StatusOr<uid_t> UserOf(const toml::node& node) const;
  absl::StatusOr<gid_t> GroupOf(const toml::node& node) const;

 private:
  const std::string file_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TOML_READER_H_
