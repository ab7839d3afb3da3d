// SPDX-License-Identifier: Apache-2.0
//
// That what a command prints arrives: a full disk and a closed descriptor are
// told only to who asks.
#ifndef HOLDFAST_CLIENT_CLI_STANDARD_OUTPUT_H_
#define HOLDFAST_CLIENT_CLI_STANDARD_OUTPUT_H_

namespace holdfast::cli {

// Opens those of the descriptors 0, 1 and 2 that are closed, so that no socket
// or file takes their numbers and gets what is printed. Writing to them fails.
void HoldStandardDescriptors();

// Writes what is left of stdout. If anything that was printed could not be
// written, says so on stderr and returns kExitFailed in place of kExitOk; else
// returns `exit_code`. Nothing is said where the reader has gone.
int FinishOutput(int exit_code);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_STANDARD_OUTPUT_H_
