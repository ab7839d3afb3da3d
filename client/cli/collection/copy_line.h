// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_COPY_LINE_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_COPY_LINE_H_

#include <cstdint>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace holdfast::cli {

// Returns "1.5 GiB of 4.0 GiB, 512.0 MiB/s, 5 s left". The rate and the time
// left are shown only after the first second.
std::string DescribeCopy(uint64_t done, uint64_t all, absl::Duration elapsed);

// Shows the progress of a copy on one line of stderr, if that is a terminal.
// Each update overwrites the line, and the destructor erases it.
class CopyLine {
 public:
  CopyLine();
  ~CopyLine();

  void Show(uint64_t done, uint64_t all);

 private:
  const bool terminal_;
  const absl::Time start_ = absl::Now();
  bool shown_ = false;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_COPY_LINE_H_
