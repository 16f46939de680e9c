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
  read_output();
  read_errors();
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
  if (phase_ == phase::over)
    return;
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

void worker_process::read_output() {
  output_.async_read_some(asio::buffer(output_piece_),
                          [self = shared_from_this()](worker_net_error failed, std::size_t got) {
                            if (self->phase_ == phase::over)
                              return;
                            self->take_output(got);
                            if (self->phase_ == phase::over)
                              return;
                            if (failed)
                              self->output_closed();
                            else
                              self->read_output();
                          });
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

void worker_process::read_errors() {
  errors_.async_read_some(asio::buffer(error_piece_),
                          [self = shared_from_this()](worker_net_error failed, std::size_t got) {
                            if (self->phase_ == phase::over)
                              return;
                            self->keep_errors(got);
                            if (!failed)
                              self->read_errors();
                          });
}

void worker_process::keep_errors(std::size_t got) {
  error_text_.append(error_piece_.data(), got);
  if (error_text_.size() > request_.error_bytes_max)
    error_text_.erase(0, error_text_.size() - request_.error_bytes_max);
}

const std::string& worker_process::read_errors_now() {
  auto failed = worker_net_error{};
  if (errors_.is_open())
    errors_.non_blocking(true, failed);
  for (auto i = 0; errors_.is_open() && !failed && i < last_reads_max; ++i) {
    const auto got = errors_.read_some(asio::buffer(error_piece_), failed);
    if (!failed)
      keep_errors(got);
  }
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
  auto failed = worker_net_error{};
  output_.non_blocking(true, failed);
  for (auto i = 0; !failed && i < last_reads_max; ++i) {
    const auto got = output_.read_some(asio::buffer(output_piece_), failed);
    if (!failed)
      take_output(got);
  }
  static_cast<void>(read_errors_now());
  phase_ = phase::over;
  timer_.cancel();
  for (auto* pipe : {&input_, &output_, &errors_, &ended_})
    pipe->close(failed);
  if (const auto to = listener_.lock())
    to->on_ended(*this, WIFSIGNALED(status_)
                            ? "was killed by signal " + std::to_string(WTERMSIG(status_))
                            : "ended with status " + std::to_string(WEXITSTATUS(status_)));
  io_.starts.room();
}

} // namespace superstep
