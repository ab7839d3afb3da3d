// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_
#define HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_

namespace holdfast {

// Makes absl::Status::ToString show Holdfast's payloads as text for people: a
// fault's report as DescribeFault has it, the rest in a word. Payloads of
// others stay as they are, and so does a printer that the program has set
// itself. Thread-safe.
void PrintPayloadsAsText();

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_PAYLOAD_TEXT_H_
