// SPDX-License-Identifier: Apache-2.0
// The threads that run Python code: a queue of jobs, runners that hold the GIL in turn, and a
// watcher that decides how many runners may work.
#include "body_pool.hpp"

#include "actors/serial_body.hpp"
#include "left_objects.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace superstep::python {

namespace {

/// Looks of the watcher at an empty queue after which it sleeps. It stays awake for a while,
/// because waking it costs the thread that queues a job more than the looks.
constexpr auto looks_before_sleep = 20U;

/// The thread state of Python for a thread that C++ has started. Holds the GIL between enter() and
/// leave().
class python_thread {
public:
  python_thread() : ensured_{PyGILState_Ensure()}, state_{PyEval_SaveThread()} {}
  python_thread(const python_thread&) = delete;
  python_thread& operator=(const python_thread&) = delete;
  ~python_thread() {
    PyEval_RestoreThread(state_);
    PyGILState_Release(ensured_);
  }
  void enter() { PyEval_RestoreThread(state_); }
  void leave() { state_ = PyEval_SaveThread(); }

private:
  PyGILState_STATE ensured_;
  PyThreadState* state_;
};

/// The runner that a thread is. A thread that has forked is a runner of its parent's pool.
struct runner_of_thread {
  body_pool* pool = nullptr;
  void* runner = nullptr;
};
thread_local runner_of_thread this_thread;

} // namespace

/// A thread of the engine that executes jobs itself.
class body_pool::guest {
public:
  /// Returns the object of the calling thread. It is destroyed when the thread ends.
  static guest& of_this_thread() {
    static thread_local auto here = guest{};
    return here;
  }
  /// Takes the GIL.
  void enter() {
    if (!python_)
      python_.emplace();
    python_->enter();
  }
  /// Releases the GIL.
  void leave() { python_->leave(); }
  [[nodiscard]] runner& record() noexcept { return record_; }

private:
  guest() { record_.clock.store(thread_clock::of_this_thread(), std::memory_order_relaxed); }

  runner record_;
  std::optional<python_thread> python_;
};

body_pool::body_pool() {
  std::thread{[this] { watch(); }}.detach();
}

body_pool::~body_pool() = default;

bool body_pool::add(pool_job_ptr job) {
  const auto lock = std::scoped_lock{mutex_};
  if (stopping_)
    return false;
  jobs_.push_back(std::move(job));
  if (active_ == 0)
    admit(1);
  else
    wake_watcher();
  return true;
}

bool body_pool::run_here(pool_job_ptr job) {
  auto& self = guest::of_this_thread();
  {
    const auto lock = std::scoped_lock{mutex_};
    if (stopping_ || active_ > 0 || !jobs_.empty() || runners_.size() == runners_max)
      return false;
    guests_.push_back(&self.record());
    size_max_ = std::max(size_max_, runners_.size() + guests_.size());
    ++active_;
    self.record().cpu_ns = -1;
    self.record().at.store(phase::waits_for_gil, std::memory_order_relaxed);
  }
  this_thread = {this, &self.record()};
  self.enter();
  self.record().at.store(phase::inside, std::memory_order_relaxed);
  const auto begin = std::chrono::steady_clock::now();
  job->run();
  job.reset();
  drop_left_objects();
  serial_body::report(std::chrono::steady_clock::now() - begin);
  self.leave();
  this_thread = {};
  const auto lock = std::scoped_lock{mutex_};
  self.record().at.store(phase::idle, std::memory_order_relaxed);
  std::erase(guests_, &self.record());
  --active_;
  ++jobs_done_;
  if (stopping_)
    ended_.notify_all();
  else if (!jobs_.empty() && active_ == 0)
    admit(1);
  return true;
}

/// Lets further runners execute jobs: idle ones, or new ones.
void body_pool::admit(std::size_t more) {
  for (; more > 0 && active_ < room_; --more) {
    if (idle_ > admitted_) {
      ++admitted_;
      admitted_changed_.notify_one();
    } else if (!start_runner()) {
      if (active_ == 0)
        wake_watcher(); // which tries again
      return;
    }
    ++active_;
  }
}

bool body_pool::start_runner() {
  auto made = std::make_unique<runner>();
  try {
    std::thread{[this, self = made.get()] { work(*self); }}.detach();
  } catch (const std::system_error&) { // the system refuses a thread; the watcher tries again
    return false;
  }
  runners_.push_back(std::move(made));
  size_max_ = std::max(size_max_, runners_.size() + guests_.size());
  return true;
}

/// Counts the calling runner as outside, if possible, and admits another one for the queued jobs.
body_pool::runner* body_pool::go_outside() {
  if (this_thread.pool != this)
    return nullptr;
  auto* const self = static_cast<runner*>(this_thread.runner);
  const auto lock = std::scoped_lock{mutex_};
  if (outside_ == outside_max)
    return nullptr;
  self->at.store(phase::outside, std::memory_order_relaxed);
  --active_;
  ++outside_;
  if (!jobs_.empty() && active_ == 0 && !stopping_)
    admit(1);
  return self;
}

void body_pool::come_back(runner& self) {
  const auto lock = std::scoped_lock{mutex_};
  self.at.store(phase::waits_for_gil, std::memory_order_relaxed);
  --outside_;
  ++active_; // may exceed runners_max until other runners have ended their jobs
}

body_pool::outside_scope::outside_scope(body_pool& pool)
    : pool_{pool}, state_{PyEval_SaveThread()}, self_{pool.go_outside()} {}

body_pool::outside_scope::~outside_scope() {
  if (self_ != nullptr)
    pool_.come_back(*self_);
  PyEval_RestoreThread(state_);
  if (self_ != nullptr)
    self_->at.store(phase::inside, std::memory_order_relaxed);
}

bool body_pool::has_room_outside() const {
  const auto lock = std::scoped_lock{mutex_};
  return outside_ < outside_max;
}

void body_pool::work(runner& self) {
  this_thread = {this, &self};
  self.at.store(phase::waits_for_gil, std::memory_order_relaxed);
  self.clock.store(thread_clock::of_this_thread(), std::memory_order_relaxed);
  {
    auto python = python_thread{};
    for (auto may_stay = true; may_stay;) {
      self.at.store(phase::waits_for_gil, std::memory_order_relaxed);
      python.enter();
      self.at.store(phase::inside, std::memory_order_relaxed);
      run_jobs(self);
      python.leave();
      self.at.store(phase::idle, std::memory_order_relaxed);
      auto lock = std::unique_lock{mutex_};
      if (!jobs_.empty() && !stopping_ && !std::exchange(self.yields, false))
        continue;
      --active_;
      ++idle_;
      may_stay = admitted_changed_.wait_for(lock, idle_time, [this] {
        return admitted_ > 0 || stopping_;
      }) && !stopping_;
      --idle_;
      if (may_stay)
        --admitted_; // admit() has counted this thread as active
    }
  }
  const auto lock = std::scoped_lock{mutex_};
  std::erase_if(runners_, [&](const auto& r) { return r.get() == &self; });
  ended_.notify_all();
}

/// Executes jobs until the queue is empty, or other runners are enough. The thread holds the GIL.
void body_pool::run_jobs(runner& self) {
  while (auto job = next_job(self)) {
    job->run();
    job.reset();
    drop_left_objects();
  }
  drop_left_objects();
}

pool_job_ptr body_pool::next_job(runner& self) {
  const auto lock = std::scoped_lock{mutex_};
  if (jobs_.empty() || stopping_)
    return {};
  if (surplus_ > 0) {
    --surplus_;
    self.yields = true;
    return {};
  }
  auto job = std::move(jobs_.front());
  jobs_.pop_front();
  ++jobs_done_;
  return job;
}

void body_pool::wake_watcher() {
  if (!std::exchange(is_watching_, true))
    watcher_wanted_.notify_one();
}

/// The watcher: looks at the runners while jobs are queued.
void body_pool::watch() {
  auto lock = std::unique_lock{mutex_};
  for (auto idle_looks = 0U; !stopping_;) {
    if (jobs_.empty() && ++idle_looks > looks_before_sleep) {
      is_watching_ = false;
      room_ = runners_max;
      watcher_wanted_.wait(lock, [this] { return is_watching_ || stopping_; });
      stalled_since_ = std::chrono::steady_clock::now();
    }
    watcher_wanted_.wait_for(lock, tick, [this] { return stopping_; });
    if (stopping_ || jobs_.empty())
      continue;
    idle_looks = 0;
    const auto seen = look();
    const auto more = wanted(seen);
    const auto competing = seen.burning + seen.waiting;
    surplus_ = competing > 1 && !is_without_progress_ ? competing - 1 : 0;
    admit(std::min(more, jobs_.size()));
  }
  watcher_ended_ = true;
  ended_.notify_all();
}

body_pool::sight body_pool::look() {
  auto out = sight{};
  const auto now = std::chrono::steady_clock::now();
  since_last_look_ = std::chrono::nanoseconds{now - std::exchange(looked_at_, now)}.count();
  for (const auto& r : runners_)
    look_at(*r, out);
  for (auto* const r : guests_)
    look_at(*r, out);
  return out;
}

void body_pool::look_at(runner& r, sight& seen) const noexcept {
  switch (r.at.load(std::memory_order_relaxed)) {
  case phase::idle:
  case phase::outside:
    r.cpu_ns = -1;
    break;
  case phase::waits_for_gil:
    r.cpu_ns = -1;
    ++seen.waiting;
    break;
  case phase::inside:
    ++(is_blocked(r, seen.cpu_ns) ? seen.blocked : seen.burning);
    break;
  }
}

/// Returns the number of further runners to admit.
std::size_t body_pool::wanted(const sight& seen) {
  const auto has_progressed = std::exchange(jobs_done_seen_, jobs_done_) != jobs_done_;
  cpu_without_progress_ = has_progressed ? 0 : cpu_without_progress_ + seen.cpu_ns;
  is_without_progress_ = is_without_progress_ && !has_progressed;
  if (has_progressed || active_ < room_ ||
      cpu_without_progress_ >= std::chrono::nanoseconds{spinning_time}.count())
    stalled_since_ = looked_at_;
  widen_if_stalled();
  if (active_ == 0)
    return 1;
  if (seen.waiting > 0) // another thread has the GIL, so one more runner would wait too
    return 0;
  if (seen.burning == 0)
    return seen.blocked;
  if (cpu_without_progress_ < std::chrono::nanoseconds{spinning_time}.count())
    return 0;
  cpu_without_progress_ = 0;
  is_without_progress_ = true;
  return 1;
}

/// Lets more runners work if all of them may wait for each other's runs. The jobs before those of
/// these runs in the queue may wait, too, so the number grows until the queue is empty.
void body_pool::widen_if_stalled() {
  if (looked_at_ - stalled_since_ < stall_time || runs_elsewhere.load() == 0)
    return;
  stalled_since_ = looked_at_;
  room_ = std::min(2 * room_, runners_max + outside_max);
}

/// Whether a runner has used the CPU for less than half of the time since the last look, and
/// neither runs nor waits for a core. Adds the CPU time that it has used to `cpu_ns`.
///
/// A body that polls uses some CPU time at each look but is blocked.
bool body_pool::is_blocked(runner& r, std::int64_t& cpu_ns) const noexcept {
  const auto clock = r.clock.load(std::memory_order_relaxed);
  const auto used = clock.used();
  if (!used)
    return false;
  const auto before = std::exchange(r.cpu_ns, used->count());
  if (before < 0) // the first look at this job
    return false;
  cpu_ns += r.cpu_ns - before;
  return r.cpu_ns - before < since_last_look_ / 2 && !clock.is_runnable();
}

bool body_pool::stop(std::chrono::milliseconds grace) {
  auto dropped = std::deque<pool_job_ptr>{}; // destroyed without the lock
  auto lock = std::unique_lock{mutex_};
  stopping_ = true;
  dropped.swap(jobs_);
  admitted_changed_.notify_all();
  watcher_wanted_.notify_all();
  return ended_.wait_for(lock, grace,
                         [this] { return runners_.empty() && guests_.empty() && watcher_ended_; });
}

std::size_t body_pool::size() const {
  const auto lock = std::scoped_lock{mutex_};
  return runners_.size() + guests_.size();
}

std::size_t body_pool::size_max() const {
  const auto lock = std::scoped_lock{mutex_};
  return size_max_;
}

} // namespace superstep::python
