// SPDX-License-Identifier: Apache-2.0
//
// holdfast: the command line of Holdfast.
#include <cstdio>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "client/cli/admin_command.h"
#include "client/cli/attach_command.h"
#include "client/cli/bench_command.h"
#include "client/cli/cache_command.h"
#include "client/cli/cdi_command.h"
#include "client/cli/collection/collection_command.h"
#include "client/cli/command.h"
#include "client/cli/compile_command.h"
#include "client/cli/devices_command.h"
#include "client/cli/graph_command.h"
#include "client/cli/kernels_command.h"
#include "client/cli/link_command.h"
#include "client/cli/run_command.h"
#include "client/cli/sessions_command.h"
#include "client/cli/tenants_command.h"
#include "client/cli/top/top_command.h"
#include "client/cli/version_command.h"

namespace holdfast::cli {
namespace {

constexpr char kFooter[] = R"(`holdfast COMMAND --help` tells more.

Exit status: 0 done; 1 failed, the reason is on stderr; 2 the command line is
wrong; 3 no daemon at the address, or the session was lost.)";

int Main(int argc, char** argv) {
  CLI::App app("Runs kernels on a Holdfast daemon's devices.", "holdfast");
  app.require_subcommand(0, 1);
  app.footer(kFooter);
  CommonOptions options;
  absl::Status status;
  AddCommonOptions(&app, &options);
  AddDevicesCommand(&app, &options, &status);
  AddSessionsCommand(&app, &options, &status);
  AddTenantsCommand(&app, &options, &status);
  AddTopCommand(&app, &options, &status);
  AddVersionCommand(&app, &options, &status);
  AddAdminCommand(&app, &options, &status);
  AddCacheCommand(&app, &options, &status);
  AddCompileCommand(&app, &options, &status);
  AddKernelsCommand(&app, &options, &status);
  AddLinkCommand(&app, &options, &status);
  AddCollectionCommand(&app, &options, &status);
  AddRunCommand(&app, &options, &status);
  AddAttachCommand(&app, &options, &status);
  AddGraphCommand(&app, &options, &status);
  AddCdiCommand(&app, &options, &status);
  AddBenchCommand(&app, &options, &status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  if (app.get_subcommands().empty()) {
    std::fputs(app.help().c_str(), stderr);
    return kExitUsage;
  }
  return Report(status);
}

}  // namespace
}  // namespace holdfast::cli

int main(int argc, char** argv) { return holdfast::cli::Main(argc, argv); }
