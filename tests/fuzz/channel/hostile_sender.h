// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_CHANNEL_HOSTILE_SENDER_H_
#define HOLDFAST_TESTS_FUZZ_CHANNEL_HOSTILE_SENDER_H_

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"
#include "server/channel/channel.h"
#include "tests/fuzz/engine/random.h"

namespace holdfast::fuzz {

// Valid messages to start from.
using Corpus = std::vector<std::unique_ptr<google::protobuf::Message>>;

// Return the same messages each time, at least one of each kind: from and to an
// executor, from a compiler, and from the spawner. FromExecutorMessages and
// FromCompilerMessages begin with a valid Ready.
Corpus FromExecutorMessages();
Corpus ToExecutorMessages();
Corpus FromCompilerMessages();
Corpus FromSpawnerMessages();

// Sends the message with the descriptor that belongs to it, if there is one.
// Returns false if the channel fails.
bool SendGoodFrame(Channel& channel, const google::protobuf::Message& message);

// Sends a message of the corpus in a well-formed frame, so that the reader
// continues. One message in three is changed field by field; one in twelve has
// an unexpected descriptor. A message to an executor has this question number.
// Returns false if the channel fails.
bool SendOddMessage(Channel& channel, const Corpus& corpus, Random& random,
                    uint64_t question = 0);

// Sends one frame of server/channel on `socket`, past Channel: a message of the
// corpus, mostly changed field by field or byte by byte, in a frame that mostly
// is well-formed, with up to three descriptors of any kind. Returns false if
// the other end is closed or does not read.
bool SendHostileFrame(int socket, const Corpus& corpus, Random& random);

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_CHANNEL_HOSTILE_SENDER_H_
