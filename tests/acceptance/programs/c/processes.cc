// SPDX-License-Identifier: Apache-2.0
//
// C++ over the C interface: memory that two processes share, one of which only
// reads.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <vector>

#include "checks.h"

namespace {

using Token = std::array<uint8_t, HF_TOKEN_BYTES>;
constexpr int kCount = 1000;

// The other process: sums what the token stands for.
int Read(const Token& token) {
  hf_daemon* daemon = Connect();
  hf_session* session;
  hf_stream* stream;
  hf_buffer* shared;
  std::vector<int> values(kCount);
  const size_t bytes = values.size() * sizeof(int);
  Must("session", hf_session_open(daemon, nullptr, &session));
  Must("stream", hf_stream_create(session, 0, nullptr, &stream));
  Must("import", hf_buffer_import(session, 0, token.data(), &shared));
  Must("down", hf_buffer_download(shared, 0, values.data(), bytes, stream));
  Holds("the other process reads the values",
        std::accumulate(values.begin(), values.end(), 0) == 499500);
  hf_error* error = hf_buffer_fill(shared, 0, 4, &kCount, 4, stream);
  if (error == nullptr) error = hf_stream_synchronize(stream);
  Holds("and cannot write them", error != nullptr);
  hf_error_free(error);
  hf_buffer_free(shared);
  hf_stream_free(stream);
  hf_session_free(session);
  hf_daemon_free(daemon);
  return wrongs != 0;
}

// Makes the memory; returns what the other process returned.
int Write(int to_child, pid_t child) {
  hf_daemon* daemon = Connect();
  hf_session* session;
  hf_stream* stream;
  hf_buffer* shared;
  std::vector<int> values(kCount);
  std::iota(values.begin(), values.end(), 0);
  const size_t bytes = values.size() * sizeof(int);
  Must("session", hf_session_open(daemon, nullptr, &session));
  Must("stream", hf_stream_create(session, 0, nullptr, &stream));
  Must("shared",
       hf_buffer_allocate_shared(session, 0, size_t{2} << 20, &shared));
  Must("up", hf_buffer_upload(shared, 0, values.data(), bytes, stream));
  Must("wait", hf_session_synchronize(session));
  Token token;
  const hf_export_options options = HF_EXPORT_OPTIONS_INIT;
  Must("export", hf_buffer_export(shared, &options, token.data()));
  Holds("the token is sent", write(to_child, token.data(), token.size()) ==
                                 static_cast<ssize_t>(token.size()));
  int status = 0;
  waitpid(child, &status, 0);
  Holds("the other process was right",
        WIFEXITED(status) && WEXITSTATUS(status) == 0);
  hf_buffer_free(shared);
  hf_stream_free(stream);
  hf_session_free(session);
  hf_daemon_free(daemon);
  return wrongs != 0;
}

}  // namespace

int main() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  // Before anything of Holdfast's: a forked process is a client of its own.
  const pid_t child = fork();
  if (child != 0) return Write(ends[1], child);
  Token token;
  if (read(ends[0], token.data(), token.size()) !=
      static_cast<ssize_t>(token.size())) {
    return 1;
  }
  return Read(token);
}
