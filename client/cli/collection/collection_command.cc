// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/collection_command.h"

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/collection/array_files.h"
#include "client/cli/collection/collection_report.h"
#include "client/cli/collection/copy_line.h"
#include "client/cli/each_daemon.h"
#include "client/cpp/collection/collections.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/module_commands.pb.h"

namespace holdfast::cli {
namespace {

// The arguments of a collection's commands, as the command line gives them.
struct Arguments {
  std::string name;
  uint64_t version = 0;
  uint32_t device = 0;
  std::vector<std::string> files;
  std::string file;
  bool once = false;
  bool everybody = false;
  std::vector<std::string> clients;
  uint32_t keep = 1;
  bool until_unreferenced = false;
  std::string to = "host";
};

absl::StatusOr<std::unique_ptr<Collections>> Connect(
    const CommonOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  return std::make_unique<Collections>(std::move(daemon));
}

absl::StatusOr<std::unique_ptr<Session>> OpenSession(
    const CommonOptions& options) {
  return Session::Open(
      {.address = options.address, .name = "holdfast collection"});
}

// `version`: the new one; 0: the collection was there already.
void PrintLoaded(const CommonOptions& options, const std::string& name,
                 uint64_t version) {
  if (options.json) {
    ReportDone(options, [&](JsonWriter& json) {
      json.Member("name", name).Member("loaded", version != 0);
      if (version != 0) json.Member("version", version);
    });
  } else if (version == 0) {
    std::printf("%s is there already\n", name.c_str());
  } else {
    std::printf("%s version %s\n", name.c_str(), absl::StrCat(version).c_str());
  }
}

absl::Status Load(const CommonOptions& options, const Arguments& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const ArrayFiles files,
                            ArrayFiles::Open(arguments.files));
  HOLDFAST_ASSIGN_OR_RETURN(const auto session, OpenSession(options));
  std::unique_ptr<WriteClaim> claim;
  if (arguments.once) {
    HOLDFAST_ASSIGN_OR_RETURN(claim,
                              WriteClaim::Wait(*session, arguments.name));
    if (!claim->writes()) {
      PrintLoaded(options, arguments.name, 0);
      return absl::OkStatus();
    }
  }
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream,
                            session->device(arguments.device).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(
      CollectionWriter writer,
      CollectionWriter::Create(*session, files.arrays(), arguments.device));
  HOLDFAST_RETURN_IF_ERROR(
      writer.CheckCommit(arguments.name, files.metadata()));
  {
    CopyLine line;
    HOLDFAST_RETURN_IF_ERROR(files.Upload(
        writer, stream,
        [&](uint64_t done, uint64_t all) { line.Show(done, all); }));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t version,
                            writer.Commit(arguments.name, files.metadata()));
  PrintLoaded(options, arguments.name, version);
  return absl::OkStatus();
}

// Opens the collection and calls `use` with it and a stream.
template <typename Use>
absl::Status WithCollection(const CommonOptions& options,
                            const Arguments& arguments, Use use) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto session, OpenSession(options));
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream,
                            session->device(arguments.device).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(
      const Collection collection,
      Collection::Open(*session, arguments.name, arguments.version,
                       arguments.device));
  return use(collection, stream);
}

absl::Status Save(const CommonOptions& options, const Arguments& arguments) {
  return WithCollection(
      options, arguments,
      [&](const Collection& collection, const Stream& stream) -> absl::Status {
        {
          CopyLine line;
          HOLDFAST_RETURN_IF_ERROR(SaveCollection(
              collection, stream, arguments.file,
              [&](uint64_t done, uint64_t all) { line.Show(done, all); }));
        }
        ReportDone(options, [&](JsonWriter& json) {
          json.Member("name", arguments.name)
              .Member("version", collection.version())
              .Member("file", arguments.file);
        });
        return absl::OkStatus();
      });
}

absl::Status Compare(const CommonOptions& options, const Arguments& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const ArrayFiles files,
                            ArrayFiles::Open(arguments.files));
  return WithCollection(
      options, arguments,
      [&](const Collection& collection, const Stream& stream) -> absl::Status {
        std::map<std::string, std::string> differences;
        {
          CopyLine line;
          HOLDFAST_ASSIGN_OR_RETURN(
              differences, files.Compare(collection, stream,
                                         [&](uint64_t done, uint64_t all) {
                                           line.Show(done, all);
                                         }));
        }
        PrintDifferences(collection.arrays().size(), differences, options.json);
        if (differences.empty()) return absl::OkStatus();
        return absl::DataLossError(absl::StrCat(
            differences.size(), " arrays of ", arguments.name, " version ",
            collection.version(), " are not as in the files"));
      });
}

absl::Status Verify(const CommonOptions& options, const Arguments& arguments) {
  if (!arguments.files.empty()) return Compare(options, arguments);
  return WithCollection(
      options, arguments,
      [&](const Collection& collection, const Stream& stream) -> absl::Status {
        CopyLine line;
        HOLDFAST_ASSIGN_OR_RETURN(
            const auto digests,
            DigestArrays(collection, stream, [&](uint64_t done, uint64_t all) {
              line.Show(done, all);
            }));
        PrintDigests(digests, options.json);
        return absl::OkStatus();
      });
}

absl::Status List(const std::shared_ptr<Daemon>& daemon, JsonWriter* json) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto list, Collections(daemon).List());
  PrintCollections(list, json);
  return absl::OkStatus();
}

absl::Status Show(const CommonOptions& options, const Arguments& arguments) {
  return ShowEachDaemon(
      options,
      [&](const std::shared_ptr<Daemon>& daemon,
          JsonWriter* json) -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(
            const auto description,
            Collections(daemon).Describe(arguments.name, arguments.version));
        PrintCollection(description, json);
        return absl::OkStatus();
      });
}

absl::Status Remove(const CommonOptions& options, const Arguments& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto collections, Connect(options));
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint32_t deleted,
      collections->Delete(arguments.name, arguments.version));
  ReportDone(options, [&](JsonWriter& json) {
    json.Member("name", arguments.name).Member("deleted_versions", deleted);
  });
  return absl::OkStatus();
}

absl::Status Configure(const CommonOptions& options, Collections& collections,
                       const v1::ConfigureCollectionRequest& request) {
  HOLDFAST_RETURN_IF_ERROR(collections.Configure(request));
  ReportDone(options,
             [&](JsonWriter& json) { json.Member("name", request.name()); });
  return absl::OkStatus();
}

absl::Status Share(const CommonOptions& options, const Arguments& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto collections, Connect(options));
  v1::ConfigureCollectionRequest request;
  request.set_name(arguments.name);
  request.mutable_visibility()->set_everybody(arguments.everybody);
  for (const std::string& client : arguments.clients) {
    request.mutable_visibility()->add_clients(client);
  }
  return Configure(options, *collections, request);
}

absl::Status Keep(const CommonOptions& options, const Arguments& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto collections, Connect(options));
  v1::ConfigureCollectionRequest request;
  request.set_name(arguments.name);
  request.set_keep(arguments.keep);
  request.set_until_unreferenced(arguments.until_unreferenced);
  return Configure(options, *collections, request);
}

absl::Status Pin(const CommonOptions& options, const Arguments& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto collections, Connect(options));
  v1::ConfigureCollectionRequest request;
  request.set_name(arguments.name);
  request.add_pin(arguments.version);
  return Configure(options, *collections, request);
}

absl::Status Unpin(const CommonOptions& options, const Arguments& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto collections, Connect(options));
  v1::ConfigureCollectionRequest request;
  request.set_name(arguments.name);
  request.add_unpin(arguments.version);
  return Configure(options, *collections, request);
}

absl::Status Suspend(const CommonOptions& options, const Arguments& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto collections, Connect(options));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto suspended,
      collections->Suspend(
          arguments.name,
          {.version = arguments.version, .on_disk = arguments.to == "disk"}));
  PrintMove("suspended", arguments.name, suspended.version(), suspended.bytes(),
            options.json);
  return absl::OkStatus();
}

absl::Status Resume(const CommonOptions& options, const Arguments& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto collections, Connect(options));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto resumed,
      collections->Resume(arguments.name, arguments.version));
  PrintMove("resumed", arguments.name, resumed.version(), resumed.bytes(),
            options.json);
  return absl::OkStatus();
}

absl::Status Watch(const CommonOptions& options, const Arguments& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto collections, Connect(options));
  return collections->Watch(arguments.name,
                            [&](const v1::CollectionChange& change) {
                              PrintChange(change, options.json);
                              return !std::ferror(stdout);
                            });
}

// Adds the commands of one collection, each of which runs with its arguments.
class Adder {
 public:
  Adder(CLI::App* app, CommonOptions* options, absl::Status* status)
      : app_(app), options_(options), status_(status) {}

  using Run = absl::Status (*)(const CommonOptions&, const Arguments&);
  CLI::App* Add(const std::string& name, const std::string& summary, Run run,
                Addresses addresses = Addresses::kOne) {
    arguments_ = std::make_shared<Arguments>();
    CLI::App* const command = AddCommand(
        app_, options_, name, summary,
        [run, options = options_, arguments = arguments_] {
          return run(*options, *arguments);
        },
        status_, addresses);
    return command;
  }
  Arguments& arguments() { return *arguments_; }

  CLI::App* AddNamed(const std::string& name, const std::string& summary,
                     Run run, Addresses addresses = Addresses::kOne) {
    CLI::App* const command = Add(name, summary, run, addresses);
    command->add_option("NAME", arguments_->name, "The collection's name")
        ->required();
    return command;
  }
  CLI::App* AddVersioned(const std::string& name, const std::string& summary,
                         Run run, Addresses addresses = Addresses::kOne) {
    CLI::App* const command = AddNamed(name, summary, run, addresses);
    command
        ->add_option("--version-number", arguments_->version,
                     "The version's number; 0: the latest version, and for rm "
                     "all versions")
        ->capture_default_str();
    return command;
  }

 private:
  CLI::App* const app_;
  CommonOptions* const options_;
  absl::Status* const status_;
  std::shared_ptr<Arguments> arguments_;
};

}  // namespace

void AddCollectionCommand(CLI::App* app, CommonOptions* options,
                          absl::Status* status) {
  CLI::App* const group = AddGroup(
      app, options, "collection",
      "Named, versioned arrays in device memory that outlive their writer");
  AddLook(group, options, "ls", "List the collections that you may open", List,
          status);
  Adder adder(group, options, status);
  adder.AddVersioned("show", "Show a version: its arrays, readers and metadata",
                     Show, Addresses::kSeveral);
  CLI::App* const load = adder.AddNamed(
      "load", "Make a new version from the arrays in files", Load);
  load->add_option("FILES", adder.arguments().files,
                   "Files to read: NAME.npy has one array, NAME; NAME.npz has "
                   "several; any other name is a safetensors file")
      ->required();
  load->add_option("--device", adder.arguments().device, "The device's ordinal")
      ->capture_default_str();
  load->add_flag("--once", adder.arguments().once,
                 "Do nothing if the collection exists; wait if another client "
                 "is loading it");
  adder.AddVersioned("save", "Write a version as a safetensors file", Save)
      ->add_option("FILE", adder.arguments().file, "The file to write")
      ->required();
  adder
      .AddVersioned("verify",
                    "Print the SHA-256 of each array on the device; with "
                    "FILES, compare every element with the files",
                    Verify)
      ->add_option("FILES", adder.arguments().files,
                   "Files as for load; the command fails if an array differs");
  adder.AddVersioned(
      "rm",
      "Delete a version, or all; sessions that have it open keep its memory",
      Remove);
  CLI::App* const share = adder.AddNamed(
      "share", "Set which other clients may open a collection", Share);
  share->add_flag("--everybody", adder.arguments().everybody,
                  "Every client of the daemon");
  share->add_option(
      "--with", adder.arguments().clients,
      "Clients by the name that `show` prints for an owner, e.g. \"uid 1000\"");
  CLI::App* const keep = adder.AddNamed(
      "keep", "Set how many versions stay when a new version comes", Keep);
  keep->add_option("COUNT", adder.arguments().keep,
                   "The number of versions; 0: all")
      ->required();
  keep->add_flag("--until-unreferenced", adder.arguments().until_unreferenced,
                 "Also delete a version when its last reader has closed it");
  adder.AddVersioned("pin", "Keep a version until it is unpinned", Pin);
  adder.AddVersioned("unpin", "Allow a pinned version to be deleted again",
                     Unpin);
  adder
      .AddVersioned("suspend",
                    "Move a version that no session has open off its device, "
                    "until a session opens it",
                    Suspend)
      ->add_option(
          "--to", adder.arguments().to,
          "The place for the version's bytes: host memory, or disk, which is "
          "the daemon's --suspend-directory and for operators")
      ->check(CLI::IsMember({"host", "disk"}))
      ->type_name("PLACE")
      ->capture_default_str();
  adder.AddVersioned("resume", "Bring a suspended version back to its device",
                     Resume);
  adder
      .Add("watch",
           "Print each new, retired and deleted version, until interrupted",
           Watch)
      ->add_option("NAME", adder.arguments().name,
                   "The collection to watch; default: all");
}

}  // namespace holdfast::cli
