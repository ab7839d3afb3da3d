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

// The type name, in the help text, of options that are octal file modes.
inline constexpr char kModeType[] = "MODE";

// Reads the file that --config names. The file is TOML without tables; each key
// is the name of a long option of the command line. CLI11 calls this class
// while it parses the command line.
class ConfigFile : public CLI::Config {
 public:
  // REQUIRES: `app` has the option --config, and outlives this object.
  explicit ConfigFile(const CLI::App& app) : app_(app) {}

  // Returns the options that the file sets. Throws CLI::ConfigError if the file
  // is wrong, with a message such as "FILE:LINE:COLUMN: unknown key 'lisen';
  // ...".
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;
  std::string to_config(const CLI::App*, bool, bool,
                        std::string) const override {
    return "";
  }

  // Returns the message `error`, with the place of the key in front if the file
  // sets an option that the message names: "FILE:2:1: max-sessions: ...".
  std::string WithPlace(const std::string& error) const;

 private:
  const CLI::App& app_;
  // The place of each key of the file, "FILE:LINE:COLUMN: ", by the name of the
  // option, such as "--listen".
  mutable std::map<std::string, std::string> places_;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_CONFIG_FILE_H_
