// SPDX-License-Identifier: Apache-2.0
// Assigns calls to worker processes (worker_process.cpp): starts processes when calls wait, judges
// their answers, enforces timeouts and replaces processes that failed.
#include "net/worker_pool.hpp"

#include "base/utf8.hpp"
#include "net/worker_process.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/detail/assert.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <deque>
#include <future>
#include <thread>
#include <utility>
#include <vector>

namespace superstep {

namespace {

/// The number of processes that may end before any process has answered a call. After that, the
/// program is regarded as unusable.
constexpr auto barren_workers_max = 4;

/// Longest part of a line of the worker in an error text.
constexpr auto excerpt_bytes = std::size_t{200};

/// A call that waits or is being served.
struct pending_call {
  pending_call(worker_call call, completer<result<void>> completed)
      : what{std::move(call)}, done{std::move(completed)} {}
  pending_call(const pending_call&) = delete;
  pending_call& operator=(const pending_call&) = delete;
  ~pending_call() { done(error{errc::cancelled, "cancelled"}); }

  worker_call what;
  completer<result<void>> done; // ignores all results but the first
};

/// A process and the call that it serves.
struct worker_seat {
  worker_seat(std::shared_ptr<worker_process> started, asio::io_context& io)
      : process{std::move(started)}, timer{io} {}

  /// The course is starting, idle, busy, idle, …. A seat that is not idle again after its call is
  /// removed. `tainted` follows busy when the worker must be replaced after its call.
  enum class phase : std::uint8_t { starting, idle, busy, tainted };

  std::shared_ptr<worker_process> process;
  phase is = phase::starting;
  std::shared_ptr<pending_call> call; // null unless busy or tainted
  asio::steady_timer timer;           // timeout of the call
  std::uint64_t generation = 0;       // number of calls; detects a timer that fired too late
  bool has_answered = false;          // whether it has answered a call
};

std::string excerpt_of(std::string_view line) {
  return "'" + shortened(line, excerpt_bytes) + "'";
}

/// Appends what the worker has written to standard error.
std::string with_errors(std::string text, const std::string& errors) {
  return errors.empty() ? std::move(text) : std::move(text) + "; its standard error:\n" + errors;
}

} // namespace

/// The workers and the waiting calls. All members except the constructor and ask_later() are used
/// on the I/O thread only.
class worker_pool::state final : public worker_listener,
                                 public std::enable_shared_from_this<worker_pool::state> {
public:
  state(io_runtime::impl& io, worker_pool_options options)
      : io_{io}, options_{std::move(options)}, stop_timer_{io.io} {
    SUPERSTEP_ASSERT(options_.workers > 0 && !options_.program.argv.empty());
  }
  virtual ~state() = default;

  [[nodiscard]] io_runtime::impl& io() noexcept { return io_; }
  [[nodiscard]] std::chrono::milliseconds stop_grace() const noexcept {
    return options_.stop_grace;
  }

  /// Starts a call, from any thread.
  void ask_later(worker_call call, const completer<result<void>>& done) {
    auto one = std::make_shared<pending_call>(std::move(call), done);
    done.on_abandon([weak = std::weak_ptr{one}, pool = weak_from_this(), &io = io_.io] {
      asio::post(io, [weak, pool] {
        const auto abandoned = weak.lock();
        if (const auto self = pool.lock(); self && abandoned)
          self->abandon(abandoned);
      });
    });
    asio::post(io_.io, [self = shared_from_this(), one = std::move(one)] { self->add(one); });
  }

  /// Ends the pool: cancels all calls, closes the standard input of idle processes and kills the
  /// others. Calls `ended` when no process is left.
  void stop(bool is_gentle, std::function<void()> ended) {
    on_stopped_ = std::move(ended);
    is_stopping_ = true;
    waiting_.clear();
    for (auto& seat : std::exchange(seats_, {})) {
      leaving_.push_back(seat->process);
      if (seat->is == worker_seat::phase::idle && is_gentle)
        seat->process->close_input();
      else
        seat->process->kill();
      if (seat->is == worker_seat::phase::starting)
        leaving_.pop_back(); // it ends without an event
    }
    stop_timer_.expires_after(options_.stop_grace);
    stop_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& failed) {
      for (const auto& process : failed ? decltype(leaving_){} : self->leaving_)
        process->kill();
    });
    finish_stop();
  }

private:
  using seat_ptr = std::unique_ptr<worker_seat>;

  void add(const std::shared_ptr<pending_call>& call) {
    if (is_stopping_ || call->done.abandoned())
      return;
    if (waiting_.size() >= options_.waiting_max)
      return call->done(error{errc::shortage, "too many calls wait for a worker of " + name()});
    waiting_.push_back(call);
    assign_calls();
  }

  [[nodiscard]] std::string name() const { return "\"" + options_.program.argv.front() + "\""; }

  /// Gives waiting calls to idle workers, and starts workers for the calls that remain.
  void assign_calls() {
    while (!waiting_.empty()) {
      const auto idle =
          std::ranges::find(seats_, worker_seat::phase::idle, [](const auto& s) { return s->is; });
      if (idle == seats_.end())
        break;
      const auto call = std::move(waiting_.front());
      waiting_.pop_front();
      if (!call->done.abandoned())
        serve(**idle, call);
    }
    auto starting = static_cast<std::size_t>(std::ranges::count(
        seats_, worker_seat::phase::starting, [](const auto& s) { return s->is; }));
    for (; seats_.size() < options_.workers && starting < waiting_.size(); ++starting) {
      auto process = std::make_shared<worker_process>(io_, options_.program, weak_from_this());
      seats_.push_back(std::make_unique<worker_seat>(process, io_.io));
      // start() may report the end of the start at once, which changes the lists.
      asio::post(io_.io, [process] { process->start(); });
    }
  }

  void serve(worker_seat& seat, std::shared_ptr<pending_call> call) {
    SUPERSTEP_ASSERT(seat.is == worker_seat::phase::idle);
    seat.is = worker_seat::phase::busy;
    seat.call = std::move(call);
    const auto generation = ++seat.generation;
    seat.timer.expires_after(seat.call->what.timeout);
    seat.timer.async_wait([self = shared_from_this(), process = seat.process,
                           generation](const boost::system::error_code& cancelled) {
      if (auto* const late = self->seat_of(*process);
          !cancelled && late && late->call && late->generation == generation)
        self->fail(*late, errc::timed_out,
                   "did not answer within " + std::to_string(late->call->what.timeout.count()) +
                       " ms and was killed");
    });
    if (seat.has_answered) // the first call keeps what the program wrote when it started
      seat.process->forget_errors();
    seat.process->send(seat.call->what.line);
  }

  [[nodiscard]] worker_seat* seat_of(const worker_process& process) noexcept {
    for (const auto& seat : seats_)
      if (seat->process.get() == &process)
        return seat.get();
    return nullptr;
  }

  /// Removes a seat from the list. Its process remains in leaving_ until it has ended.
  [[nodiscard]] seat_ptr remove(worker_seat& seat) {
    const auto at = std::ranges::find(seats_, &seat, &seat_ptr::get);
    SUPERSTEP_ASSERT(at != seats_.end());
    auto out = std::move(*at);
    seats_.erase(at);
    out->timer.cancel();
    return out;
  }

  /// Kills the worker and removes it, so that a new one is started for the next call.
  [[nodiscard]] seat_ptr replace(worker_seat& seat) {
    auto out = remove(seat);
    leaving_.push_back(out->process);
    out->process->kill();
    return out;
  }

  /// Ends the worker's call with an error and replaces the worker.
  void fail(worker_seat& seat, errc code, const std::string& how) {
    const auto gone = replace(seat);
    fail_call(*gone, code, how, gone->process->read_errors_now());
    assign_calls();
  }

  void fail_call(const worker_seat& seat, errc code, const std::string& how,
                 const std::string& errors) {
    const auto is_unusable = !has_answered_ && ++barren_ > barren_workers_max;
    auto text = with_errors("worker " + how, errors);
    if (is_unusable)
      text = "none of its first " + std::to_string(barren_) +
             " workers has answered a call; the last " + text;
    seat.call->done(error{is_unusable ? errc::invalid_argument : code, std::move(text)});
  }

  void abandon(const std::shared_ptr<pending_call>& call) {
    std::erase(waiting_, call);
    const auto seat = std::ranges::find(seats_, call, [](const auto& s) { return s->call; });
    if (seat == seats_.end())
      return;
    static_cast<void>(replace(**seat));
    assign_calls();
  }

  void on_started(worker_process& worker) override {
    auto* const seat = seat_of(worker);
    if (seat == nullptr)
      return worker.kill();
    SUPERSTEP_ASSERT(seat->is == worker_seat::phase::starting);
    seat->is = worker_seat::phase::idle;
    assign_calls();
  }

  void on_start_failed(worker_process& worker, const error& why) override {
    if (auto* const seat = seat_of(worker))
      static_cast<void>(remove(*seat));
    // The other workers serve the calls if the machine only lacks resources for one more.
    if (!seats_.empty() && is_shortage(why.code))
      return;
    for (const auto& call : std::exchange(waiting_, {}))
      call->done(why);
  }

  void on_line(worker_process& worker, std::string_view line, bool is_last) override {
    auto* const seat = seat_of(worker);
    if (seat == nullptr)
      return;                    // a worker that is being killed
    if (seat->call == nullptr) { // no call is open: the line answers nothing
      static_cast<void>(replace(*seat));
      return assign_calls();
    }
    const auto verdict = seat->call->what.judge(line);
    if (verdict.is == line_verdict::kind::stale) {
      seat->is = worker_seat::phase::tainted;
      return;
    }
    if (verdict.is == line_verdict::kind::invalid)
      return fail(*seat, errc::parse_failed,
                  "wrote an invalid answer (" + verdict.why +
                      ") and was killed: " + excerpt_of(line));
    if (!is_last)
      return fail(*seat, errc::parse_failed,
                  "wrote more than one line for one call and was killed; the first is " +
                      excerpt_of(line));
    has_answered_ = true;
    seat->has_answered = true;
    const auto call = std::exchange(seat->call, nullptr);
    seat->timer.cancel();
    if (std::exchange(seat->is, worker_seat::phase::idle) == worker_seat::phase::tainted)
      static_cast<void>(replace(*seat));
    call->done(result<void>{});
    assign_calls();
  }

  /// Whether a call that the worker has not read before it ended goes to another worker: a worker
  /// may exit after an answer, and the first workers may be unable to start.
  [[nodiscard]] bool may_ask_again(const worker_seat& gone) {
    if (gone.has_answered)
      return true;
    if (has_answered_ || barren_ >= barren_workers_max)
      return false;
    ++barren_;
    return true;
  }

  void on_long_line(worker_process& worker) override {
    auto* const seat = seat_of(worker);
    if (seat != nullptr && seat->call)
      fail(*seat, errc::too_large,
           "wrote a line of more than " + std::to_string(options_.program.output_bytes_max) +
               " bytes and was killed");
  }

  void on_ended(worker_process& worker, const std::string& how) override {
    std::erase_if(leaving_, [&](const auto& one) { return one.get() == &worker; });
    if (auto* const seat = seat_of(worker)) {
      const auto gone = remove(*seat);
      if (gone->call && worker.has_unread_line() && may_ask_again(*gone))
        waiting_.push_front(gone->call);
      else if (gone->call)
        fail_call(*gone, errc::io_failed, how, worker.errors());
      assign_calls();
    }
    finish_stop();
  }

  void finish_stop() {
    if (!is_stopping_ || !leaving_.empty())
      return;
    stop_timer_.cancel();
    if (const auto ended = std::exchange(on_stopped_, nullptr))
      ended();
  }

  io_runtime::impl& io_;
  worker_pool_options options_;
  std::vector<seat_ptr> seats_;
  std::vector<std::shared_ptr<worker_process>> leaving_; // processes that are about to end
  std::deque<std::shared_ptr<pending_call>> waiting_;
  asio::steady_timer stop_timer_;
  std::function<void()> on_stopped_;
  int barren_ = 0;            // failed workers before the first answer
  bool has_answered_ = false; // whether any worker has answered a call
  bool is_stopping_ = false;
};

worker_pool::worker_pool(std::shared_ptr<io_runtime> io, worker_pool_options options)
    : io_{std::move(io)}, state_{std::make_shared<state>(io_->get(), std::move(options))} {}

worker_pool::~worker_pool() {
  auto& owner = io_->get();
  if (std::this_thread::get_id() == owner.thread.get_id()) {
    state_->stop(false, nullptr);
    return;
  }
  auto ended = std::make_shared<std::promise<void>>();
  auto waited = ended->get_future();
  asio::post(owner.io,
             [state = state_, ended] { state->stop(true, [ended] { ended->set_value(); }); });
  // Killed processes end at once; the second part is for a machine that is busy.
  constexpr auto kill_grace = std::chrono::seconds{5};
  static_cast<void>(waited.wait_for(state_->stop_grace() + kill_grace));
}

task<result<void>> worker_pool::ask(worker_call call) {
  auto start = [state = state_,
                call = std::move(call)](const completer<result<void>>& done) mutable {
    state->ask_later(std::move(call), done);
  };
  auto asked = await_callback<result<void>>(std::move(start));
  co_return co_await asked;
}

} // namespace superstep
