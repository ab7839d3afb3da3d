// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_VERSION_H_
#define HOLDFAST_CLIENT_CLI_VERSION_H_

namespace holdfast::cli {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_VERSION_H_
