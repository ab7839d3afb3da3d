// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_
#define HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_

namespace holdfast {

// Makes absl::Status::ToString print Holdfast's payloads as readable text. Of a
// fault report it prints the lines after the cause, and of an error detail
// nothing, because the status's message has the rest. Payloads of other
// libraries are printed as before. Does nothing if the program has already set
// a payload printer. Thread-safe.
void PrintPayloadsAsText();

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_
