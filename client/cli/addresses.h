// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_ADDRESSES_H_
#define HOLDFAST_CLIENT_CLI_ADDRESSES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::cli {

// Splits a list of daemons' addresses at its commas. A comma that separates
// options of an address, or that belongs to a socket's path, splits nothing:
//
//   tls:a:7070?ca=ca.pem,name=a,tcp:b:7070   is two addresses
std::vector<std::string> SplitAddresses(absl::string_view list);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_ADDRESSES_H_
