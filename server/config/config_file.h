// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_CONFIG_FILE_H_
#define HOLDFAST_SERVER_CONFIG_CONFIG_FILE_H_

#include <istream>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/string_view.h"

namespace holdfast::server {

// The type name of options that are octal modes of files.
inline constexpr char kModeType[] = "MODE";

// Reads the file that --config names. The file is TOML without tables; each key
// is the name of a long option of the command line. CLI11 calls this class
// while it parses the command line.
class ConfigFile : public CLI::Config {
 public:
  // REQUIRES: `app` has the option --config, and outlives this object.
  explicit ConfigFile(const CLI::App& app) : app_(app) {}

  // Throws CLI::ConfigError for a wrong file, with a message such as
  // "FILE:LINE:COLUMN: unknown key 'lisen'; ...".
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;
  std::string to_config(const CLI::App*, bool, bool,
                        std::string) const override {
    return "";
  }

  // Returns an error about an option. If the file sets this option, the result
  // begins with the place of the key: "FILE:2:1: max-sessions: ...".
  std::string WithPlace(const std::string& error) const;

 private:
  const CLI::App& app_;
  // The place of each key of the file, "FILE:LINE:COLUMN: ", by the name of the
  // option, such as "--listen".
  mutable std::map<std::string, std::string> places_;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_CONFIG_FILE_H_
