// SPDX-License-Identifier: Apache-2.0
//
// holdfastd's command line and configuration file: whatever they hold, the
// daemon gets a configuration within its limits or says what is wrong.
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/protocol_limits.h"
#include "server/config/flags.h"
#include "tests/fuzz/engine/byte_mutator.h"
#include "tests/fuzz/engine/fuzzer.h"

namespace holdfast::fuzz {
namespace {

std::vector<std::string> Files() {
  return {"", R"(listen = ["unix:/run/holdfast/holdfast.sock", "tcp:0.0.0.0:70"]
tls-cert = "/etc/holdfast/server.pem"
tls-key = "/etc/holdfast/server.key"
max-sessions = 16
)",
          R"(# How a machine is shared.
socket-mode = 0660
device = "cpu"
warm-executors = 2
insecure = true
compile-timeout = "1m30s"
compile-memory = "4GiB"
compile-queue = 9
cache-disk = 0
cache-directory = "/var/cache/holdfast"
log-level = "debug"
drain-timeout = 5
)",
          "[section]\nlisten='tcp:[::1]:0'\nready-fd=3\nwatch-fd=4\n"};
}

std::vector<std::string> Flags() {
  return {"--listen=unix:/tmp/a",
          "--listen=tcp:[::1]:0",
          "--listen=tcp:localhost:65535",
          "--socket-mode=0660",
          "--tls-cert=a.pem",
          "--tls-client-ca=b.pem",
          "--insecure",
          "--runtime-dir=/tmp/holdfast",
          "--device=cuda",
          "--software-driver=x.so",
          "--warm-executors=0",
          "--max-sessions=1024",
          "--session-memory=8GiB",
          "--pinned-memory=1048576",
          "--arena-memory=0",
          "--host-memory=1TiB",
          "--max-handles=262144",
          "--outstanding-commands=4096",
          "--compiler-workers=64",
          "--compile-queue=1024",
          "--compile-timeout=500ms",
          "--compile-memory=8GiB",
          "--object-store=1048576",
          "--cache-memory=64MiB",
          "--cache-disk=1TiB",
          "--log-level=warning",
          "--drain-timeout=1h",
          "--ready-fd=3",
          "--watch-fd=-1",
          "--role=executor",
          "--channel-fd=3",
          "--version",
          "--help"};
}

std::vector<std::string> Words() {
  return {"=",      "\"",
          "[",      "]",
          ",",      "\n",
          "#",      "'",
          "unix",   "tcp:",
          ":0",     "65536",
          "GiB",    "1e30",
          "inf",    "nan",
          "-1s",    "true",
          "--",     "[[",
          "{",      "07777777777777777777777777",
          "listen", "config"};
}

// Takes what is written to a stream of the standard library.
class Captured {
 public:
  explicit Captured(std::ostream& stream)
      : stream_(stream), before_(stream.rdbuf(text_.rdbuf())) {}
  ~Captured() { stream_.rdbuf(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* const before_;
};

absl::Status Check(const server::Config& config) {
  HOLDFAST_FUZZ_EXPECT(!config.listen.empty(), "no address");
  HOLDFAST_FUZZ_EXPECT(config.socket_mode <= 0777, config.socket_mode);
  HOLDFAST_FUZZ_EXPECT(config.device == "auto" || config.device == "cpu" ||
                           config.device == "cuda",
                       config.device);
  HOLDFAST_FUZZ_EXPECT(config.warm_executors <= 64, config.warm_executors);
  HOLDFAST_FUZZ_EXPECT(config.max_sessions >= 1 && config.max_sessions <= 1024,
                       config.max_sessions);
  HOLDFAST_FUZZ_EXPECT(
      config.max_handles >= 1 && config.max_handles <= kMaxHandles,
      config.max_handles);
  HOLDFAST_FUZZ_EXPECT(config.outstanding_commands >= kMaxBatchCommands,
                       config.outstanding_commands);
  HOLDFAST_FUZZ_EXPECT(
      config.compiler_workers >= 1 && config.compiler_workers <= 64,
      config.compiler_workers);
  HOLDFAST_FUZZ_EXPECT(
      config.compile_queue >= 1 && config.compile_queue <= 1024,
      config.compile_queue);
  HOLDFAST_FUZZ_EXPECT(config.compile_timeout >= absl::ZeroDuration(),
                       absl::FormatDuration(config.compile_timeout));
  HOLDFAST_FUZZ_EXPECT(config.drain_timeout >= absl::ZeroDuration(),
                       absl::FormatDuration(config.drain_timeout));
  HOLDFAST_FUZZ_EXPECT(!config.runtime_dir.empty(), "no runtime directory");
  return absl::OkStatus();
}

class FlagsTarget : public FuzzTarget {
 public:
  FlagsTarget() {
    std::string name = std::filesystem::temp_directory_path() / "flags-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    directory_ = name;
  }
  ~FlagsTarget() override { std::filesystem::remove_all(directory_); }

  absl::Status Execute(Random& random) override {
    std::vector<std::string> arguments = {"holdfastd"};
    for (uint64_t count = random.Below(4); count > 0; --count) {
      // An argument ends at its first zero.
      arguments.push_back(MakeFlag(random).c_str());
    }
    std::string file;
    if (!random.OneIn(3)) {
      file = random.OneIn(2) ? files_.Make(random) : MakeFile(random);
      std::ofstream(directory_ + "/conf") << file;
      arguments.push_back("--config=" + directory_ + "/conf");
    }
    const absl::Status status = Parse(arguments);
    if (status.ok()) return status;
    std::string text = absl::StrCat(status.message(), "\nfile: ", file);
    for (const std::string& argument : arguments) {
      absl::StrAppend(&text, "\nargument: ", argument);
    }
    return absl::DataLossError(text);
  }

  absl::Status Finish() override {
    HOLDFAST_FUZZ_EXPECT(runs_ < 100 || accepted_ > 0,
                         "every configuration was refused");
    return absl::OkStatus();
  }

  std::string Summary() const override {
    return absl::StrCat(accepted_, " accepted");
  }

 private:
  // A value for an option that was meant for another one, or of no use to any.
  std::string MakeValue(Random& random) const {
    switch (random.Below(4)) {
      case 0: {
        const std::string& other = random.Pick(names_and_values_);
        return other.substr(other.find('=') + 1);
      }
      case 1:  // A number of any length.
        return std::string(1 + random.Below(40), "0179"[random.Below(4)]);
      case 2:
        return random.Pick(words_) + random.Pick(words_);
      default:
        return absl::StrCat(random.Boundary());
    }
  }

  std::string MakeFlag(Random& random) const {
    const std::string& good = random.Pick(names_and_values_);
    switch (random.Below(3)) {
      case 0:
        return good;
      case 1:
        return flags_.Make(random);
      default:
        return good.substr(0, good.find('=')) + "=" + MakeValue(random);
    }
  }

  // The flags as lines of a file.
  std::string MakeFile(Random& random) const {
    std::string file;
    for (uint64_t count = random.Below(5); count > 0; --count) {
      const std::string flag = MakeFlag(random);
      absl::StrAppend(&file, flag.substr(std::min<size_t>(2, flag.size())),
                      "\n");
    }
    return file;
  }

  absl::Status Parse(std::vector<std::string>& arguments) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const Captured out(std::cout), error(std::cerr);
    int exit_code = -1;
    ++runs_;
    const std::optional<server::Config> config = server::ParseFlags(
        static_cast<int>(arguments.size()), argv.data(), &exit_code);
    if (config.has_value()) {
      ++accepted_;
      return Check(*config);
    }
    HOLDFAST_FUZZ_EXPECT(exit_code >= 0, exit_code);
    const std::string text = exit_code == 0 ? out.text() : error.text();
    HOLDFAST_FUZZ_EXPECT(!text.empty(), "exit code ", exit_code);
    return absl::OkStatus();
  }

  const std::vector<std::string> names_and_values_ = Flags();
  const std::vector<std::string> words_ = Words();
  const ByteMutator flags_{names_and_values_, words_};
  const ByteMutator files_{Files(), words_};
  std::string directory_;
  uint64_t runs_ = 0;
  uint64_t accepted_ = 0;
};

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  return holdfast::fuzz::FuzzMain(argc, argv, [] {
    return std::make_unique<holdfast::fuzz::FlagsTarget>();
  });
}
