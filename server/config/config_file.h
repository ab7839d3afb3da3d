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

// Reads the file of --config: TOML, with a key for each long option of the
// command line and no tables. CLI11 calls it while it parses.
class ConfigFile : public CLI::Config {
 public:
  // REQUIRES: `app` has the option --config, and outlives this object.
  explicit ConfigFile(const CLI::App& app) : app_(app) {}

  // Throws CLI::ConfigError, "FILE:LINE:COLUMN: unknown key 'lisen'; ...".
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;
  std::string to_config(const CLI::App*, bool, bool,
                        std::string) const override {
    return "";
  }

  // Returns an error about an option with the place of its key, if the file has
  // it: "FILE:2:1: max-sessions: ...".
  std::string WithPlace(const std::string& error) const;

 private:
  const CLI::App& app_;
  // "FILE:LINE:COLUMN: " by the name of the option, of the file's keys.
  mutable std::map<std::string, std::string> places_;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_CONFIG_FILE_H_
