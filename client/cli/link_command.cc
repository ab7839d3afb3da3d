// SPDX-License-Identifier: Apache-2.0
#include "client/cli/link_command.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/compilation_report.h"
#include "client/cli/object_file.h"
#include "client/cli/output_flags.h"
#include "client/cli/progress_line.h"
#include "client/cli/source.h"
#include "client/cpp/compile/linker.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

struct LinkFlags : OutputFlags {
  std::vector<std::string> objects;
};

absl::StatusOr<Compilation> LinkShowingProgress(const Linker& linker,
                                                Daemon& daemon,
                                                v1::ObjectFormat target) {
  ProgressLine line(STDERR_FILENO, "linking");
  return linker.Link(
      daemon, target,
      [&line](const v1::CompileProgress& progress) { line.Show(progress); });
}

absl::Status Link(const CommonOptions& options, const LinkFlags& flags,
                  const std::vector<std::string>& linker_options) {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::ObjectFormat target,
                            ParseTarget(flags.target, flags.output));
  HOLDFAST_RETURN_IF_ERROR(CheckCompilerOptions(linker_options));
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  Linker linker({.arch = flags.arch, .options = linker_options});
  for (const std::string& argument : flags.objects) {
    HOLDFAST_ASSIGN_OR_RETURN(
        const ObjectCode object,
        PutObjectFile(*daemon, argument, ObjectUse::kLink));
    linker.Add(object, argument);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation linked,
                            LinkShowingProgress(linker, *daemon, target));
  return WriteCompilation(*daemon, linked, flags.output, options.json);
}

void AddFlags(CLI::App* command, LinkFlags* flags) {
  command
      ->add_option("OBJECT", flags->objects,
                   absl::StrCat("FILE (", EndingsFor(ObjectUse::kLink),
                                "), FORMAT:FILE (ptx:-, object:x.obj; - is "
                                "standard input), or sha256:HEX of an object "
                                "in the daemon's store"))
      ->required();
  AddOutputFlags(command, flags);
}

}  // namespace

void AddLinkCommand(CLI::App* app, CommonOptions* options,
                    absl::Status* status) {
  auto flags = std::make_shared<LinkFlags>();
  auto self = std::make_shared<CLI::App*>();
  CLI::App* command = AddCommand(
      app, options, "link", "Link objects to a cubin, PTX or LTO IR",
      [options, flags, self] {
        return Link(*options, *flags, (*self)->remaining());
      },
      status);
  *self = command;
  command->allow_extras();
  AddFlags(command, flags.get());
  command->footer(
      "Other options go to the linker, one word each, in their long form: "
      "--maxrregcount=32 --kernels-used=f.\n\n"
      "Example:\n"
      "  holdfast compile a.cu -o a.ltoir -rdc=true\n"
      "  holdfast compile b.cu -o b.ltoir -rdc=true\n"
      "  holdfast link a.ltoir b.ltoir -o ab.cubin");
}

}  // namespace holdfast::cli
