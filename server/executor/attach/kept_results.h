// SPDX-License-Identifier: Apache-2.0
//
// The results of a session that its client may still need: results that were
// not sent, and results that were sent but may be lost with a connection.
// Results are numbered from 0 in the order in which they came.
//
//   dropped | sent, kept for a client that returns | to send
//           ^ oldest                               ^ next       ^ total
//
// When a client returns, "next" moves back to the first result that it has not
// read. The oldest sent results are dropped when the sent results take too much
// memory. Results to send are never dropped.
#ifndef HOLDFAST_SERVER_EXECUTOR_ATTACH_KEPT_RESULTS_H_
#define HOLDFAST_SERVER_EXECUTOR_ATTACH_KEPT_RESULTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/status.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast::executor {

// Starts no thread and takes no lock. Not thread-safe.
class KeptResults {
 public:
  // The limit of sent results that are kept, in bytes on the wire. It is higher
  // than the number of bytes that can be in transit in gRPC's read-ahead at
  // each hop and in the buffers of sockets.
  static constexpr size_t kMaxSent = size_t{32} << 20;

  // Results that were produced together, in their encoded form.
  class Batch {
   public:
    explicit Batch(const v1::ResultBatch& batch)
        : count_(static_cast<uint64_t>(batch.results_size())),
          bytes_(batch.SerializeAsString()) {}

   private:
    friend class KeptResults;
    uint64_t first_ = 0;  // the number of its first result
    uint64_t count_ = 0;
    std::string bytes_;  // a v1::ResultBatch
  };

  // Adds results to send.
  void Add(Batch batch);
  // Adds results that were sent already. REQUIRES: all_sent().
  void AddSent(Batch batch);

  // Makes TakeNext continue after the first `results_read` results.
  // OUT_OF_RANGE: results after these were dropped, or there are fewer results;
  // nothing has changed.
  absl::Status ContinueAfter(uint64_t results_read);

  // Copies the next results to send into `batch`; from now on they count as
  // sent. REQUIRES: !all_sent().
  void TakeNext(v1::ResultBatch* batch);

  bool all_sent() const { return next_ == kept_.size(); }
  size_t unsent_bytes() const { return unsent_bytes_; }

 private:
  void Append(Batch batch);
  void DropOldest();

  std::deque<Batch> kept_;
  uint64_t total_ = 0;  // all results so far
  // The index in kept_ of the next batch to send, and the number of results at
  // its begin that the client has and that are left out.
  size_t next_ = 0;
  uint64_t skip_ = 0;
  // Bytes of the kept batches before next_, and from next_ on.
  size_t sent_bytes_ = 0;
  size_t unsent_bytes_ = 0;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_ATTACH_KEPT_RESULTS_H_
