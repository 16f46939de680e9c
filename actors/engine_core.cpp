// SPDX-License-Identifier: Apache-2.0
// The implementation of an engine: creates the lanes, the thread pool, the watcher and the actor
// system, submits runs to lanes, and shuts everything down in order.
#include "engine_core.hpp"

#include "actor_system.hpp"
#include "base/deadline.hpp"
#include "simulation.hpp"
#include "warning.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace superstep {

namespace {

/// Throws std::invalid_argument for values with which runs would never progress, or that have no
/// meaning.
void check(const engine_options& o) {
  const auto require = [](bool is_valid, const char* rule) {
    if (!is_valid)
      throw std::invalid_argument{std::string{"engine_options: "} + rule};
  };
  require(o.steps_per_turn > 0, "steps_per_turn must be at least 1");
  require(o.watcher_tick.count() > 0, "watcher_tick must be greater than 0");
  require(o.hung_after.count() > 0, "hung_after must be greater than 0");
  require(o.thread_idle_time.count() >= 0, "thread_idle_time must not be negative");
  require(o.shutdown_grace.count() >= 0, "shutdown_grace must not be negative");
  require(o.runs_max != std::size_t{0}, "runs_max must be at least 1");
}

engine_options with_defaults(engine_options o, const core_set& cores) {
  check(o);
  if (o.workers == 0)
    o.workers = cores.size();
  o.threads_max = std::max(o.threads_max, 2 * o.workers);
  using detail::duration_max;
  o.watcher_tick = std::min<std::chrono::microseconds>(o.watcher_tick, std::chrono::hours{1});
  o.hung_after = std::min(o.hung_after, duration_max);
  o.thread_idle_time = std::min(o.thread_idle_time, duration_max);
  o.shutdown_grace = std::min(o.shutdown_grace, duration_max);
  return o;
}

/// A new run on its way to its lane.
class submission final : public lane_message, public on_cache_lines {
public:
  submission(std::uint64_t number, run_request&& request)
      : number_{number}, request_{std::move(request)} {}
  void arrive(lane& l) override {
    l.begin_run(number_, std::move(request_));
    delete this;
  }
  void refuse(lane& l) noexcept override {
    l.refuse_run(std::move(request_));
    delete this;
  }

private:
  std::uint64_t number_;
  run_request request_;
};

/// A function on its way to a lane, which calls it.
class lane_task final : public lane_message {
public:
  explicit lane_task(std::function<void(lane&)> f) : f_{std::move(f)} {}
  void arrive(lane& l) override {
    f_(l);
    delete this;
  }
  void refuse(lane&) noexcept override { delete this; }

private:
  std::function<void(lane&)> f_;
};

/// A function on its way to the lane of a run. A lane that does not have the run passes the message
/// on; see run_sharing.
/// @tparam F called with the lane and the run
template <class F>
class run_task final : public lane_message {
public:
  run_task(detail::engine_core& core, std::uint64_t number, F f)
      : core_{core}, number_{number}, f_{std::move(f)} {}
  void arrive(lane& l) override {
    if (auto* const r = l.runs().find_run(number_)) {
      f_(l, *r);
    } else if (const auto other = l.sharing().find(number_)) {
      core_.lanes()[*other]->post(this);
      return;
    }
    delete this;
  }
  void refuse(lane&) noexcept override { delete this; }

private:
  detail::engine_core& core_;
  std::uint64_t number_;
  [[no_unique_address]] F f_;
};

} // namespace

detail::engine_core::engine_core(engine_options options)

    : cores_{options.cores}, options_{with_defaults(options, cores_)}, threads_{*this, options_},
      watcher_{*this, options_.watcher_tick} {
  {
    const auto scope = confined_scope{cores_};
    system_ = make_actor_system(config_);
  }
  if (options_.runs_max)
    limit_ = std::make_shared<run_limit>(*options_.runs_max);
  for (auto i = std::uint32_t{0}; i < options_.workers; ++i)
    lanes_.emplace_back(new lane{*this, i});
}

detail::engine_core::~engine_core() {
  for (auto& l : lanes_)
    l->let_go();
  system_.reset(); // ends CAF's worker, which may still be reporting the end of an actor to a lane
}

void detail::engine_core::start() {
  for (auto& l : lanes_) {
    using anchor = std::weak_ptr<detail::engine_core>;
    l->set_anchor(
        std::allocate_shared<const anchor>(cache_line_allocator<anchor>{}, weak_from_this()));
    if (threads_.can_serve()) {
      threads_.serve(*l, false);
      continue;
    }
    if (l == lanes_.front())
      throw no_threads(std::make_error_code(std::errc::resource_unavailable_try_again));
    warn("the system allows " + std::to_string(l->index()) + " of " +
         std::to_string(options_.workers) +
         " lanes, so the engine has fewer: raise the limit of processes (ulimit -u)");
    lanes_.resize(l->index());
    break;
  }
  watcher_.start();
}

void detail::engine_core::shut_down() {
  if (limit_)
    limit_->close();
  // after the limit, because a listener may wait for a thread that waits for room
  listeners_.notify();
  for (auto& l : lanes_)
    l->stop();
  threads_.stop(options_.shutdown_grace);
  watcher_.stop();
}

void detail::engine_core::close_lanes() noexcept {
  over_.store(true, std::memory_order_relaxed);
  for (auto& l : lanes_)
    l->close();
}

std::size_t detail::engine_core::live_runs() const noexcept {
  auto all = std::size_t{0};
  for (const auto& l : lanes_)
    all += l->host().load();
  return all;
}

lane& detail::engine_core::choose_lane() noexcept {
  // A run that is started by the callback of another run stays on the same lane. Then no message
  // crosses cores, and no cache line is read that another lane writes. Once in a while the loads
  // are compared, so that one lane does not keep all runs.
  auto* const here = lane::current;
  if (here != nullptr && here->is_of(*this) && !here->is_time_to_compare())
    return *here;
  auto* least = lanes_[next_lane_.fetch_add(1, std::memory_order_relaxed) % lanes_.size()].get();
  for (const auto& l : lanes_) {
    if (l->host().load() < least->host().load())
      least = l.get();
  }
  const auto is_ours = here != nullptr && here->is_of(*this);
  return is_ours && here->host().load() <= 2 * least->host().load() + 8 ? *here : *least;
}

detail::engine_core::ticket detail::engine_core::submit(lane& l, run_request&& request) {
  const auto number = l.host().expect_run();
  l.post(new submission{number, std::move(request)});
  return {number, l.index()};
}

void detail::engine_core::cancel(ticket t) {
  // not with on_run(), because a million runs may be cancelled at once
  const auto cancel_it = [](lane& l, run& r) {
    if (SUPERSTEP_MUTANT(lose_moved_cancel) && run_sharing::home_of(r.number) != l.index())
      return;
    l.runs().cancel(r.number);
  };
  lanes_[t.lane]->post(new run_task{*this, t.number, cancel_it});
}

void detail::engine_core::drain(ticket t, std::string reason) {
  on_run(t, [reason = std::move(reason)](lane& l, run& r) { l.runs().drain(r.number, reason); });
}

void detail::engine_core::resume(ticket t) {
  on_run(t, [](lane& l, run& r) { l.runs().reader_ready(r.number); });
}

void detail::engine_core::on_lane(std::uint32_t lane, std::function<void(superstep::lane&)> f) {
  lanes_[lane]->post(new lane_task{std::move(f)});
}

void detail::engine_core::on_run(ticket t, std::function<void(superstep::lane&, run&)> f) {
  lanes_[t.lane]->post(new run_task{*this, t.number, std::move(f)});
}

} // namespace superstep
