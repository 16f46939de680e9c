// SPDX-License-Identifier: Apache-2.0
// The guard process, which kills the process groups of programs when this process ends.
// child_spawn.cpp reports the groups to it.
#include "net/program_guard.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace superstep {

namespace {

// The script of the guard process. It reads lines: `7` adds a process group, `-7` removes it. At
// the end of its input, which is the end of this process, it kills the remaining groups.
constexpr auto script = R"(trap '' HUP INT QUIT TERM PIPE
g=' '
while IFS= read -r l; do
  case $l in
  -*) p=${l#-}; case $g in *" $p "*) g="${g%% $p *} ${g#* $p }" ;; esac ;;
  *) g="$g$l " ;;
  esac
done
for p in $g; do kill -s KILL -- "-$p"; done)";

int spawn_guard(int input, int& pid) {
  auto actions = posix_spawn_file_actions_t{};
  auto attributes = posix_spawnattr_t{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  auto none = sigset_t{};
  auto all = sigset_t{};
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // The guard gets its own session, so that Ctrl-C or the end of the terminal does not end it.
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  auto name = std::string{"superstep-guard"};
  auto option = std::string{"-c"};
  auto text = std::string{script};
  auto path = std::string{"PATH=/usr/bin:/bin"};
  const auto arguments = std::array<char*, 4>{name.data(), option.data(), text.data(), nullptr};
  const auto environment = std::array<char*, 2>{path.data(), nullptr};
  const auto failed =
      ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return failed;
}

} // namespace

void announce(int socket, char sign, int pid) noexcept {
  if (socket < 0)
    return;
  auto text = std::array<char, 16>{}; // the text is written from its end, without library functions
  auto at = text.size();
  text[--at] = '\n';
  for (auto rest = pid; rest > 0 && at > 1; rest /= 10)
    text[--at] = static_cast<char>('0' + rest % 10);
  if (sign != 0)
    text[--at] = sign;
  ::syscall(SYS_sendto, socket, text.data() + at, text.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT,
            nullptr, 0);
}

program_guard::~program_guard() {
  stop();
}

void program_guard::stop() noexcept {
  socket_.reset();
  if (pid_ != 0)
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  pid_ = 0;
}

bool program_guard::is_alive() const noexcept {
  if (pid_ == 0)
    return false;
  auto byte = char{};
  return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

result<> program_guard::start() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return start_error("cannot open a socket for the guard process", errno);
  auto ours = unique_fd{ends[0]};
  const auto theirs = unique_fd{ends[1]};
  if (const auto failed = spawn_guard(theirs.get(), pid_); failed != 0) {
    pid_ = 0;
    return start_error("cannot start the guard process (/bin/sh)", failed);
  }
  socket_ = std::move(ours);
  for (const auto group : running_)
    announce(socket_.get(), 0, group);
  return {};
}

result<int> program_guard::socket() {
  if (is_impossible_)
    return -1;
  if (!is_alive()) {
    stop();
    if (auto started = start(); !started) {
      if (is_shortage(started.error().code))
        return started.error();
      // Programs then run without a guard. If this process dies, the kernel kills them, but not
      // their children.
      is_impossible_ = true;
      return -1;
    }
  }
  return socket_.get();
}

void program_guard::ended(int pid) noexcept {
  running_.erase(pid);
  announce(socket_.get(), '-', pid);
}

} // namespace superstep
