// SPDX-License-Identifier: Apache-2.0
// Runs programs on the I/O thread: starts them (child_spawn.cpp; start_queue.cpp if the machine
// lacks resources), reads and writes their pipes, enforces the timeout and reaps them.
// program_guard.cpp kills the programs if this process dies.
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
#include <string_view>

#include <sys/wait.h>

namespace superstep {

namespace {

using net_error = boost::system::error_code;

/// The longest wait for the end of the pipes after the process group was killed. The pipes end at
/// once, unless a process that has left the group still holds them open. After this time the data
/// that the pipes already contain is read, and nothing more.
constexpr auto pipe_grace = std::chrono::milliseconds{100};

/// Whether the dynamic loader lacked memory or descriptors, so that the program itself has not run
/// and may be started again. False if the request limits memory or files: these limits would be too
/// low in every run, so the loader's error is the result. The texts are from glibc (elf/dl-load.c).
bool is_load_shortage(const process_request& request, const process_result& ended) {
  constexpr auto failed_load = 127;
  constexpr auto shortages = std::array<std::string_view, 6>{
      "annot allocate memory",
      "failed to map segment",
      "cannot map zero-fill pages",
      "Error 23", // ENFILE; the loader has no text for these numbers
      "Error 24", // EMFILE
      "Too many open files"};
  const auto text = std::string_view{ended.stderr_text};
  return ended.exit_status == failed_load && ended.stdout_text.empty() &&
         !request.limits.memory_bytes && !request.limits.files &&
         text.starts_with(request.argv.front() + ": error while loading shared libraries: ") &&
         std::ranges::any_of(shortages, [&](auto part) { return text.find(part) != text.npos; });
}

/// One run of a program. Used on the I/O thread. Its handlers keep the object alive until the
/// program is reaped, even if the caller no longer waits for the result.
class child : public std::enable_shared_from_this<child> {
public:
  using done_type = completer<result<process_result>>;

  child(io_runtime::impl& io, process_request request, done_type done)
      : io_{io}, request_{std::move(request)}, done_{std::move(done)}, input_{io.io},
        output_{io.io}, errors_{io.io}, ended_{io.io}, timer_{io.io} {}
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    if (pid_ != 0) // the I/O thread has ended, and destroying its handlers destroys this object
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

  /// Cancels the run, because the caller no longer waits for its result.
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

  /// The normal course is waiting, running, over. A program that is not started goes from waiting
  /// to over. If the program has ended but its pipes stay open, draining follows running: only the
  /// data that the pipes already contain is read.
  enum class phase : std::uint8_t { waiting, running, draining, over };

  /// Tries to start the program. Returns false if the machine lacks a resource and start_queue must
  /// try again.
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

  /// Marks the run as over and stops its timer.
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
                        // errors are ignored, because the program may close its input early
                        auto ignored = net_error{};
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

  /// Appends the bytes that were read to the output. Returns false, and kills the program, if the
  /// output is longer than its limit.
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

  /// Reads the data that the output pipe contains, up to the limit of the output, without waiting.
  void drain_output() {
    auto failed = net_error{};
    output_.non_blocking(true, failed);
    while (!failed) {
      const auto got = output_.read_some(asio::buffer(output_piece_), failed);
      if (!failed && !keep_output(got))
        return;
    }
  }

  /// Reads the data that the pipe of standard error contains, up to its limit, without waiting.
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

  /// Starts the timer. Before the program has started, the timer limits the wait for resources;
  /// afterwards it is the program's timeout.
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

  /// Cancels the reads that still wait. Their handlers then read the data that the pipes contain.
  /// On a busy machine this function may run before the output of a program that ended long ago was
  /// read.
  void drain() {
    if (phase_ != phase::running)
      return;
    phase_ = phase::draining;
    auto ignored = net_error{};
    output_.cancel(ignored);
    errors_.cancel(ignored);
  }

  /// Whether the program still runs. The wake-up alone does not prove its end, because Asio may
  /// report an event of an earlier descriptor with the same number.
  [[nodiscard]] bool is_running() const noexcept {
    auto info = siginfo_t{};
    return pid_ != 0 &&
           ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }

  /// Reaps the program. Its group is killed first, because the group's id cannot be reused until
  /// the program is reaped.
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
    if (is_load_shortage(request_, result_))
      done_(
          error{errc::shortage, "\"" + name() + "\" could not be started: " +
                                    result_.stderr_text.substr(0, result_.stderr_text.find('\n'))});
    else
      done_(std::move(result_));
    io_.starts.room();
  }

  io_runtime::impl& io_;
  process_request request_;
  done_type done_; // ignores all results but the first
  asio::posix::stream_descriptor input_;
  asio::posix::stream_descriptor output_;
  asio::posix::stream_descriptor errors_;
  asio::posix::stream_descriptor ended_;
  asio::steady_timer timer_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  phase phase_ = phase::waiting;
  /// why the program has not been started yet
  std::string shortage_ = "other programs are waiting to be started first";
  int pid_ = 0; // 0 if the program is not started or already reaped
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
