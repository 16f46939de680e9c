// SPDX-License-Identifier: Apache-2.0
// The thread pool of the Python package, with a stub of Python's lock: jobs from many threads, jobs
// that threads execute themselves, jobs that wait for each other, the end of the pool, and objects
// that threads leave without the lock.
#include "python/src/body_pool.hpp"
#include "python/src/left_objects.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace py = superstep::python;

BOOST_AUTO_TEST_SUITE(body_pool)

namespace {

constexpr auto grace = std::chrono::minutes{1};

/// Number of failed checks of other threads, which must not use Boost.Test.
std::atomic<int> failures{0};

void check(bool holds) {
  if (!holds)
    failures.fetch_add(1);
}

/// Runs a function as a job.
class function_job final : public py::pool_job {
public:
  explicit function_job(std::function<void()> run) : run_{std::move(run)} {}
  void run() noexcept override { run_(); }

private:
  std::function<void()> run_;
};

py::pool_job_ptr job(std::function<void()> run) {
  return py::pool_job_ptr{new function_job{std::move(run)}};
}

/// A count that threads wait for. They change it with the lock of the interpreter or without it.
class counter {
public:
  void add() {
    const auto lock = std::scoped_lock{mutex_};
    ++count_;
    changed_.notify_all();
  }
  void wait_for(std::size_t count) {
    auto lock = std::unique_lock{mutex_};
    changed_.wait(lock, [&] { return count_ >= count; });
  }
  [[nodiscard]] std::size_t get() {
    const auto lock = std::scoped_lock{mutex_};
    return count_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

/// Executes code without the lock of the interpreter, as a body does while it waits.
template <class F>
void without_lock(F f) {
  auto* const state = PyEval_SaveThread();
  f();
  PyEval_RestoreThread(state);
}

/// Starts threads and waits for their end.
void run_threads(std::size_t count, const std::function<void(std::size_t)>& f) {
  auto threads = std::vector<std::thread>{};
  for (auto i = std::size_t{0}; i < count; ++i)
    threads.emplace_back(f, i);
  for (auto& t : threads)
    t.join();
}

/// Passes jobs from many threads to a pool, and checks that each runs once, with the lock.
/// @param pass passes a job to the pool; returns whether it was accepted
void check_that_jobs_run_once(py::body_pool& pool,
                              const std::function<bool(py::pool_job_ptr)>& pass) {
  constexpr auto senders = std::size_t{4};
  constexpr auto each = std::size_t{5'000};
  auto runs = std::vector<int>(senders * each); // not atomic: the lock protects it
  auto ended = counter{};
  run_threads(senders, [&](std::size_t sender) {
    for (auto i = sender * each; i < (sender + 1) * each; ++i)
      check(pass(job([&, i] {
        ++runs[i];
        ended.add();
      })));
  });
  ended.wait_for(senders * each);
  BOOST_TEST(pool.stop(grace));
  BOOST_TEST(failures == 0);
  BOOST_TEST(runs == std::vector<int>(senders * each, 1), boost::test_tools::per_element{});
}

/// Starts a thread that executes a job itself.
std::thread run_here(py::body_pool& pool, std::function<void()> run) {
  return std::thread{
      [&pool, run = std::move(run)]() mutable { check(pool.run_here(job(std::move(run)))); }};
}

PyObject* new_object() {
  ++PyObject::live;
  return new PyObject;
}

/// Returns the number of objects.
long live_objects() {
  interpreter_lock::take();
  const auto out = PyObject::live;
  interpreter_lock::give();
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(pool_runs_each_job_once_with_the_lock) {
  auto pool = py::body_pool{};
  check_that_jobs_run_once(pool, [&](py::pool_job_ptr one) { return pool.add(std::move(one)); });
}

BOOST_AUTO_TEST_CASE(pool_lets_others_in_while_jobs_wait) {
  constexpr auto count = py::body_pool::runners_max;
  auto pool = py::body_pool{};
  auto inside = counter{};
  auto ended = counter{};
  for (auto i = std::size_t{0}; i < count; ++i) // each job waits until all others have started
    BOOST_TEST(pool.add(job([&] {
      without_lock([&] {
        inside.add();
        inside.wait_for(count);
      });
      ended.add();
    })));
  ended.wait_for(count);
  BOOST_TEST(pool.size_max() == count);
  BOOST_TEST(pool.stop(grace));
  BOOST_TEST(pool.size() == 0U);
}

BOOST_AUTO_TEST_CASE(thread_runs_its_job_itself_if_nothing_else_runs) {
  auto pool = py::body_pool{};
  for (auto i = 0; i < 3; ++i) {
    auto ran_on = std::thread::id{};
    BOOST_TEST(pool.run_here(job([&] {
      check(PyGILState_Check() == 1);
      ran_on = std::this_thread::get_id();
      check(pool.size() == 1);
    })));
    BOOST_TEST((ran_on == std::this_thread::get_id()));
    BOOST_TEST(PyGILState_Check() == 0);
  }
  BOOST_TEST(pool.size() == 0U);
  BOOST_TEST(pool.size_max() == 1U); // no runner was started
  BOOST_TEST(pool.stop(grace));
  BOOST_TEST(!pool.run_here(job([] { check(false); })));
  BOOST_TEST(failures == 0);
}

BOOST_AUTO_TEST_CASE(jobs_run_once_here_or_by_runners) {
  auto pool = py::body_pool{};
  auto here = std::atomic<std::size_t>{0};
  check_that_jobs_run_once(pool, [&](const py::pool_job_ptr& one) {
    if (!pool.run_here(one))
      return pool.add(one);
    ++here;
    return true;
  });
  BOOST_TEST(here > 0U);
}

BOOST_AUTO_TEST_CASE(runner_takes_jobs_while_a_thread_waits_in_its_own) {
  auto pool = py::body_pool{};
  auto inside = counter{};
  auto done = counter{};
  auto waiting = run_here(pool, [&] {
    without_lock([&] {
      inside.add();
      done.wait_for(1);
    });
  });
  inside.wait_for(1);
  BOOST_TEST(!pool.run_here(job([] { check(false); })));
  BOOST_TEST(pool.add(job([&] { done.add(); })));
  waiting.join();
  BOOST_TEST(pool.stop(grace));
  BOOST_TEST(failures == 0);
}

BOOST_AUTO_TEST_CASE(runner_takes_jobs_that_arrive_while_a_thread_uses_the_lock) {
  auto pool = py::body_pool{};
  auto inside = counter{};
  auto added = counter{};
  auto done = counter{};
  auto busy = run_here(pool, [&] { // keeps the lock
    inside.add();
    added.wait_for(1);
  });
  inside.wait_for(1);
  BOOST_TEST(pool.add(job([&] { done.add(); })));
  added.add();
  busy.join();
  done.wait_for(1);
  BOOST_TEST(pool.stop(grace));
  BOOST_TEST(failures == 0);
}

BOOST_AUTO_TEST_CASE(pool_waits_at_its_end_for_jobs_of_other_threads) {
  auto pool = py::body_pool{};
  auto inside = counter{};
  auto release = counter{};
  auto guest = run_here(pool, [&] {
    const auto outside = py::body_pool::outside_scope{pool};
    inside.add();
    release.wait_for(1);
  });
  inside.wait_for(1);
  BOOST_TEST(!pool.stop(std::chrono::milliseconds{20}));
  release.add();
  BOOST_TEST(pool.stop(grace));
  guest.join();
  BOOST_TEST(failures == 0);
}

BOOST_AUTO_TEST_CASE(pool_runs_more_jobs_than_runners_that_wait_outside) {
  constexpr auto count = std::size_t{200};
  auto pool = py::body_pool{};
  auto inner = counter{};
  auto ended = counter{};
  for (auto i = std::size_t{0}; i < count;
       ++i) // each job waits for a job that is queued behind all
    BOOST_TEST(pool.add(job([&] {
      check(pool.add(job([&] { inner.add(); })));
      {
        const auto outside = py::body_pool::outside_scope{pool};
        inner.wait_for(count);
      }
      check(PyGILState_Check() == 1);
      ended.add();
    })));
  ended.wait_for(count);
  BOOST_TEST(pool.size_max() > py::body_pool::runners_max);
  BOOST_TEST(pool.stop(grace));
  BOOST_TEST(failures == 0);
}

BOOST_AUTO_TEST_CASE(pool_runs_or_drops_each_job_when_it_stops) {
  for (auto round = 0; round < 20; ++round) {
    auto pool = py::body_pool{};
    auto ran = counter{};
    auto refused = counter{};
    auto dropped = counter{};
    // The deleter counts the jobs, whether they have run or not.
    const auto counted = [&] {
      return job([&, token = std::shared_ptr<void>{nullptr, [&](void*) { dropped.add(); }}] {
        ran.add();
      });
    };
    constexpr auto senders = std::size_t{3};
    constexpr auto each = std::size_t{500};
    run_threads(senders + 1, [&](std::size_t at) {
      if (at == senders) {
        ran.wait_for(10);
        check(pool.stop(grace));
        return;
      }
      for (auto i = std::size_t{0}; i < each; ++i)
        if (!pool.add(counted()))
          refused.add();
    });
    BOOST_TEST(dropped.get() == senders * each);
    BOOST_TEST(ran.get() + refused.get() <= senders * each);
    BOOST_TEST(!pool.add(job([] {})));
    BOOST_TEST(failures == 0);
  }
}

BOOST_AUTO_TEST_CASE(objects_left_without_the_lock_are_released_by_runners) {
  constexpr auto senders = std::size_t{4};
  constexpr auto each = std::size_t{2'000};
  auto pool = py::body_pool{};
  auto ended = counter{};
  run_threads(senders, [&](std::size_t) {
    for (auto i = std::size_t{0}; i < each; ++i) {
      interpreter_lock::take();
      auto* const made = new_object();
      interpreter_lock::give();
      py::leave(made);
      check(pool.add(job([&] {
        py::leave(new_object()); // released at once, because the lock is held
        ended.add();
      })));
    }
  });
  ended.wait_for(senders * each);
  BOOST_TEST(pool.stop(grace));
  BOOST_TEST(failures == 0);
  BOOST_TEST(live_objects() == 0);
}

BOOST_AUTO_TEST_CASE(objects_left_before_a_fork_stay) {
  interpreter_lock::take();
  auto* const made = new_object();
  interpreter_lock::give();
  py::leave(made);
  py::forget_left_objects();
  interpreter_lock::take();
  py::drop_left_objects();
  BOOST_TEST(PyObject::live == 1);
  Py_DECREF(made);
  interpreter_lock::give();
}

BOOST_AUTO_TEST_SUITE_END()
