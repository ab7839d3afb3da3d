// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_LOOPBACK_CERTIFICATE_H_
#define HOLDFAST_CLIENT_BENCH_LOOPBACK_CERTIFICATE_H_

#include <string>

#include "absl/status/statusor.h"

namespace holdfast::bench {

// A certificate for 127.0.0.1 that signs itself, with a new P-256 key, good for
// a day. In PEM.
struct LoopbackCertificate {
  std::string certificate;
  std::string key;

  static absl::StatusOr<LoopbackCertificate> Make();
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_LOOPBACK_CERTIFICATE_H_
