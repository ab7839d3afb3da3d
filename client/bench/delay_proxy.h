// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_DELAY_PROXY_H_
#define HOLDFAST_CLIENT_BENCH_DELAY_PROXY_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace holdfast::bench {

// Imitates a slow network. It forwards TCP connections on loopback and delays
// every byte in either direction. It does not limit the bandwidth.
class DelayProxy {
 public:
  // `target` is HOST:PORT on this machine. `delay` is the delay of one
  // direction.
  static absl::StatusOr<std::unique_ptr<DelayProxy>> Start(
      const std::string& target, absl::Duration delay);
  // Breaks all connections.
  ~DelayProxy();

  // The proxy's address, "127.0.0.1:PORT".
  std::string target() const;

 private:
  class Connection;
  DelayProxy(UniqueFd listener, std::string target, absl::Duration delay);
  void Accept();

  const UniqueFd listener_;
  const std::string target_;
  const absl::Duration delay_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_DELAY_PROXY_H_
