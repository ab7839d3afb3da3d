// SPDX-License-Identifier: Apache-2.0
//
// holdfast: the command line of Holdfast.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/bench/bench_command.h"
#include "client/cli/admin_command.h"
#include "client/cli/attach_command.h"
#include "client/cli/cache_command.h"
#include "client/cli/cdi_command.h"
#include "client/cli/collection/collection_command.h"
#include "client/cli/command.h"
#include "client/cli/compile_command.h"
#include "client/cli/completion/completion_command.h"
#include "client/cli/cuda_path_command.h"
#include "client/cli/devices_command.h"
#include "client/cli/exec_command.h"
#include "client/cli/graph_command.h"
#include "client/cli/kernels_command.h"
#include "client/cli/link_command.h"
#include "client/cli/run_command.h"
#include "client/cli/sessions_command.h"
#include "client/cli/standard_output.h"
#include "client/cli/suggestion.h"
#include "client/cli/tenants_command.h"
#include "client/cli/top/top_command.h"
#include "client/cli/usage_error.h"
#include "client/cli/version.h"
#include "client/cli/version_command.h"

namespace holdfast::cli {
namespace {

constexpr char kFooter[] =
    R"(`holdfast COMMAND --help` and `holdfast help COMMAND` describe a command.

Exit status: 0 done; 1 failed, the reason is on stderr; 2 the command line is
wrong; 3 no daemon at the address, or the session was lost. With --json, stdout
has {"error": {"code": .., "message": ..}} after a failure.)";

// Printed after kFooter in the program's own help, but not in the help of a
// command.
constexpr char kEnvironment[] = R"(

ENVIRONMENT
  HOLDFAST_ADDRESS     The daemon's address, if --address is not given.
  HOLDFAST_TOKEN, HOLDFAST_TOKEN_FILE
                       The token of the client's tenant, or a file with it.
  HOLDFAST_DAEMON      The holdfastd that an embedded: address starts.
  HOLDFAST_BLOCKING    1: clients wait for each command, so that an error is
                       reported at its cause; also in programs.
  HOLDFAST_DEBUG       1: errors in Python name the line that submitted the
                       failed command.
  CUDA_HOME            The toolkit with which an embedded: address compiles.
  NO_COLOR             No colors on a terminal.)";

using Words = std::vector<std::string>;

void AddCommands(CLI::App* app, CommonOptions* options, const Words& program,
                 absl::Status* status) {
  AddCommonOptions(app, options);
  AddDevicesCommand(app, options, status);
  AddSessionsCommand(app, options, status);
  AddTenantsCommand(app, options, status);
  AddTopCommand(app, options, status);
  AddVersionCommand(app, options, status);
  AddAdminCommand(app, options, status);
  AddCacheCommand(app, options, status);
  AddCompileCommand(app, options, status);
  AddKernelsCommand(app, options, status);
  AddLinkCommand(app, options, status);
  AddCollectionCommand(app, options, status);
  AddRunCommand(app, options, status);
  AddAttachCommand(app, options, status);
  AddGraphCommand(app, options, status);
  AddCdiCommand(app, options, status);
  AddExecCommand(app, options, program, status);
  AddCudaPathCommand(app, options, status);
  AddBenchCommand(app, options, status);
  AddCompletionCommand(app, options, status);
}

// `holdfast help run` is `holdfast run --help`.
Words Expand(Words words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

// The innermost command of the command line.
const CLI::App& Innermost(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : Innermost(*commands.front());
}

// Returns true if the command line ends at a group of commands, such as
// `holdfast cache`.
bool LacksCommand(const CLI::App& app) {
  return !Innermost(app).get_subcommands({}).empty();
}

bool WantsJson(const Words& words) {
  return std::find(words.begin(), words.end(), "--json") != words.end();
}

// People read the group's help, programs an error.
int ReportMissingCommand(const CLI::App& app, const Words& words) {
  const CLI::App& group = Innermost(app);
  if (WantsJson(words)) {
    return Report(UsageError(absl::InvalidArgumentError(absl::StrCat(
                      group.get_name(), " is given without a command of it"))),
                  {.json = true});
  }
  // Not the group's own help(), whose usage lacks the program's name.
  std::fputs(app.help().c_str(), stderr);
  return kExitUsage;
}

int ReportUsage(const std::string& text, const Words& words) {
  CommonOptions options;
  options.json = WantsJson(words);
  (void)Report(UsageError(absl::InvalidArgumentError(text)), options);
  std::fputs("`--help` lists the commands and options.\n", stderr);
  return kExitUsage;
}

int ReportMistake(const CLI::App& app, const CLI::ParseError& error,
                  const Words& words) {
  const std::string unknown = AboutUnknownWord(app, words);
  if (error.get_exit_code() == 0 && unknown.empty()) {
    (void)app.exit(error);  // --help, --version
    return kExitOk;
  }
  if (unknown.empty() && LacksCommand(app)) {
    return ReportMissingCommand(app, words);
  }
  return ReportUsage(unknown.empty() ? error.what() : unknown, words);
}

int Main(int argc, char** argv) {
  CLI::App app("Runs kernels on a Holdfast daemon's devices.", "holdfast");
  app.require_subcommand(0, 1);
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("holdfast ") + kVersion);
  CommonOptions options;
  absl::Status status;
  Words words = Expand(Words(argv + std::min(argc, 1), argv + argc));
  const bool completes = IsCompletion(words);
  const Words program = completes ? Words() : TakeProgram(words);
  AddCommands(&app, &options, program, &status);
  app.footer(absl::StrCat(kFooter, kEnvironment));
  if (completes) {
    PrintCandidates(app, Words(words.begin() + 1, words.end()));
    return kExitOk;
  }
  if (const std::string missing = AboutMissingValue(app, words);
      !missing.empty()) {
    return ReportUsage(missing, words);
  }
  try {
    app.parse(Words(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return ReportMistake(app, error, words);
  }
  if (app.get_subcommands().empty()) return ReportMissingCommand(app, words);
  return Report(status, options);
}

}  // namespace
}  // namespace holdfast::cli

int main(int argc, char** argv) {
  holdfast::cli::HoldStandardDescriptors();
  return holdfast::cli::FinishOutput(holdfast::cli::Main(argc, argv));
}
