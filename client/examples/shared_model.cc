// SPDX-License-Identifier: Apache-2.0
//
// Engines that come and go, each a process of its own, have one copy of a
// model's weights in device memory. The first engine loads the model and is
// killed; the next ones map it, since the memory is the daemon's. The program
// starts itself as each engine.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr uint64_t kCount = 1 << 20;

// Loads the model if no other has, and checks it. Is killed at stdin's end.
absl::Status BeEngine(const Session& session, const std::string& model) {
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  // If several engines start at once, one loads and the others wait for it.
  HOLDFAST_ASSIGN_OR_RETURN(auto claim, WriteClaim::Wait(session, model));
  const bool loads = claim->writes();
  if (loads) {
    HOLDFAST_ASSIGN_OR_RETURN(
        CollectionWriter writer,
        CollectionWriter::Create(session, {{"weights", "F32", {kCount}}}));
    HOLDFAST_ASSIGN_OR_RETURN(const Buffer array, writer.Array(0));
    HOLDFAST_RETURN_IF_ERROR(array.Fill(0.5f, stream));  // or from a file
    HOLDFAST_RETURN_IF_ERROR(writer.Commit(model).status());
  }
  claim.reset();
  HOLDFAST_ASSIGN_OR_RETURN(auto mapped, Collection::Open(session, model));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer array, mapped.Array("weights"));
  std::vector<float> weights(kCount);
  HOLDFAST_RETURN_IF_ERROR(array.Download(weights, stream));
  const std::string what = absl::StrCat(getpid(), loads ? " loads" : " maps");
  HOLDFAST_RETURN_IF_ERROR(CheckAll(
      what.c_str(), kCount, [&](size_t i) { return weights[i] == 0.5f; }));
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  raise(SIGKILL);
  return absl::OkStatus();
}

// Starts three engines, each when the one before has been killed.
absl::Status Operate(const Session& session, const std::string& program) {
  const std::string model = absl::StrCat("examples/shared_model-", getpid());
  const std::string engine =
      absl::StrCat("exec ", program, " --engine-of=", model, " --address='",
                   session.daemon().address().text, "'");
  for (int i = 0; i < 3; ++i) {
    std::FILE* const input = popen(engine.c_str(), "w");
    if (input == nullptr || pclose(input) != SIGKILL) {
      return absl::DataLossError("an engine has failed");
    }
  }
  return Collections(session.shared_daemon()).Delete(model).status();
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string model;
  holdfast::Example example("shared_model: engines share one model");
  example.options().add_option("--engine-of", model, "Be one of its engines");
  return example.Main(argc, argv, [&](const holdfast::Session& session) {
    return model.empty() ? holdfast::Operate(session, argv[0])
                         : holdfast::BeEngine(session, model);
  });
}
