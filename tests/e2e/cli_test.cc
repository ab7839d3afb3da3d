// SPDX-License-Identifier: Apache-2.0
//
// The command line, as a shell runs it: options, mistakes, JSON, and the
// commands that run no kernel.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/npy.h"
#include "client/cpp/session.h"
#include "tests/e2e/cli_fixture.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

TEST_F(CliTest, CollectionsAreSharedKeptPinnedAndWatched) {
  ASSERT_TRUE(
      cli::WriteNpy(Path("weights.npy"),
                    MakeArray<float>(cli::ElementType::kF32, {3}, {1, 2, 3}))
          .ok());
  const auto collection = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "collection");
    return Holdfast(arguments);
  };
  const auto load = [&] {
    return collection({"load", "model", Path("weights.npy")});
  };
  const auto expect_show = [&](const std::string& text) {
    const Outcome shown = collection({"show", "model"});
    EXPECT_TRUE(absl::StrContains(shown.out, text)) << shown.out << shown.err;
  };
  EXPECT_EQ(load().out, "model version 1\n");
  Process watch({ProgramPath("HOLDFAST_CLI"), "collection", "watch", "model",
                 "--address=" + daemon_->address()});
  const auto expect_told = [&](const std::string& change) {
    const std::string line = watch.ReadLine();
    EXPECT_TRUE(absl::StartsWith(line, change + " of uid ")) << line;
  };
  expect_told("present    model version 1");
  EXPECT_EQ(load().out, "model version 2\n");
  expect_told("committed  model version 2");
  expect_told("retired    model version 1");

  EXPECT_EQ(collection({"share", "model", "--everybody"}).exit_code, 0);
  expect_show("visible to everybody");
  EXPECT_EQ(collection({"share", "model", "--with", "uid 1"}).exit_code, 0);
  expect_show("visible to uid 1");
  EXPECT_EQ(
      collection({"keep", "model", "2", "--until-unreferenced"}).exit_code, 0);
  const Outcome kept = collection({"show", "model", "--json"});
  for (const char* const text :
       {"\"keep\": 2", "\"until_unreferenced\": true"}) {
    EXPECT_TRUE(absl::StrContains(kept.out, text)) << kept.out;
  }

  EXPECT_EQ(collection({"pin", "model"}).exit_code, 0);
  expect_show("; pinned");
  const Outcome refused = collection({"rm", "model"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_TRUE(absl::StrContains(refused.err, "pinned versions: 2"))
      << refused.err;
  // A reader's end does not end a pinned version.
  EXPECT_TRUE(absl::StrContains(
      collection({"verify", "model", Path("weights.npy")}).out,
      "1 arrays are as in the files"));
  // It was its last one: unpinned, the version goes.
  EXPECT_EQ(collection({"unpin", "model"}).exit_code, 0);
  expect_told("retired    model version 2");
  EXPECT_NE(collection({"verify", "model"}).exit_code, 0);
  EXPECT_EQ(load().out, "model version 1\n");
  expect_told("committed  model version 1");
  EXPECT_EQ(collection({"rm", "model"}).exit_code, 0);
  expect_told("deleted    model version 1");
  EXPECT_NE(collection({"show", "model"}).exit_code, 0);
  watch.Signal(SIGTERM);
}

TEST_F(CliTest, ListsDevicesAndVersions) {
  const Outcome list = Holdfast({"devices", "--json"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_TRUE(absl::StrContains(list.out, "\"kind\": \"software\""))
      << list.out;
  const Outcome one = Holdfast({"devices", "0"});
  EXPECT_TRUE(absl::StrContains(one.out, "max_threads_per_block"));
  ExpectFailure(Holdfast({"devices", "99"}), 1, "99");
  const Outcome version = Holdfast({"version"});
  EXPECT_TRUE(absl::StrContains(version.out, "daemon 0.1.0")) << version.out;
}

TEST_F(CliTest, TheCacheIsForOperators) {
  const std::string& stranger = daemon_->tcp_address();
  for (const char* action : {"stats", "clear"}) {
    ExpectFailure(Holdfast({"cache", action, "--address", stranger}), 1,
                  "for operators");
  }
  // Others see the entries of their tenant, and an address alone is none.
  const Outcome list = Holdfast({"cache", "list", "--address", stranger});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_FALSE(absl::StrContains(list.out, ".cu")) << list.out;
}

TEST_F(CliTest, MisspeltCommandsAndOptionsAreSuggested) {
  ExpectFailure(Holdfast({"device"}), 2, "did you mean devices?");
  ExpectFailure(Holdfast({"drain"}), 2, "did you mean admin drain?");
  ExpectFailure(Holdfast({"cache", "claer"}), 2, "did you mean clear?");
  ExpectFailure(Holdfast({"frobnicate"}), 2, "no command \"frobnicate\"");
  ExpectFailure(Holdfast({"run", Path("kernels.cu"), "--kernel", "greet",
                          "--gird", "1", "--block", "1"}),
                2, "did you mean --grid?");
  ExpectFailure(Holdfast({"cache"}), 2, "stats");
}

TEST_F(CliTest, FlagsMayStandBeforeTheCommandOfAGroup) {
  const Outcome stats = Holdfast({"cache", "--json", "stats"});
  EXPECT_EQ(stats.exit_code, 0) << stats.err;
  EXPECT_TRUE(absl::StartsWith(stats.out, "{")) << stats.out;
  for (const char* group :
       {"admin", "cache", "collection", "graph", "tenants"}) {
    const Outcome none = Holdfast({group, "--json"});
    EXPECT_EQ(none.exit_code, 2) << none.err;
    EXPECT_TRUE(absl::StrContains(none.out, absl::StrCat(group, " is given")))
        << none.out;
  }
}

TEST_F(CliTest, AMistakeInTheCommandLineIsNoFailureOfTheCommand) {
  const std::string source = Path("kernels.cu");
  ExpectFailure(Holdfast({"compile", source, "-o", Path("x")}), 2,
                "must end in .ptx");
  ExpectFailure(Holdfast({"compile", source, "--target", "exe"}), 2,
                "--target exe");
  ExpectFailure(Holdfast({"compile", source, "--language", "c"}), 2,
                "--language c");
  ExpectFailure(Holdfast({"compile", source, "--header", "a=" + source,
                          "--header", "a=" + source}),
                2, "given twice");
  ExpectFailure(Holdfast({"kernels", "x.npy"}), 2,
                "must end in one of .cu .ptx .cubin .fatbin, or");
  ExpectFailure(Holdfast({"kernels", "x.ltoir"}), 2, "`holdfast link` makes");
  ExpectFailure(Holdfast({"link", "x.npy", "-o", "x.cubin"}), 2,
                "must end in one of .ptx .cubin .ltoir .fatbin .o .a, or");
  ExpectFailure(Holdfast({"kernels", "x.ptx", "--name", "k"}), 2,
                "--name is of no use");
  ExpectFailure(Holdfast({"kernels", "sha256:12"}), 2, "SHA-256");
}

TEST_F(CliTest, HelpAndVersionNeedNoDaemon) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"help"},
                                               {"--help"},
                                               {"help", "run"},
                                               {"run", "--help"},
                                               {"help", "cache", "list"}}) {
    const Outcome help = Holdfast(line);
    EXPECT_EQ(help.exit_code, 0) << help.err;
    EXPECT_TRUE(absl::StrContains(help.out, "--json")) << help.out;
  }
  EXPECT_EQ(Holdfast({"--version"}).out, "holdfast 0.1.0\n");
}

TEST_F(CliTest, ErrorsAreJsonWhereJsonIsWanted) {
  const std::vector<std::string> run = {
      "run", Path("kernels.cu"), "--kernel", "nothing", "--grid",
      "1",   "--block",          "1",        "--json"};
  Outcome failed = Holdfast(run);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_TRUE(absl::StartsWith(failed.out,
                               "{\"error\": {"
                               "\"code\": \"NOT_FOUND\""))
      << failed.out;
  failed = Holdfast({"devics", "--json"});
  EXPECT_EQ(failed.exit_code, 2);
  EXPECT_TRUE(absl::StrContains(failed.out, "did you mean devices?"))
      << failed.out;
}

// The words of the commands below `path` that have none below themselves, and
// of all groups, as --help lists them.
void Walk(const std::vector<std::string>& path,
          const std::function<void(const std::vector<std::string>&)>& visit) {
  std::vector<std::string> line = path;
  line.insert(line.begin(), ProgramPath("HOLDFAST_CLI"));
  line.emplace_back("--help");
  const std::string help = RunProgram(line).out;
  visit(path);
  const size_t commands = help.find("\nSubcommands:\n");
  if (commands == std::string::npos) return;
  for (const absl::string_view entry :
       absl::StrSplit(help.substr(commands + 14), '\n', absl::SkipEmpty())) {
    if (!absl::StartsWith(entry, "  ")) break;
    if (entry[2] == ' ') continue;
    std::vector<std::string> inner = path;
    inner.emplace_back(entry.substr(2, entry.find(' ', 2) - 2));
    Walk(inner, visit);
  }
}

TEST_F(CliTest, EveryCommandTellsItsMistakesAsJson) {
  int visited = 0;
  Walk({}, [&](std::vector<std::string> line) {
    // --device is no option, or lacks its value: no daemon is asked.
    const std::string name = absl::StrJoin(line, " ");
    line.insert(line.end(), {"--json", "--device"});
    const Outcome failed = Holdfast(line);
    EXPECT_EQ(failed.exit_code, 2) << name;
    EXPECT_TRUE(absl::StartsWith(failed.out,
                                 "{\"error\": {\"code\": \"INVALID_ARGUMENT\""))
        << name << ": " << failed.out;
    EXPECT_EQ(absl::c_count(failed.out, '\n'), 1) << failed.out;
    ++visited;
  });
  EXPECT_GT(visited, 40);
}

// Commands that only do something print one value, too.
TEST_F(CliTest, EverySuccessIsJsonWhereJsonIsWanted) {
  const auto expect_json = [&](std::vector<std::string> line,
                               const std::string& text) {
    line.emplace_back("--json");
    const Outcome done = Holdfast(line);
    EXPECT_EQ(done.exit_code, 0) << line[0] << done.err;
    EXPECT_EQ(done.out, absl::StrCat("{", text, "}\n")) << line[0];
  };
  ASSERT_TRUE(cli::WriteNpy(Path("w.npy"),
                            MakeArray<float>(cli::ElementType::kF32, {1}, {1}))
                  .ok());
  expect_json({"collection", "load", "j", Path("w.npy")},
              R"("name": "j", "loaded": true, "version": 1)");
  expect_json({"collection", "load", "j", Path("w.npy"), "--once"},
              R"("name": "j", "loaded": false)");
  for (const char* const change : {"share", "pin", "unpin"}) {
    expect_json({"collection", change, "j"}, R"("name": "j")");
  }
  expect_json({"collection", "keep", "j", "2"}, R"("name": "j")");
  expect_json({"collection", "save", "j", Path("j.safetensors")},
              absl::StrCat(R"("name": "j", "version": 1, "file": ")",
                           Path("j.safetensors"), "\""));
  expect_json({"collection", "rm", "j"},
              R"("name": "j", "deleted_versions": 1)");
  auto session = Session::Open({.address = daemon_->address()});
  ASSERT_TRUE(session.ok()) << session.status();
  const std::string id = (*session)->id();
  const std::string named = absl::StrCat(R"("session_id": ")", id, "\"");
  expect_json({"sessions", "quota", id, "--memory=1GiB"}, named);
  expect_json({"sessions", "end", id}, named);
}

TEST_F(CliTest, AnOptionIsNotTakenForTheValueOfAnother) {
  ExpectFailure(Holdfast({"bench", "--native", "--quick"}), 2,
                "--native needs a value, and --quick is an option");
  ExpectFailure(Holdfast({"sessions", "--address"}), 2,
                "--address needs a value");
}

TEST_F(CliTest, WrongValuesOfOptionsAreMistakesOfTheCommandLine) {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"devices", "--address=nonsense"},
        {"sessions", "--address=tcp:a:7070,tcp:"},
        {"admin", "drain", "--timeout=5"},
        {"admin", "upgrade", "--timeout=soon"},
        {"tenants", "create", "a", "--compile-time=long"},
        {"cdi", "--directory=run"},
        {"help", "devics"},
        {"help", "cache", "drop"},
        {"devics", "--help"}}) {
    const Outcome failed = Holdfast(line);
    EXPECT_EQ(failed.exit_code, 2) << absl::StrJoin(line, " ") << failed.err;
  }
  for (const std::vector<std::string>& line : {std::vector<std::string>{"help"},
                                               {"help", "cache"},
                                               {"run", "--help"},
                                               {"--help"},
                                               {"--version"}}) {
    EXPECT_EQ(Holdfast(line).exit_code, 0) << absl::StrJoin(line, " ");
  }
}

TEST_F(CliTest, OutputThatCannotBeWrittenIsAFailure) {
  const auto run = [](const std::string& command, const std::string& to) {
    return RunProgram(
        {"/bin/sh", "-c", absl::StrCat("\"$HOLDFAST_CLI\" ", command, " ", to)},
        {{"HOLDFAST_ADDRESS", daemon_->address()}});
  };
  for (const std::string command :
       {"version", "devices --json", "sessions", "--help", "completion bash"}) {
    const Outcome full = run(command, ">/dev/full");
    EXPECT_EQ(full.exit_code, 1) << command;
    EXPECT_TRUE(absl::StrContains(full.err,
                                  "standard output is incomplete: "
                                  "No space left on device"))
        << full.err;
    EXPECT_EQ(run(command, ">&-").exit_code, 1) << command;
    EXPECT_EQ(run(command, "<&- >/dev/null 2>&-").exit_code, 0) << command;
  }
  // The first failure counts.
  EXPECT_EQ(run("devics --json", ">/dev/full").exit_code, 2);
}

TEST_F(CliTest, TextThatNoTerminalShowsHasNoColors) {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"devices"}, {"sessions"}, {"no-command"}}) {
    const Outcome plain = Holdfast(line);
    EXPECT_FALSE(absl::StrContains(plain.out + plain.err, "\x1b"))
        << plain.out << plain.err;
  }
}

TEST_F(CliTest, AGroupWithoutACommandIsAMistakeForPrograms) {
  ExpectFailure(Holdfast({"admin"}), 2, "Usage: holdfast admin [OPTIONS]");
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"--json"}, {"cache", "--json"}}) {
    const Outcome failed = Holdfast(line);
    EXPECT_EQ(failed.exit_code, 2);
    EXPECT_TRUE(absl::StartsWith(failed.out, "{\"error\"")) << failed.out;
  }
}

TEST_F(CliTest, CommandsWithoutADaemonSaySoAsJson) {
  for (std::vector<std::string> line :
       {std::vector<std::string>{"devices"},
        {"sessions"},
        {"sessions", "end", "s-1"},
        {"tenants", "ls"},
        {"top", "--once"},
        {"version"},
        {"admin", "drain", "--stop"},
        {"cache", "stats"},
        {"collection", "ls"},
        {"attach", "s-1"},
        {"kernels", Path("kernels.cu")},
        {"run", Path("kernels.cu"), "--kernel", "greet", "--grid", "1",
         "--block", "1", "f64:1"}}) {
    line.insert(line.end(), {"--json", "--address=unix:/nowhere/at-all.sock"});
    const Outcome failed = Holdfast(line);
    EXPECT_EQ(failed.exit_code, 3) << line[0] << failed.err;
    EXPECT_TRUE(
        absl::StartsWith(failed.out, "{\"error\": {\"code\": \"UNAVAILABLE\""))
        << line[0] << failed.out;
  }
}

// Others may write to the directory, too.
TEST_F(CliTest, SavingWritesThroughNoLink) {
  ASSERT_TRUE(
      cli::WriteNpy(Path("w.npy"),
                    MakeArray<float>(cli::ElementType::kF32, {2}, {1, 2}))
          .ok());
  ASSERT_EQ(Holdfast({"collection", "load", "saved", Path("w.npy")}).exit_code,
            0);
  ASSERT_EQ(symlink("victim", Path("saved.safetensors.part").c_str()), 0);
  const Outcome saved =
      Holdfast({"collection", "save", "saved", Path("saved.safetensors")});
  EXPECT_EQ(saved.exit_code, 0) << saved.err;
  EXPECT_NE(access(Path("victim").c_str(), F_OK), 0);
  EXPECT_EQ(access(Path("saved.safetensors").c_str(), F_OK), 0);
  EXPECT_EQ(Holdfast({"collection", "rm", "saved"}).exit_code, 0);
}

TEST_F(CliTest, NoDaemonHasAnExitCodeOfItsOwn) {
  ExpectFailure(Holdfast({"devices", "--address=unix:/tmp/no-such-socket"}), 3,
                "no Holdfast daemon at unix:/tmp/no-such-socket");
  const Outcome version =
      Holdfast({"version", "--address=unix:/tmp/no-such-socket"});
  ExpectFailure(version, 3, "no Holdfast daemon");
  EXPECT_EQ(version.out, "client 0.1.0\n");
  ExpectFailure(Holdfast({"devices", "--address=nonsense"}), 2, "unix:PATH");
}

TEST_F(CliTest, RemoteClientsDoTheSame) {
  const Outcome outcome = Holdfast(
      {"run", "--address=" + daemon_->tcp_address(), Path("kernels.cu"),
       "--kernel", "add_one", "--grid", "65536", "--block", "64",
       "out:" + Path("ones.npy") + ":i32[4194304]", "u32:4194304"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto result = cli::ReadNpy(Path("ones.npy"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Values<int>(*result), std::vector<int>(4194304, 1));
}

TEST_F(CliTest, BenchSetsFiguresBesideTheDriversOwn) {
  const Outcome outcome =
      Holdfast({"bench", "--quick", "--only=launch,event", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* text :
       {"launch and synchronise", "record two", R"("name": "native")",
        "≥ 0.95 × native", R"("met": )"}) {
    EXPECT_TRUE(absl::StrContains(outcome.out, text)) << outcome.out;
  }
}

TEST_F(CliTest, BenchSetsRecoveryBesideOpeningAnew) {
  const Outcome outcome =
      Holdfast({"bench", "--quick", "--only=recovery", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* text :
       {"fault to the next launch, 64.0 MiB held", "open anew, copy in"}) {
    EXPECT_TRUE(absl::StrContains(outcome.out, text)) << outcome.out;
  }
}

TEST_F(CliTest, BenchNamesTheGroupsThatThereAre) {
  ExpectFailure(Holdfast({"bench", "--only=speed"}), 1, "application: ");
}

}  // namespace
}  // namespace holdfast::e2e
