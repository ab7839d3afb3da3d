// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_
#define HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_

namespace holdfast {

// Makes absl::Status::ToString print Holdfast's payloads as readable text: a
// fault's report as the lines behind its cause, and nothing of an error detail:
// the status's message tells both. Payloads of other libraries are printed as
// before. If the program has already set a payload printer, this function
// leaves that printer in place. Thread-safe.
void PrintPayloadsAsText();

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_
