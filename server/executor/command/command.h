// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

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

// A code object of the supervisor's store: its code, mapped for reading, and
// its symbols. `symbols` maps the names that clients use to the names in the
// code.
struct FetchedObject {
  FileMapping image;
  std::map<std::string, std::string> symbols;
};
// Fetches an object by its hash. The submission thread calls it, and blocks
// meanwhile. NOT_FOUND: the store does not have the object.
using ObjectFetcher =
    std::function<absl::StatusOr<FetchedObject>(absl::string_view sha256)>;

// The context of a command's handler. Valid during the handler's call.
//
// A handler gets the command and this context. It sends the command's result
// with Reply or ReplyLater. If it returns an error, the CommandProcessor sends
// the error as the result.
struct CommandContext {
  Resources& resources;
  const ObjectFetcher& fetch_object;
  const std::shared_ptr<ResultQueue>& results;
  // The failures since the last fence. A fence reports and clears them.
  v1::FenceResult& failures;
  uint64_t sequence = 0;  // the number of the command
  bool last = false;      // the command is the last of its batch

  // Adds a result to the queue, with the command's number.
  void Reply(v1::Result result) const {
    result.set_sequence(sequence);
    results->Add(std::move(result));
  }

  // Watches events that the client waits for, as CompletionWatcher::Watch does.
  // If the command is the last of its batch, the calling thread first polls the
  // events for as long as it has nothing else to do; then `reply` may be called
  // before Watch returns. Before `reply`, notes the commands that are completed
  // when the events have completed. `awaited` has the points of the events in
  // their streams, as far as they are known.
  void Watch(CompletionWatcher::Events events, std::vector<StreamPoint> awaited,
             CompletionWatcher::Callback reply) const;
  // Like Watch, for the present work of `stream`. `reply` also gets the
  // driver's error if the end of the work cannot be marked.
  void WatchWork(StreamResource& stream,
                 CompletionWatcher::Callback reply) const;

  // Promises a result of about `bytes` bytes, and reserves room for it in the
  // queue. Returns a function that sends the result, or the error if the status
  // is not OK. The function must be called once, and any thread may call it,
  // also after this context has ended.
  std::function<void(const absl::Status&, v1::Result)> ReplyLater(
      size_t bytes = 0) const;
};

// Creates a resource under a new handle of `table`. `make` makes the resource,
// and returns StatusOr<T>. If it fails, Create leaves the handle in error, and
// returns the error. If CheckNew or Reserve of the table fails, for example
// because the session has too many handles, Create makes no handle, and returns
// that error.
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
