// SPDX-License-Identifier: Apache-2.0
#include "server/process/output_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/printable.h"

namespace holdfast {
namespace {

// A line costs this besides its bytes: one that counts dropped ones may
// stand above it.
constexpr size_t kNoticeBytes = 160;

void WriteToStderr(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(STDERR_FILENO, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;  // Nobody listens; there is nowhere to say so.
    text.remove_prefix(static_cast<size_t>(put));
  }
}

}  // namespace

void OutputRelay::Add(pid_t pid, UniqueFd pipe) {
  fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
  outputs_.push_back({absl::StrCat("process ", pid), std::move(pipe)});
}

int OutputRelay::AppendTo(std::vector<pollfd>* events, absl::Time now) const {
  absl::Duration wait = absl::InfiniteDuration();
  for (const Output& output : outputs_) {
    if (output.paused_until > now) {
      wait = std::min(wait, output.paused_until - now);
    } else {
      events->push_back({.fd = output.pipe.get(), .events = POLLIN});
    }
  }
  if (wait == absl::InfiniteDuration()) return -1;
  return static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1;
}

void OutputRelay::Relay(absl::Time now) {
  outputs_.remove_if([&](Output& output) {
    return output.paused_until <= now && !Read(output, now);
  });
}

bool OutputRelay::Read(Output& output, absl::Time now) {
  char bytes[64 << 10];
  const ssize_t count = read(output.pipe.get(), bytes, sizeof bytes);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  output.text.append(bytes, static_cast<size_t>(count));
  PassLines(output, now);
  if (count > 0) {
    if (!output.text.empty()) {
      output.paused_until = std::max(output.paused_until, now + kGather);
    }
    return true;
  }
  if (!output.text.empty()) Pass(output, output.text, now);
  return false;
}

void OutputRelay::PassLines(Output& output, absl::Time now) {
  absl::string_view rest = output.text;
  while (true) {
    const size_t end = rest.find('\n');
    const size_t size = std::min(end, rest.size());
    if (size > kMaxLine) {
      Pass(output, rest.substr(0, kMaxLine), now);
      rest.remove_prefix(kMaxLine);
      continue;
    }
    if (end == absl::string_view::npos) break;
    Pass(output, rest.substr(0, size), now);
    rest.remove_prefix(size + 1);
  }
  output.text.erase(0, output.text.size() - rest.size());
}

void OutputRelay::Pass(Output& output, absl::string_view line, absl::Time now) {
  const std::string text = absl::StrCat(ToPrintable(line), "\n");
  const std::optional<uint64_t> dropped =
      limiter_.Admit(output.name, now, text.size() + kNoticeBytes);
  if (!dropped.has_value()) {
    output.paused_until = now + kPause;
    return;
  }
  if (*dropped > 0) {
    LogWarning(*dropped, " lines of ", output.name,
               " were dropped: it writes too many");
  }
  WriteToStderr(text);
}

}  // namespace holdfast
