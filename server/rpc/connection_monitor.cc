// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/connection_monitor.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/base/steady_time.h"

namespace holdfast {
namespace {

constexpr uint64_t kStopId = 0;

// After a connection that channelz is not known to know has sent bytes, its
// socket is looked for all the time for so long.
constexpr absl::Duration kSearch = absl::Seconds(1);

// A connection without a stream for so long may be closed for another.
constexpr absl::Duration kIdle = absl::Seconds(1);

// Some time after the end of a connection, when gRPC has dropped its calls,
// freed memory is given back to the system if it is more than this.
constexpr size_t kMaxFreeBytes = size_t{64} << 20;
constexpr absl::Duration kTrimDelay = absl::Seconds(3);

// More than a socket's buffers hold.
constexpr size_t kMaxInputBytes = size_t{16} << 20;

// Takes away what the client has sent and gRPC has not read: it would go on
// with that after shutdown().
void DiscardInput(int fd) {
  std::vector<char> sink(256 << 10);
  size_t taken = 0;
  while (taken < kMaxInputBytes) {
    const ssize_t n = recv(fd, sink.data(), sink.size(), MSG_DONTWAIT);
    if (n <= 0) return;
    taken += static_cast<size_t>(n);
  }
}

// Has a client that goes on sending told so by a reset, when gRPC has closed
// its descriptor: a socket that was shut down opens no window any more.
void ResetAtClose(int fd) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

ConnectionMonitor::ConnectionMonitor(Options options)
    : options_(std::move(options)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = kStopId}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), &event);
  thread_ = std::thread([this] { Run(); });
}

ConnectionMonitor::~ConnectionMonitor() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  thread_.join();
}

bool ConnectionMonitor::Admit(int fd, const std::string& peer,
                              const std::string& client,
                              const StreamLimits& streams) {
  UniqueFd duplicate(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!duplicate.valid()) return false;
  absl::MutexLock lock(&mutex_);
  // gRPC has closed the connection that had the name before.
  const auto same = Find(peer);
  if (same != connections_.end()) Drop(same);
  clients_[client].limits = streams;
  Forgive(client).failed_streams += kConnectionCost;
  BanIfOver(client);
  if (SteadyNow() < clients_[client].banned_until) return false;
  if (!MakeRoom(client)) {
    LogFor(LoggedAs(client), LogLevel::kWarning, "refused a connection of ",
           client, ": ", connections_.size(), " are open, ",
           clients_[client].connections,
           " of them this client's; the limit for all is ",
           options_.max_connections, " (", options_.set_by, ")");
    return false;
  }
  const uint64_t id = ++last_id_;
  const int watched = duplicate.get();
  connections_[id] = {.fd = std::move(duplicate),
                      .peer = peer,
                      .client = client,
                      .last_active = SteadyNow(),
                      .search_until = SteadyNow() + kSearch};
  ++clients_[client].connections;
  Watch(id, watched, EPOLL_CTL_ADD);
  return true;
}

void ConnectionMonitor::Reassign(const std::string& peer,
                                 const std::string& client,
                                 const StreamLimits& streams) {
  absl::MutexLock lock(&mutex_);
  const auto found = Find(peer);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  Client& before = clients_[connection.client];
  --before.connections;
  before.open_streams -= connection.counts.open();
  connection.client = client;
  Client& after = clients_[client];
  after.limits = streams;
  ++after.connections;
  after.open_streams += connection.counts.open();
}

bool ConnectionMonitor::End(const std::string& peer) {
  absl::MutexLock lock(&mutex_);
  const auto found = Find(peer);
  if (found == connections_.end()) return false;
  Close(found);
  return true;
}

bool ConnectionMonitor::Has(const std::string& peer) const {
  absl::MutexLock lock(&mutex_);
  return std::any_of(
      connections_.begin(), connections_.end(),
      [&peer](const auto& entry) { return entry.second.peer == peer; });
}

size_t ConnectionMonitor::connections() const {
  absl::MutexLock lock(&mutex_);
  return connections_.size();
}

ConnectionMonitor::Connections::iterator ConnectionMonitor::Find(
    const std::string& peer) {
  return std::find_if(
      connections_.begin(), connections_.end(),
      [&peer](const auto& entry) { return entry.second.peer == peer; });
}

void ConnectionMonitor::Watch(uint64_t id, int fd, int operation) {
  epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET | EPOLLONESHOT,
                       .data = {.u64 = id}};
  epoll_ctl(epoll_.get(), operation, fd, &event);
}

// One round: wait for bytes, look at the connections that had some, pause.
void ConnectionMonitor::Run() {
  std::vector<epoll_event> events(256);
  while (true) {
    absl::Duration pause = kInterval;
    // Not epoll_wait, which looks for messages first: see eager_polling.h.
    const int count = epoll_pwait(epoll_.get(), events.data(),
                                  int(events.size()), Patience(), nullptr);
    {
      absl::MutexLock lock(&mutex_);
      const absl::Time now = SteadyNow();
      Discover(now);
      for (int i = 0; i < count; ++i) {
        const uint64_t id = events[i].data.u64;
        if (id == kStopId) return;
        const auto found = connections_.find(id);
        if (found == connections_.end()) continue;
        found->second.search_until = now + kSearch;
        Look(found->second);
        if ((events[i].events & (EPOLLHUP | EPOLLERR)) != 0) Drop(found);
      }
      std::vector<std::string> clients;
      for (const auto& [client, state] : clients_) clients.push_back(client);
      for (const std::string& client : clients) BanIfOver(client);
      ForgetClients();
      TrimMemory();
      if (IsSearching(now)) pause = std::min(pause, ChannelzSockets::kSettle);
    }
    pollfd stop = {.fd = stop_.get(), .events = POLLIN};
    if (poll(&stop, 1, int(absl::ToInt64Milliseconds(pause))) > 0) return;
    absl::MutexLock lock(&mutex_);
    for (int i = 0; i < count; ++i) {
      const auto found = connections_.find(events[i].data.u64);
      if (found == connections_.end()) continue;
      Watch(found->first, found->second.fd.get(), EPOLL_CTL_MOD);
    }
  }
}

void ConnectionMonitor::Discover(absl::Time now) {
  const bool wanted = std::any_of(
      connections_.begin(), connections_.end(),
      [](const auto& entry) { return entry.second.channelz_socket == 0; });
  if (!wanted) return;
  const auto found = sockets_.Discover(now);
  if (found.empty()) return;
  for (auto& [id, connection] : connections_) {
    const auto socket = found.find(connection.peer);
    if (socket == found.end()) continue;
    connection.channelz_socket = socket->second;
    Look(connection);
  }
}

void ConnectionMonitor::Look(Connection& connection) {
  if (connection.channelz_socket == 0) return;
  const auto read = ReadStreamCounts(connection.channelz_socket);
  if (!read.has_value()) return;  // It is being closed.
  const StreamCounts before = std::exchange(connection.counts, *read);
  Client& client = Forgive(connection.client);
  client.open_streams += read->open() - before.open();
  client.failed_streams += static_cast<double>(read->failed - before.failed);
  if (read->open() > 0 || read->started > before.started) {
    connection.last_active = SteadyNow();
  }
}

void ConnectionMonitor::LookAtAll() {
  const absl::Time now = SteadyNow();
  if (now < last_look_at_all_ + kInterval) return;
  last_look_at_all_ = now;
  Discover(now);
  for (auto& [id, connection] : connections_) Look(connection);
}

ConnectionMonitor::Client& ConnectionMonitor::Forgive(
    const std::string& client) {
  const absl::Time now = SteadyNow();
  Client& state = clients_[client];
  // The clock may have been set back.
  const absl::Duration passed =
      std::max(now - state.forgiven, absl::ZeroDuration());
  const double forgiven =
      absl::ToDoubleSeconds(passed) * state.limits.failed_per_second;
  state.failed_streams = std::max(0.0, state.failed_streams - forgiven);
  state.forgiven = now;
  return state;
}

void ConnectionMonitor::BanIfOver(const std::string& client) {
  Client& state = Forgive(client);
  const StreamLimits& limits = state.limits;
  if (state.failed_streams <= limits.failed &&
      state.open_streams <= limits.open) {
    return;
  }
  if (state.connections > 0 || state.banned_until < SteadyNow()) {
    LogFor(LoggedAs(client), LogLevel::kWarning, "closed ", state.connections,
           " connections of ", client, " and refuse it for ",
           absl::FormatDuration(limits.ban_time), ": ", state.open_streams,
           " open streams (limit ", limits.open, "), ",
           static_cast<uint64_t>(state.failed_streams), " failed ones (limit ",
           static_cast<uint64_t>(limits.failed), ", and ",
           static_cast<uint64_t>(limits.failed_per_second), " a second)");
  }
  state.banned_until = SteadyNow() + limits.ban_time;
  state.failed_streams = 0;
  for (auto it = connections_.begin(); it != connections_.end();) {
    const auto next = std::next(it);
    if (it->second.client == client) Close(it);
    it = next;
  }
}

// The newcomer is charged as by FairShare. If it has no room, the longest idle
// connection of a client that holds as many as it or more is closed.
bool ConnectionMonitor::MakeRoom(const std::string& client) {
  const size_t own = clients_[client].connections;
  const size_t free = options_.max_connections -
                      std::min(options_.max_connections, connections_.size());
  if (own < free) return true;
  LookAtAll();
  const absl::Time now = SteadyNow();
  auto victim = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    const Connection& candidate = it->second;
    const size_t held = clients_[candidate.client].connections;
    if (held < std::max<size_t>(own, 1) || candidate.counts.open() > 0 ||
        candidate.last_active + kIdle > now) {
      continue;
    }
    if (victim == connections_.end() ||
        std::make_pair(clients_[victim->second.client].connections,
                       now - victim->second.last_active) <
            std::make_pair(held, now - candidate.last_active)) {
      victim = it;
    }
  }
  if (victim == connections_.end()) return false;
  Close(victim);
  return true;
}

void ConnectionMonitor::Close(Connections::iterator connection) {
  const int fd = connection->second.fd.get();
  ResetAtClose(fd);
  shutdown(fd, SHUT_RDWR);
  DiscardInput(fd);
  Drop(connection);
}

void ConnectionMonitor::Drop(Connections::iterator connection) {
  const Connection& dropped = connection->second;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, dropped.fd.get(), nullptr);
  Client& client = clients_[dropped.client];
  --client.connections;
  client.open_streams -= dropped.counts.open();
  connections_.erase(connection);
  trim_due_ = std::min(trim_due_, SteadyNow() + kTrimDelay);
}

void ConnectionMonitor::ForgetClients() {
  const absl::Time now = SteadyNow();
  for (auto it = clients_.begin(); it != clients_.end();) {
    const Client& client = it->second;
    const bool forget = client.connections == 0 && client.failed_streams <= 0 &&
                        client.banned_until < now;
    const auto next = std::next(it);
    if (forget) clients_.erase(it);
    it = next;
  }
}

void ConnectionMonitor::TrimMemory() {
  if (SteadyNow() < trim_due_) return;
  trim_due_ = absl::InfiniteFuture();
  if (mallinfo2().fordblks > kMaxFreeBytes) malloc_trim(0);
}

bool ConnectionMonitor::IsSearching(absl::Time now) const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [now](const auto& entry) {
                       return entry.second.channelz_socket == 0 &&
                              now < entry.second.search_until;
                     });
}

int ConnectionMonitor::Patience() const {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = SteadyNow();
  const absl::Time due =
      IsSearching(now) ? now + ChannelzSockets::kSettle : trim_due_;
  if (due == absl::InfiniteFuture()) return -1;
  const int64_t left = absl::ToInt64Milliseconds(due - now);
  return static_cast<int>(std::max<int64_t>(left, 0) + 1);
}

}  // namespace holdfast
