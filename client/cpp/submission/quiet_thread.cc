// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/quiet_thread.h"

namespace holdfast {
namespace {

thread_local bool is_quiet = false;

}  // namespace

void SetQuietThread(bool quiet) { is_quiet = quiet; }

bool IsQuietThread() { return is_quiet; }

}  // namespace holdfast
