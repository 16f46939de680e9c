// SPDX-License-Identifier: Apache-2.0
// The queue between the engine, which ends runs, and the Python threads that wait for them.
#include "results.hpp"

#include "process.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace superstep::python {

namespace {

/// Longest time for which a waiting thread does not handle signals.
constexpr auto signal_interval = std::chrono::milliseconds{50};

/// The largest number of results that take() gathers, the largest part of the runs, because the
/// others must keep the engine busy, and the time for which it waits after the first result.
constexpr auto gathered_max = std::size_t{32};
constexpr auto gathered_part = std::size_t{4};
constexpr auto gather_time = std::chrono::milliseconds{1};

/// Calls the notification of a queue.
class notify_job final : public pool_job {
public:
  explicit notify_job(shared_object function) : function_{std::move(function)} {}
  void run() noexcept override {
    if (auto* const done = PyObject_CallNoArgs(function_.get().ptr()); done != nullptr)
      Py_DECREF(done);
    else
      PyErr_WriteUnraisable(function_.get().ptr()); // the event loop was closed
  }

private:
  shared_object function_;
};

/// The code that the calling thread executes in an engine_scope; null outside of it.
thread_local const char* engine_code = nullptr;

} // namespace

engine_scope::engine_scope(const char* code) noexcept : before_{std::exchange(engine_code, code)} {}

engine_scope::~engine_scope() {
  engine_code = before_;
}

const char* status_name(run_status status) noexcept {
  switch (status) {
  case run_status::finished:
    return "finished";
  case run_status::interrupted:
    return "interrupted";
  case run_status::failed:
    break;
  }
  return "failed";
}

void result_queue::put(std::int64_t tag, maker make) {
  auto notified = shared_object{};
  auto is_enough = false;
  {
    const auto lock = std::scoped_lock{mutex_};
    if (results_.empty())
      notified = notify_;
    results_.emplace_back(tag, std::move(make));
    is_enough = results_.size() >= wanted_;
  }
  if (is_enough)
    arrived_.notify_one();
  if (notified)
    process::bodies().add(new notify_job{std::move(notified)});
}

void result_queue::set_notify(nb::object notify) {
  const auto lock = std::scoped_lock{mutex_};
  notify_ = shared_object{notify};
}

nb::list result_queue::take(double seconds, std::size_t runs) {
  using clock = std::chrono::steady_clock;
  if (engine_code != nullptr)
    throw std::runtime_error{std::string{engine_code} +
                             " must not wait for a run, because the engine waits for it"};
  const auto has_limit = seconds >= 0;
  const auto gathered = std::min(runs / gathered_part, gathered_max);
  const auto end =
      clock::now() + std::chrono::duration_cast<clock::duration>(
                         std::chrono::duration<double>(has_limit ? std::min(seconds, 1e8) : 0.0));
  auto taken = decltype(results_){};
  static_cast<void>(process::get()); // the pool exists from here on
  for (;;) {
    {
      // the run may need the pool, if a node or a tool waits here for a run of its own
      const auto outside = body_pool::outside_scope{process::bodies()};
      auto lock = std::unique_lock{mutex_};
      auto until = clock::now() + signal_interval;
      if (has_limit)
        until = std::min(until, end);
      arrived_.wait_until(lock, until, [this] { return !results_.empty(); });
      if (!results_.empty() && results_.size() < gathered) {
        wanted_ = gathered;
        arrived_.wait_for(lock, gather_time, [this] { return results_.size() >= wanted_; });
        wanted_ = 1;
      }
    }
    if (PyErr_CheckSignals() != 0)
      throw nb::python_error();
    {
      const auto lock = std::scoped_lock{mutex_};
      taken.swap(results_);
    }
    if (!taken.empty() || (has_limit && clock::now() >= end))
      break;
  }
  drop_left_objects();
  auto out = nb::list();
  for (auto& [tag, make] : taken)
    out.append(nb::make_tuple(tag, make()));
  return out;
}

live_run::live_run(process& in) noexcept
    : in_{in}, elsewhere_{::gettid() == ::getpid() ? nullptr : &process::bodies()} {
  in_.live_runs.fetch_add(1, std::memory_order_relaxed);
  if (elsewhere_ != nullptr)
    elsewhere_->runs_elsewhere.fetch_add(1, std::memory_order_relaxed);
}

void live_run::cancel() noexcept {
  auto was = phase::live;
  in_.cancelled_runs.fetch_add(1, std::memory_order_relaxed);
  if (!at_.compare_exchange_strong(was, phase::cancelled))
    in_.cancelled_runs.fetch_sub(1, std::memory_order_relaxed);
}

void live_run::end() noexcept {
  const auto was = at_.exchange(phase::ended);
  if (was == phase::ended)
    return;
  in_.live_runs.fetch_sub(1, std::memory_order_relaxed);
  if (elsewhere_ != nullptr)
    elsewhere_->runs_elsewhere.fetch_sub(1, std::memory_order_relaxed);
  if (was == phase::cancelled)
    in_.cancelled_runs.fetch_sub(1, std::memory_order_relaxed);
}

live_run_ptr count_run() {
  return std::make_shared<live_run>(process::get());
}

} // namespace superstep::python
