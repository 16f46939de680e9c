// SPDX-License-Identifier: Apache-2.0
// Runs a program that stays: writes lines to it, splits its output into lines, keeps the end of its
// standard error, and reaps it. worker_pool.cpp decides what the lines mean.
#include "net/worker_process.hpp"

#include "net/child_spawn.hpp"

#include <superstep/base/detail/assert.hpp>

#include <boost/asio/write.hpp>

#include <chrono>
#include <csignal>
#include <utility>

#include <sys/ioctl.h>
#include <sys/wait.h>

namespace superstep {

namespace {

using worker_net_error = boost::system::error_code;

/// The time that a program has to exit after it has closed its standard output.
constexpr auto exit_grace = std::chrono::milliseconds{500};

/// Maximum number of reads when the pipes of a program that has ended are emptied. A process that
/// has left the program's group may write forever.
constexpr auto last_reads_max = 1'000;

} // namespace

worker_process::worker_process(io_runtime::impl& io, const process_request& request,
                               std::weak_ptr<worker_listener> listener)
    : io_{io}, request_{request}, listener_{std::move(listener)}, input_{io.io}, output_{io.io},
      errors_{io.io}, ended_{io.io}, timer_{io.io} {}

worker_process::~worker_process() {
  if (pid_ != 0) // the I/O thread has ended, and its handlers are being destroyed
    reap();
}

void worker_process::start() {
  if (phase_ != phase::waiting)
    return; // killed before it was started
  limit_start_wait();
  if (io_.starts.add([self = shared_from_this()] { return self->try_start(); }))
    return;
  phase_ = phase::over;
  timer_.cancel();
  if (const auto to = listener_.lock())
    to->on_start_failed(*this, {errc::shortage, "too many programs are waiting to be started"});
}

/// Tries to start the program. Returns false if the machine lacks a resource and start_queue must
/// try again.
bool worker_process::try_start() {
  if (phase_ != phase::waiting)
    return true;
  const auto to = listener_.lock();
  if (!to) {
    phase_ = phase::over;
    timer_.cancel();
    return true;
  }
  auto started = spawn(request_, io_.guard);
  if (!started && is_shortage(started.error().code)) {
    shortage_ = started.error().text;
    return false;
  }
  timer_.cancel();
  if (!started) {
    phase_ = phase::over;
    to->on_start_failed(*this, started.error());
    return true;
  }
  phase_ = phase::running;
  pid_ = started->pid;
  input_.assign(started->input.release());
  output_.assign(started->output.release());
  errors_.assign(started->errors.release());
  ended_.assign(started->ended.release());
  auto ignored = worker_net_error{};
  output_.non_blocking(true, ignored);
  errors_.non_blocking(true, ignored);
  wait_for_output();
  wait_for_errors();
  wait_for_end();
  to->on_started(*this);
  return true;
}

void worker_process::limit_start_wait() {
  timer_.expires_after(request_.start_wait_max);
  timer_.async_wait([self = shared_from_this()](worker_net_error cancelled) {
    if (cancelled || self->phase_ != phase::waiting)
      return;
    self->phase_ = phase::over;
    if (const auto to = self->listener_.lock())
      to->on_start_failed(*self,
                          {errc::shortage, "\"" + self->request_.argv.front() +
                                               "\" could not be started: " + self->shortage_});
  });
}

void worker_process::send(std::string line) {
  SUPERSTEP_ASSERT(line.ends_with('\n') && phase_ != phase::waiting);
  if (pid_ == 0) { // the program has ended; its last lines are being reported, or were
    has_unread_line_ = true;
    return;
  }
  to_send_.push_back(std::move(line));
  if (to_send_.size() == 1)
    write_next();
}

void worker_process::write_next() {
  asio::async_write(input_, asio::buffer(to_send_.front()),
                    [self = shared_from_this()](worker_net_error failed, std::size_t) {
                      if (self->phase_ == phase::over)
                        return;
                      self->to_send_.pop_front();
                      self->has_unread_line_ = bool{failed};
                      if (failed) // the program has closed its input, so it cannot serve calls
                        self->kill();
                      else if (!self->to_send_.empty())
                        self->write_next();
                      else if (self->closes_input_)
                        self->close_input();
                    });
}

void worker_process::close_input() {
  closes_input_ = true;
  auto ignored = worker_net_error{};
  if (to_send_.empty())
    input_.close(ignored);
}

void worker_process::kill() {
  if (phase_ == phase::waiting) {
    phase_ = phase::over;
    timer_.cancel();
  }
  if (pid_ != 0)
    ::kill(-pid_, SIGKILL);
}

// The pipes are read only when they are readable, never by a read that waits: the bytes of such a
// read would be lost if finish() or read_errors_now() read before its handler runs.

void worker_process::wait_for_output() {
  output_.async_wait(asio::posix::descriptor_base::wait_read,
                     [self = shared_from_this()](worker_net_error) {
                       if (self->phase_ == phase::over)
                         return;
                       const auto failed = self->read_output();
                       if (self->phase_ == phase::over)
                         return;
                       if (failed && failed != asio::error::would_block)
                         self->output_closed();
                       else
                         self->wait_for_output();
                     });
}

/// Reads once, without waiting, and reports the lines that are complete. Returns would_block if the
/// pipe is empty.
boost::system::error_code worker_process::read_output() {
  auto failed = worker_net_error{};
  const auto got = output_.read_some(asio::buffer(output_piece_), failed);
  if (!failed)
    take_output(got);
  return failed;
}

/// Reports the lines in the bytes that were read.
void worker_process::take_output(std::size_t got) {
  auto rest = std::string_view{output_piece_.data(), got};
  while (!rest.empty()) {
    const auto length = rest.find('\n');
    line_ += rest.substr(0, length);
    const auto to = listener_.lock();
    if (line_.size() > request_.output_bytes_max) {
      if (to)
        to->on_long_line(*this);
      line_.clear();
      return kill();
    }
    if (length == std::string_view::npos)
      return;
    rest.remove_prefix(length + 1);
    const auto line = std::exchange(line_, {});
    if (to)
      to->on_line(*this, line, rest.empty());
  }
}

/// Kills the program if it does not exit soon: without standard output it cannot answer.
void worker_process::output_closed() {
  timer_.expires_after(exit_grace);
  timer_.async_wait([self = shared_from_this()](worker_net_error cancelled) {
    if (!cancelled)
      self->kill();
  });
}

void worker_process::wait_for_errors() {
  errors_.async_wait(asio::posix::descriptor_base::wait_read,
                     [self = shared_from_this()](worker_net_error) {
                       if (self->phase_ == phase::over)
                         return;
                       const auto failed = self->read_errors();
                       if (!failed || failed == asio::error::would_block)
                         self->wait_for_errors();
                     });
}

/// Reads once, without waiting, and keeps the end of the text. Returns would_block if the pipe is
/// empty.
boost::system::error_code worker_process::read_errors() {
  auto failed = worker_net_error{};
  const auto got = errors_.read_some(asio::buffer(error_piece_), failed);
  error_text_.append(error_piece_.data(), got);
  if (error_text_.size() > request_.error_bytes_max)
    error_text_.erase(0, error_text_.size() - request_.error_bytes_max);
  return failed;
}

const std::string& worker_process::read_errors_now() {
  for (auto i = 0; errors_.is_open() && i < last_reads_max; ++i)
    if (read_errors())
      break;
  return error_text_;
}

void worker_process::forget_errors() {
  static_cast<void>(read_errors_now());
  error_text_.clear();
}

void worker_process::wait_for_end() {
  ended_.async_wait(asio::posix::descriptor_base::wait_read,
                    [self = shared_from_this()](worker_net_error) {
                      if (self->is_running()) // a spurious wake-up
                        self->wait_for_end();
                      else
                        self->finish();
                    });
}

/// Whether the program still runs. The wake-up alone does not prove its end, because Asio may
/// report an event of an earlier descriptor with the same number.
bool worker_process::is_running() const noexcept {
  auto info = siginfo_t{};
  return pid_ != 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

/// Reaps the program. Its group is killed first, because the group's id cannot be reused until the
/// program is reaped.
void worker_process::reap() noexcept {
  ::kill(-pid_, SIGKILL);
  io_.guard.ended(pid_);
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

/// Reports the lines that the program wrote before its end, then its end.
void worker_process::finish() {
  reap();
  auto unread = 0;
  if (!to_send_.empty() ||
      (input_.is_open() && ::ioctl(input_.native_handle(), FIONREAD, &unread) == 0 && unread > 0))
    has_unread_line_ = true;
  for (auto i = 0; i < last_reads_max; ++i)
    if (read_output())
      break;
  static_cast<void>(read_errors_now());
  phase_ = phase::over;
  timer_.cancel();
  auto ignored = worker_net_error{};
  for (auto* pipe : {&input_, &output_, &errors_, &ended_})
    pipe->close(ignored);
  if (const auto to = listener_.lock())
    to->on_ended(*this, WIFSIGNALED(status_)
                            ? "was killed by signal " + std::to_string(WTERMSIG(status_))
                            : "ended with status " + std::to_string(WEXITSTATUS(status_)));
  io_.starts.room();
}

} // namespace superstep
