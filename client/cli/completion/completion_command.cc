// SPDX-License-Identifier: Apache-2.0
#include "client/cli/completion/completion_command.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "absl/strings/string_view.h"
#include "client/cli/completion/candidates.h"
#include "client/cli/completion/daemon_names.h"
#include "client/cli/completion/scripts.h"
#include "client/cli/json_writer.h"

namespace holdfast::cli {
namespace {

constexpr unsigned kPatience = 2;  // seconds

constexpr char kExamples[] =
    R"(The first line is for the current shell, the others for later shells:
  source <(holdfast completion bash)
  holdfast completion bash >~/.local/share/bash-completion/completions/holdfast
  holdfast completion zsh >"${fpath[1]}/_holdfast"
  holdfast completion fish >~/.config/fish/completions/holdfast.fish
The packages install all three scripts.)";

void Print(const std::vector<Candidate>& candidates,
           const std::string& prefix) {
  for (const Candidate& candidate : candidates) {
    std::printf("%s%s%s%s\n", prefix.c_str(), candidate.word.c_str(),
                candidate.description.empty() ? "" : "\t",
                candidate.description.c_str());
  }
  std::fflush(stdout);
}

absl::Status PrintScript(const CommonOptions& options,
                         const std::string& shell) {
  const std::string script(CompletionScript(shell));
  if (options.json) {
    JsonWriter json;
    json.BeginObject().Member("shell", shell).Member("script", script);
    std::puts(json.EndObject().text().c_str());
  } else {
    std::fputs(script.c_str(), stdout);
  }
  return absl::OkStatus();
}

}  // namespace

void AddCompletionCommand(CLI::App* app, CommonOptions* options,
                          absl::Status* status) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = AddCommand(
      app, options, "completion",
      "Print a shell's script that completes the commands of holdfast",
      [options, shell] { return PrintScript(*options, *shell); }, status);
  command->add_option("SHELL", *shell, "The shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->required();
  command->footer(kExamples);
}

bool IsCompletion(const std::vector<std::string>& words) {
  return !words.empty() && words.front() == kCompleteCommand;
}

void PrintCandidates(const CLI::App& app,
                     const std::vector<std::string>& words) {
  const Candidates found = Complete(app, words);
  Print(found.words, found.prefix);
  if (found.files) std::puts(kFilesToo);
  if (found.programs) std::puts(kProgramsToo);
  std::fflush(stdout);
  if (found.names == Candidates::Names::kNone) return;
  // What is printed stays printed.
  signal(SIGALRM, [](int) { _exit(0); });
  alarm(kPatience);
  const std::string& word = words.back();
  Print(ThatBegin(AskForNames(found.address, found.names),
                  word.substr(found.prefix.size())),
        found.prefix);
}

}  // namespace holdfast::cli
