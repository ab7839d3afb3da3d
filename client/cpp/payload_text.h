// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_
#define HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_

namespace holdfast {

// Sets a payload printer, with which absl::Status::ToString prints Holdfast's
// payloads as readable text. A fault report is printed without its cause, and
// an error detail is not printed, because the status's message contains both.
// Payloads of other libraries are printed as before. Does nothing if the
// program has already set a payload printer. Thread-safe.
void PrintPayloadsAsText();

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_
