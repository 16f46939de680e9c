// SPDX-License-Identifier: Apache-2.0
// Runs programs on the I/O thread: starting (child_spawn.cpp, start_queue.cpp), pipes, timeout and
// reaping. program_guard.cpp kills the programs if this process dies.
#include "base/deadline.hpp"
#include "net/child_spawn.hpp"
#include "net/io_runtime_impl.hpp"

#include <superstep/base/await.hpp>
#include <superstep/net/detail/child_process.hpp>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <sys/wait.h>

namespace superstep {

namespace {

using net_error = boost::system::error_code;

/// Wait for the end of the pipes after the group was killed. They end at once, unless a process
/// that left the group still has them open. Then, what the program wrote before is still read.
constexpr auto pipe_grace = std::chrono::milliseconds{100};

/// One run of a program, used on the I/O thread. Its handlers keep it alive until the program has
/// been reaped, even if the caller no longer waits.
class child : public std::enable_shared_from_this<child> {
public:
  using done_type = completer<result<process_result>>;

  child(io_runtime::impl& io, process_request request, done_type done)
      : io_{io}, request_{std::move(request)}, done_{std::move(done)}, input_{io.io},
        output_{io.io}, errors_{io.io}, ended_{io.io}, timer_{io.io} {}
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    if (pid_ != 0) // the I/O thread has ended, and its last handlers are being destroyed
      reap();
    done_(error{errc::cancelled, "\"" + name() + "\" was killed because its io_runtime ended"});
  }

  void start() {
    wait_for_timeout();
    const auto is_queued =
        io_.starts.add([self = shared_from_this()] { return self->try_start(); });
    if (!is_queued)
      give_up("too many programs are waiting to be started");
  }

  /// Cancels the run, because its result is no longer needed.
  void abandon() {
    if (phase_ == phase::waiting)
      end();
    kill_group();
  }

private:
  void kill_group() noexcept {
    if (pid_ != 0)
      ::kill(-pid_, SIGKILL);
  }

  /// waiting → running → over, or waiting → over if it is not started. running → draining if the
  /// program has ended and its pipes stay open: only what they contain already is read.
  enum class phase : std::uint8_t { waiting, running, draining, over };

  /// Tries to start the program. False if the machine lacks a resource.
  bool try_start() {
    if (phase_ != phase::waiting)
      return true;
    if (done_.abandoned()) {
      end();
      return true;
    }
    auto started = spawn(request_, io_.guard);
    if (!started) {
      shortage_ = started.error().text;
      if (is_shortage(started.error().code))
        return false;
      done_(started.error());
      end();
      return true;
    }
    phase_ = phase::running;
    pid_ = started->pid;
    input_.assign(started->input.release());
    output_.assign(started->output.release());
    errors_.assign(started->errors.release());
    ended_.assign(started->ended.release());
    wait_for_timeout();
    write_input();
    read_output();
    read_errors();
    wait_for_end();
    return true;
  }

  /// Ends a run that was not started, with an error.
  void end() {
    phase_ = phase::over;
    timer_.cancel();
  }

  void give_up(const std::string& why) {
    done_(error{errc::shortage, "\"" + name() + "\" could not be started: " + why});
    end();
  }

  [[nodiscard]] std::string name() const {
    return request_.argv.empty() ? std::string{} : request_.argv.front();
  }

  void write_input() {
    asio::async_write(input_, asio::buffer(request_.stdin_text),
                      [self = shared_from_this()](net_error, std::size_t) {
                        auto ignored = net_error{}; // the program may close its input early
                        self->input_.close(ignored);
                      });
  }

  void read_output() {
    output_.async_read_some(asio::buffer(output_piece_),
                            [self = shared_from_this()](net_error failed, std::size_t got) {
                              const auto is_too_long = !self->keep_output(got);
                              if (self->phase_ == phase::draining && !is_too_long)
                                self->drain_output();
                              if (failed || is_too_long || self->phase_ == phase::draining)
                                self->output_ended();
                              else
                                self->read_output();
                            });
  }

  void read_errors() {
    errors_.async_read_some(asio::buffer(error_piece_),
                            [self = shared_from_this()](net_error failed, std::size_t got) {
                              self->keep_errors(got);
                              if (self->phase_ == phase::draining)
                                self->drain_errors();
                              if (failed || self->phase_ == phase::draining)
                                self->output_ended();
                              else
                                self->read_errors();
                            });
  }

  /// Appends the bytes that were read. False if the output is longer than its limit; then the
  /// program is killed.
  [[nodiscard]] bool keep_output(std::size_t got) {
    auto& text = result_.stdout_text;
    const auto room = request_.output_bytes_max - text.size();
    text.append(output_piece_.data(), std::min(got, room));
    if (got <= room)
      return true;
    result_.is_output_truncated = true;
    kill_group();
    return false;
  }

  void keep_errors(std::size_t got) {
    auto& text = result_.stderr_text;
    text.append(error_piece_.data(), std::min(got, request_.error_bytes_max - text.size()));
  }

  /// Reads what the pipe contains, up to the limit of the output, without waiting.
  void drain_output() {
    auto failed = net_error{};
    output_.non_blocking(true, failed);
    while (!failed) {
      const auto got = output_.read_some(asio::buffer(output_piece_), failed);
      if (!failed && !keep_output(got))
        return;
    }
  }

  /// Like drain_output().
  void drain_errors() {
    auto failed = net_error{};
    errors_.non_blocking(true, failed);
    while (!failed && result_.stderr_text.size() < request_.error_bytes_max) {
      const auto got = errors_.read_some(asio::buffer(error_piece_), failed);
      if (!failed)
        keep_errors(got);
    }
  }

  void output_ended() {
    --pipes_open_;
    finish_if_all_ended();
  }

  /// Starts the timer for the wait before the start, or the one for the running program.
  void wait_for_timeout() {
    const auto is_waiting = phase_ == phase::waiting;
    auto length = request_.timeout;
    if (is_waiting)
      length = std::min(request_.start_wait_max, length.value_or(request_.start_wait_max));
    if (!length)
      return;
    timer_.expires_at(detail::deadline_after(began_, *length));
    timer_.async_wait([self = shared_from_this(), is_waiting](net_error cancelled) {
      if (cancelled)
        return;
      if (is_waiting && self->phase_ == phase::waiting)
        self->give_up(self->shortage_);
      else if (!is_waiting && self->pid_ != 0)
        self->time_out();
    });
  }

  void time_out() {
    kill_group();
    done_(error{errc::timed_out, "\"" + name() + "\" did not end within " +
                                     std::to_string(request_.timeout->count()) +
                                     " ms and was killed"});
  }

  void wait_for_end() {
    ended_.async_wait(asio::posix::descriptor_base::wait_read,
                      [self = shared_from_this()](net_error) {
                        if (self->is_running()) { // a spurious wake-up
                          self->wait_for_end();
                          return;
                        }
                        if (self->pid_ != 0)
                          self->reap();
                        self->timer_.expires_after(pipe_grace);
                        self->timer_.async_wait([self](net_error cancelled) {
                          if (!cancelled)
                            self->drain();
                        });
                        self->finish_if_all_ended();
                      });
  }

  /// Ends the reads that still wait. Their handlers take what the pipes contain: a busy machine may
  /// run this before it has read the output of a program that ended long ago.
  void drain() {
    if (phase_ != phase::running)
      return;
    phase_ = phase::draining;
    auto ignored = net_error{};
    output_.cancel(ignored);
    errors_.cancel(ignored);
  }

  /// Asks the kernel instead of trusting the wake-up: a reactor may report an event that belongs to
  /// an earlier descriptor with the same number.
  [[nodiscard]] bool is_running() const noexcept {
    auto info = siginfo_t{};
    return pid_ != 0 &&
           ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }

  /// Kills the group first: until the program is reaped, its process group id cannot be reused.
  void reap() noexcept {
    kill_group();
    io_.guard.ended(pid_);
    auto status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    if (WIFSIGNALED(status))
      result_.signal = WTERMSIG(status);
    else
      result_.exit_status = WEXITSTATUS(status);
  }

  void finish_if_all_ended() {
    if (pid_ == 0 && pipes_open_ == 0)
      finish();
  }

  void finish() {
    auto ignored = net_error{};
    end();
    for (auto* pipe : {&input_, &output_, &errors_, &ended_})
      pipe->close(ignored);
    done_(std::move(result_));
    io_.starts.room();
  }

  io_runtime::impl& io_;
  process_request request_;
  done_type done_; // ignores all but the first result
  asio::posix::stream_descriptor input_;
  asio::posix::stream_descriptor output_;
  asio::posix::stream_descriptor errors_;
  asio::posix::stream_descriptor ended_;
  asio::steady_timer timer_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  phase phase_ = phase::waiting;
  std::string shortage_ = "other programs wait before it"; ///< why it has not been started yet
  int pid_ = 0;                                            // 0: not started, or already reaped
  int pipes_open_ = 2;
  process_result result_;
  std::array<char, 16 * 1024> output_piece_;
  std::array<char, 4 * 1024> error_piece_;
};

} // namespace

task<result<process_result>> run_process(io_runtime& io, process_request request) {
  auto& owner = io.get();
  auto& context = owner.io;
  auto start = [&owner, &context,
                request = std::move(request)](completer<result<process_result>> done) mutable {
    auto one = std::make_shared<child>(owner, std::move(request), done);
    done.on_abandon([weak = std::weak_ptr{one}, &context] {
      asio::post(context, [weak] {
        if (const auto running = weak.lock())
          running->abandon();
      });
    });
    asio::post(context, [one = std::move(one)] { one->start(); });
  };
  auto ended = await_callback<result<process_result>>(std::move(start));
  co_return co_await ended;
}

} // namespace superstep
