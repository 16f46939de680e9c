// SPDX-License-Identifier: Apache-2.0
// The thread pool of an engine. Its threads take orders from a queue: serve a lane, run jobs, or
// complete a refused run. Lanes order job threads (lane_bodies.cpp). The watcher orders threads for
// lanes whose thread is blocked, and controls the number of job threads (watcher.cpp).
#include "thread_pool.hpp"

#include "engine_core.hpp"
#include "engine_scope.hpp"
#include "serial_body.hpp"
#include "warning.hpp"

#include <algorithm>
#include <system_error>

namespace superstep {

namespace {

/// Number of watcher polls without a finished job after which one more job thread is started. The
/// running bodies may be spinning until a queued body has run.
constexpr auto polls_before_one_more = 20U;

/// Pause after the system has refused to start a thread.
constexpr auto retry_time = std::chrono::milliseconds{20};

/// The longest part of the grace period that is kept for the callbacks of runs that a blocked lane
/// has not started. It is an eighth of shorter grace periods.
constexpr auto refusal_time_max = std::chrono::milliseconds{500};

/// Bodies shorter than this are run in place, because passing a body to another thread takes about
/// as long.
constexpr auto short_body = std::chrono::microseconds{20};

} // namespace

bool worker::is_blocked() {
  const auto clock = clock_.load(std::memory_order_relaxed);
  const auto used = clock.used();
  return used && std::exchange(used_, *used) == *used && !clock.is_runnable();
}

thread_pool::thread_pool(detail::engine_core& core, const engine_options& options)
    : core_{core}, threads_max_{options.threads_max}, computing_max_{options.workers},
      idle_time_{options.thread_idle_time}, hung_after_{options.hung_after},
      hung_threads_max_{options.hung_threads_max}, short_serial_body_{options.watcher_tick} {}

bool thread_pool::can_serve() {
  const auto lock = std::scoped_lock{mutex_};
  surplus_ = 0; // so that the idle thread does not retire before serve() uses it
  return idle_ > orders_.size() || (may_grow() && start_member());
}

/// Whether another thread may be started for a lane. During shutdown the bound does not apply: if a
/// lane is blocked in a body, only another thread can complete its runs.
bool thread_pool::may_grow() const noexcept {
  return members_.size() < limit() || (stopping_ && !is_over_);
}

void thread_pool::serve(lane& l, bool took_over) {
  const auto lock = std::scoped_lock{mutex_};
  give({&l, took_over});
}

/// Orders one more thread to run jobs. Returns false if no thread is idle and none can be started.
bool thread_pool::give_jobs_order() {
  if (idle_ <= orders_.size() && (members_.size() >= limit() || !start_member()))
    return false;
  ++at_jobs_;
  give({});
  return true;
}

void thread_pool::give(order o) {
  // Lanes come first, because a lane without a thread delays all of its runs.
  if (o.to_serve != nullptr)
    orders_.push_front(o);
  else
    orders_.push_back(o);
  // If no thread can be started, the next idle thread takes the order.
  if (orders_.size() > idle_ && (o.to_serve != nullptr ? may_grow() : members_.size() < limit()))
    static_cast<void>(start_member());
  changed_.notify_one();
}

/// Starts a thread and counts it as idle at once, so that the next order finds it. Returns false if
/// the system refuses a thread; the engine then continues with the threads that it has.
bool thread_pool::start_member() {
  const auto now = std::chrono::steady_clock::now();
  if (is_over_ || now < retry_at_)
    return false;
  members_.reserve(members_.size() + 1); // a thread that has started must not be lost
  auto made = std::make_unique<worker>();
  try {
    made->thread_ =
        std::thread{[this, self = made.get(), keep = core_.shared_from_this()] { work(*self); }};
  } catch (const std::system_error&) { // the limit of processes, or no memory for a stack
    retry_at_ = now + retry_time;
    if (!std::exchange(has_warned_of_refusal_, true))
      warn("the system refuses a thread, so the engine continues with " +
           std::to_string(members_.size()) +
           ", and runs may wait for bodies that block: raise the limit of processes (ulimit -u)");
    return false;
  }
  members_.push_back(std::move(made));
  ++idle_;
  return true;
}

void thread_pool::work(worker& self) {
  const auto scope = engine_scope{};
  core_.cores().confine_thread();
  self.clock_.store(thread_clock::of_this_thread(), std::memory_order_relaxed);
  auto lock = std::unique_lock{mutex_}; // start_member() has counted this thread as idle
  for (;; ++idle_) {
    changed_.wait(lock, [this] {
      return stopping_ || !orders_.empty() || !refused_.empty() || is_surplus();
    });
    SUPERSTEP_ASSERT(idle_ > 0);
    --idle_;
    idle_min_ = std::min(idle_min_, idle_);
    if (!refused_.empty()) {
      answer_refused(lock);
      continue;
    }
    if (orders_.empty() && !stopping_) {
      retire(self, lock);
      return;
    }
    if (orders_.empty())
      break;
    const auto next = orders_.front();
    orders_.pop_front();
    lock.unlock();
    if (next.to_serve != nullptr) {
      self.at.store(duty::lane, std::memory_order_relaxed);
      next.to_serve->serve(self, next.took_over);
    } else {
      run_jobs(self);
    }
    self.at.store(duty::idle, std::memory_order_relaxed);
    lock.lock();
  }
  self.clock_.store({}, std::memory_order_relaxed);
  ++ended_;
  changed_.notify_all();
}

/// Whether a thread without an order should end. One idle thread is kept for each pending order.
bool thread_pool::is_surplus() const noexcept {
  return surplus_ > 0 && idle_ > orders_.size();
}

/// Removes the calling thread from the pool and destroys its record `self`. The thread cannot join
/// itself, so it joins the thread that retired before it.
void thread_pool::retire(worker& self, std::unique_lock<std::mutex>& lock) {
  SUPERSTEP_ASSERT(surplus_ > 0 && !stopping_);
  --surplus_;
  auto before = std::exchange(retired_, std::move(self.thread_));
  std::erase_if(members_, [&](const auto& m) { return m.get() == &self; });
  lock.unlock();
  if (before.joinable())
    before.join(); // does not block: that thread has left the pool and holds no lock
}

/// Lets surplus threads end: all but one of those that were idle during the whole last period.
void thread_pool::find_surplus() {
  const auto now = std::chrono::steady_clock::now();
  if (now - idle_since_ < idle_time_)
    return;
  const auto is_first = idle_since_ == std::chrono::steady_clock::time_point{};
  idle_since_ = now;
  surplus_ = is_first || idle_min_ == 0 ? 0 : idle_min_ - 1;
  idle_min_ = idle_;
  if (surplus_ > 0)
    changed_.notify_all();
}

void thread_pool::refuse(run_request&& request) noexcept {
  {
    const auto lock = std::scoped_lock{mutex_};
    if (is_over_) // the engine was destroyed; its callbacks must not be called any more
      return;
    refused_.push_back(std::move(request));
    provide_answerer();
  }
  changed_.notify_one();
}

namespace {

void call_back_refused(run_request& request) {
  auto raw = detail::raw_result{};
  raw.error =
      make_run_error(graph_errc::cancelled, run_in_text(*request.config) +
                                                " was not started: the engine is shutting down");
  call_back(request.done, std::move(raw));
}

} // namespace

/// Completes one refused run. The run's callback may submit another run, which is refused and
/// queued in turn. Such a chain therefore does not grow the stack.
void thread_pool::answer_refused(std::unique_lock<std::mutex>& lock) {
  auto request = std::move(refused_.front());
  refused_.pop_front();
  ++answering_;
  lock.unlock();
  call_back_refused(request);
  request = {};
  lock.lock();
  --answering_;
}

/// Starts a thread for the refused runs if no other will complete them soon: during shutdown, idle
/// threads end.
void thread_pool::provide_answerer() {
  if (stopping_ && !refused_.empty() && idle_ == 0 && answering_ == 0)
    static_cast<void>(start_member());
}

bool thread_pool::add_job(call& c) {
  SUPERSTEP_ASSERT(c.phase == call_phase::job);
  const auto lock = std::scoped_lock{mutex_};
  if (at_jobs_ < computing_max_ && !give_jobs_order() && at_jobs_ == 0) {
    // No thread runs jobs, and no idle thread takes the order. A thread that runs a body outside
    // a lane will run them when its body returns. If there is no such thread either, the job is
    // refused. This happens only if the system does not allow more threads.
    const auto comes_back = [](const auto& m) {
      return m->at.load(std::memory_order_relaxed) == duty::body;
    };
    if (std::ranges::none_of(members_, comes_back))
      return false;
    ++at_jobs_;
    give({});
  }
  jobs_.push_back(&c);
  return true;
}

call* thread_pool::next_job() {
  const auto lock = std::scoped_lock{mutex_};
  if (jobs_.empty()) {
    SUPERSTEP_ASSERT(at_jobs_ > 0);
    --at_jobs_;
    return nullptr;
  }
  auto* const c = jobs_.front();
  jobs_.pop_front();
  return c;
}

/// Whether the body that the calling thread has run is run in place the next time.
bool thread_pool::is_short(std::chrono::nanoseconds taken) const noexcept {
  const auto held = serial_body::take();
  return held ? *held < short_serial_body_ : taken < short_body;
}

void thread_pool::run_jobs(worker& self) {
  while (auto* const c = next_job()) {
    const auto begin = std::chrono::steady_clock::now();
    self.begin_body(begin);
    if (c->claim()) {
      static_cast<void>(serial_body::take()); // of a body that has run on a lane
      c->advance({});
      if (c->has_ended() && is_short(std::chrono::steady_clock::now() - begin))
        c->progress = body_progress::ended_quickly;
    }
    c->return_to_lane();
    const auto lock = std::scoped_lock{mutex_};
    ++jobs_done_;
  }
}

std::string thread_pool::note_hung(std::size_t hung) {
  hung_.store(hung, std::memory_order_relaxed);
  const auto at_limit = hung >= hung_threads_max_;
  if (hung == 0 || hung_warned_ >= std::max(hung_threads_max_, std::size_t{1}) ||
      (hung_warned_ > 0 && !at_limit))
    return {};
  hung_warned_ = at_limit ? std::max(hung_threads_max_, std::size_t{1}) : hung;
  const auto ms = std::to_string(hung_after_.count());
  auto text = std::to_string(hung) + (hung == 1 ? " body has" : " bodies have") +
              " been running for more than " + ms + " ms (engine_options::hung_after), ";
  text += at_limit ? "and the threads of further ones are not replaced "
                     "(engine_options::hung_threads_max), so runs may have to wait"
                   : "so their threads are replaced, up to " + std::to_string(hung_threads_max_) +
                         " (engine_options::hung_threads_max)";
  return text + ": set timeouts in what the bodies call";
}

void thread_pool::pace() {
  auto lock = std::unique_lock{mutex_};
  find_surplus();
  const auto latest = std::chrono::steady_clock::now() - hung_after_;
  auto computing = std::size_t{0};
  auto blocked = std::size_t{0};
  auto hung = std::size_t{0};
  for (const auto& m : members_) {
    if (m->at.load(std::memory_order_relaxed) != duty::body)
      continue;
    if (m->is_hung(latest))
      ++hung;
    else if (m->is_blocked())
      ++blocked;
    else
      ++computing;
  }
  const auto warning = note_hung(hung);
  start_job_threads(computing, blocked);
  lock.unlock();
  if (!warning.empty())
    warn(warning);
}

/// Orders threads for queued jobs.
/// @param computing number of threads whose bodies use the CPU
/// @param blocked number of threads whose bodies are blocked
void thread_pool::start_job_threads(std::size_t computing, std::size_t blocked) {
  if (jobs_.empty()) {
    polls_without_progress_ = 0;
    return;
  }
  auto more = computing < computing_max_ ? computing_max_ - computing : 0;
  if (computing == 0) // all job threads are blocked, so their number is doubled until some are not
    more = std::max(more, blocked);
  if (std::exchange(jobs_done_seen_, jobs_done_) != jobs_done_) {
    polls_without_progress_ = 0;
  } else if (++polls_without_progress_ >= polls_before_one_more) {
    more = std::max(more, std::size_t{1});
    polls_without_progress_ = 0;
  }
  more = std::min(more, jobs_.size());
  // Some threads are reserved for lanes.
  const auto reserve = std::min<std::size_t>(threads_max_ / 8, 8);
  while (more > 0 && at_jobs_ + reserve < limit() && give_jobs_order())
    --more;
}

bool thread_pool::is_busy() {
  const auto lock = std::scoped_lock{mutex_};
  return at_jobs_ > 0 || !jobs_.empty() || !orders_.empty();
}

/// Waits until all threads have ended, all refused runs are completed, and no result waits for a
/// checkpointer. Returns false if that is not so at the time `until`.
bool thread_pool::await_end(std::unique_lock<std::mutex>& lock,
                            std::chrono::steady_clock::time_point until) {
  auto& late = *core_.late();
  while (changed_.wait_until(lock, until,
                             [this] { return ended_ == members_.size() && refused_.empty(); })) {
    // A result counts until its callback has returned, and the callback cannot submit a run while
    // this thread has the lock.
    if (late.is_empty())
      return true;
    lock.unlock();
    const auto has_emptied = late.await_empty(until);
    lock.lock();
    if (!has_emptied)
      return false;
  }
  return false;
}

void thread_pool::stop(std::chrono::milliseconds grace) {
  const auto over_at = std::chrono::steady_clock::now() + grace;
  auto lock = std::unique_lock{mutex_};
  stopping_ = true;
  changed_.notify_all();
  provide_answerer();
  static_cast<void>(await_end(lock, over_at - std::min(grace / 8, refusal_time_max)));
  lock.unlock();
  core_.close_lanes(); // for lanes whose threads are still inside a body or a callback
  lock.lock();
  // The thread that completes refused runs may be blocked in a callback, so another one continues.
  // This thread does it only if the system refuses a thread.
  if (!refused_.empty() && !start_member())
    while (!refused_.empty() && std::chrono::steady_clock::now() < over_at)
      answer_refused(lock);
  static_cast<void>(await_end(lock, over_at));
  const auto all_ended = ended_ == members_.size();
  is_over_ = true;
  core_.late()->close();
  const auto unanswered = std::exchange(refused_, {}); // destroyed without the lock
  auto members = std::vector<std::thread>{};
  for (auto& m : members_)
    members.push_back(std::move(m->thread_));
  auto retired = std::exchange(retired_, {});
  lock.unlock();
  if (retired.joinable())
    retired.join();
  for (auto& t : members) {
    // A body or a callback that never returns keeps its thread. The destructor of the engine does
    // not wait for it.
    if (all_ended)
      t.join();
    else
      t.detach();
  }
}

} // namespace superstep
