// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_LOOPBACK_CERTIFICATE_H_
#define HOLDFAST_CLIENT_BENCH_LOOPBACK_CERTIFICATE_H_

#include <string>

#include "absl/status/statusor.h"

namespace holdfast::bench {

// A self-signed certificate for 127.0.0.1 and its new P-256 key, in PEM. It is
// valid for a day.
struct LoopbackCertificate {
  std::string certificate;
  std::string key;

  static absl::StatusOr<LoopbackCertificate> Make();
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_LOOPBACK_CERTIFICATE_H_
