// SPDX-License-Identifier: Apache-2.0
//
// The parts that all commands of `holdfast` share.
#ifndef HOLDFAST_CLIENT_CLI_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/json_writer.h"

namespace holdfast::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnavailable = 3;

// Flags that every command takes.
struct CommonOptions {
  // The addresses of --address. No address: only DefaultAddress() is used.
  std::vector<std::string> addresses;
  // The first address; empty: DefaultAddress().
  std::string address;
  // One JSON value on stdout instead of text.
  bool json = false;
};
void AddCommonOptions(CLI::App* app, CommonOptions* options);

// The number of addresses that a command takes.
enum class Addresses { kOne, kSeveral };

// Adds a subcommand. Calls `run` if the command line names this subcommand, but
// none of its own subcommands. Sets `*status` to the error of `run`, or to a
// usage error if an address is malformed, or there are more addresses than the
// command takes. Returns the subcommand, so that the caller can add flags;
// their variables must outlive the parse.
CLI::App* AddCommand(CLI::App* app, CommonOptions* options,
                     const std::string& name, const std::string& summary,
                     std::function<absl::Status()> run, absl::Status* status,
                     Addresses addresses = Addresses::kOne);

// Adds a group of subcommands, of which a command line names one. The flags
// that every command takes may stand before the subcommand's name, too.
CLI::App* AddGroup(CLI::App* app, CommonOptions* options,
                   const std::string& name, const std::string& summary);

// Prints one sentence about an error to stderr, and the compiler's log if there
// is one. With --json, also prints {"error": {"code": .., "message": ..}} to
// stdout. Control characters in the text are escaped. Returns the exit code for
// the error.
int Report(const absl::Status& status, const CommonOptions& options);

// Reports the error of one daemon among several to stderr, with the daemon's
// address, and as a member "error" of `json` if that is not null. Returns the
// error with a mark, so that Report() only returns its exit code and prints
// nothing.
absl::Status ReportOfOne(absl::string_view address, const absl::Status& status,
                         JsonWriter* json);

// Writes the member "error" that Report() prints.
void WriteError(const absl::Status& status, JsonWriter* json);

// Ends a command that has nothing to show. With --json, prints an object with
// the members that `write` adds; otherwise prints nothing.
void ReportDone(const CommonOptions& options,
                absl::FunctionRef<void(JsonWriter&)> write);

// Prints the titles of a table's columns, bold on a terminal.
void PrintTitle(absl::string_view titles);

// Returns a text such as "1.5 GiB".
std::string HumanBytes(uint64_t bytes);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COMMAND_H_
