// SPDX-License-Identifier: Apache-2.0
// Runs a program on a pseudo-terminal for tests.
#include "terminal_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace superstep::testing {

namespace {

constexpr auto timeout = std::chrono::minutes{1};

} // namespace

terminal_process::terminal_process(const std::vector<std::string>& arguments) {
  auto argv = std::vector<char*>{};
  for (const auto& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
  if (pid_ < 0)
    throw std::system_error{errno, std::generic_category(), "cannot make a terminal"};
  if (pid_ == 0) {
    ::setenv("TERM", "dumb", 1); // no colours in the output
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
}

terminal_process::~terminal_process() {
  if (!has_ended_) {
    kill();
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(terminal_);
}

bool terminal_process::read_more() {
  auto waiting = pollfd{terminal_, POLLIN, 0};
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  if (::poll(&waiting, 1, static_cast<int>(time)) <= 0)
    return false;
  auto bytes = std::array<char, 4096>{};
  const auto count = ::read(terminal_, bytes.data(), bytes.size());
  if (count <= 0) // EIO: the other side is closed
    return false;
  shown_.append(bytes.data(), static_cast<std::size_t>(count));
  std::erase(shown_, '\r');
  return true;
}

std::string terminal_process::read_until(std::string_view text) {
  auto end = shown_.find(text);
  while (end == std::string::npos) {
    if (!read_more())
      throw std::runtime_error{"'" + std::string{text} + "' was not shown; output: " + shown_};
    end = shown_.find(text);
  }
  auto out = shown_.substr(0, end + text.size());
  shown_.erase(0, out.size());
  return out;
}

std::string terminal_process::read_rest() {
  while (read_more())
    continue;
  return std::exchange(shown_, {});
}

void terminal_process::type(std::string_view keys) const {
  while (!keys.empty()) {
    const auto count = ::write(terminal_, keys.data(), keys.size());
    if (count < 0)
      throw std::system_error{errno, std::generic_category(), "cannot type"};
    keys.remove_prefix(static_cast<std::size_t>(count));
  }
}

void terminal_process::kill() const {
  ::kill(pid_, SIGKILL);
}

int terminal_process::exit_code() {
  auto status = 0;
  ::waitpid(pid_, &status, 0);
  has_ended_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace superstep::testing
