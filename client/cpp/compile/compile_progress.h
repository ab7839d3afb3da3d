// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_COMPILE_PROGRESS_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_COMPILE_PROGRESS_H_

#include <functional>

namespace holdfast {

namespace v1 {
class CompileProgress;
}  // namespace v1

// Called from time to time while a compilation or a link waits or runs.
using CompileProgressCallback = std::function<void(const v1::CompileProgress&)>;

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_COMPILE_PROGRESS_H_
