// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/memfd.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/commands.pb.h"
#include "proto/protocol_limits.h"
#include "server/executor/resources/resources.h"
#include "server/executor/submission/result_queue.h"

namespace holdfast::executor {

// An object of the supervisor's store: its code, mapped for reading, and the
// names of its kernels.
struct FetchedObject {
  FileMapping image;
  std::map<std::string, std::string> symbols;
};
// Fetches an object by its hash. Called by the submission thread, and blocks
// it. NOT_FOUND: the store does not have the object.
using ObjectFetcher =
    std::function<absl::StatusOr<FetchedObject>(absl::string_view sha256)>;

// The context of one command's handler. Valid during the handler's call.
//
// A handler gets the command and this context. It answers with Reply or
// ReplyLater, or returns an error, which the processor reports.
struct CommandContext {
  Resources& resources;
  const ObjectFetcher& fetch_object;
  const std::shared_ptr<ResultQueue>& results;
  // The failures since the last fence, which reports and clears them.
  v1::FenceResult& failures;
  uint64_t sequence = 0;  // of the command
  bool last = false;      // of its batch

  // Adds a result to the queue, with the command's number.
  void Reply(v1::Result result) const {
    result.set_sequence(sequence);
    results->Add(std::move(result));
  }

  // Watches events as CompletionWatcher::Watch does. For events that the client
  // waits for: this thread polls them first if it has nothing else to do.
  void Watch(CompletionWatcher::Events events,
             CompletionWatcher::Callback callback) const;
  // Watches the present work of `stream`. `callback` also gets the driver's
  // error if the end of the work cannot be marked.
  void WatchWork(StreamResource& stream,
                 CompletionWatcher::Callback callback) const;

  // Promises a result of about `bytes` bytes, and reserves room for it in the
  // queue. The returned function sends the result, or its error; any thread
  // calls it, once.
  std::function<void(const absl::Status&, v1::Result)> ReplyLater(
      size_t bytes = 0) const;
};

// Creates a resource under a new handle of `table`: `make` returns StatusOr<T>.
// If `make` fails, the handle is in error, and Create returns the error. If the
// session has too many handles, the handle is not created at all.
template <typename T, typename Make>
absl::Status Create(HandleTable<T>& table, uint64_t handle, Make make) {
  HOLDFAST_RETURN_IF_ERROR(table.CheckNew(handle));
  HOLDFAST_ASSIGN_OR_RETURN(Charge charge, table.Reserve());
  absl::StatusOr<T> made = make();
  if (!made.ok()) {
    table.PutError(handle, made.status(), std::move(charge));
    return made.status();
  }
  table.Put(handle, *std::move(made), std::move(charge));
  return absl::OkStatus();
}

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_H_
