// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_VERSION_H_
#define HOLDFAST_SERVER_CONFIG_VERSION_H_

namespace holdfast::server {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_VERSION_H_
