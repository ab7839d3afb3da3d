// SPDX-License-Identifier: Apache-2.0
//
// Detects lost output. stdio buffers it, so that a full disk or a closed
// descriptor is reported only by fflush() and ferror().
#ifndef HOLDFAST_CLIENT_CLI_STANDARD_OUTPUT_H_
#define HOLDFAST_CLIENT_CLI_STANDARD_OUTPUT_H_

namespace holdfast::cli {

// Opens /dev/null in place of each closed descriptor of 0, 1 and 2, so that no
// socket or file gets one of these numbers and receives the output. Reading
// descriptor 0 then fails, and so does writing to 1 and 2.
void HoldStandardDescriptors();

// Flushes stdout. If output was lost, returns kExitFailed in place of kExitOk
// and reports this on stderr, unless fflush() fails with EPIPE. Otherwise
// returns `exit_code`.
int FinishOutput(int exit_code);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_STANDARD_OUTPUT_H_
