// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_LINKER_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_LINKER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/compile/compilation.h"
#include "client/cpp/compile/compile_progress.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/connection/daemon.h"

namespace holdfast {

namespace v1 {
class LinkRequest;
}  // namespace v1

// The daemon's cache has a result only for equal options.
struct LinkerOptions {
  // "sm_90", "90" ...; empty: the architecture of device 0.
  std::string arch = {};
  // Options of nvJitLink, one word each: "-maxrregcount=32".
  std::vector<std::string> options = {};
};

// Links objects of the daemon's store into one.
//
//   Linker linker;
//   linker.Add(first.object, "first").Add(second.object, "second");
//   HOLDFAST_ASSIGN_OR_RETURN(Compilation linked, linker.Link(*daemon));
class Linker {
 public:
  explicit Linker(LinkerOptions options = {}) : options_(std::move(options)) {}

  // Adds an object. Objects are linked in the order of the calls. The linker's
  // messages use `name` for the object.
  Linker& Add(const ObjectCode& object, std::string name = "");

  // Links in the daemon, or returns the cached result. `target` is a cubin, PTX
  // or LTO IR; the default is the best format for device 0. Blocks.
  // `on_progress` is as in Program::Compile. May be called again.
  // INVALID_ARGUMENT: the objects do not link; GetErrorDetail(status)->log is
  // the whole log.
  absl::StatusOr<Compilation> Link(
      Daemon& daemon, v1::ObjectFormat target = {},
      const CompileProgressCallback& on_progress = nullptr) const;

 private:
  v1::LinkRequest Request(v1::ObjectFormat target) const;

  struct Input {
    ObjectCode object;
    std::string name;
  };

  const LinkerOptions options_;
  std::vector<Input> inputs_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_LINKER_H_
