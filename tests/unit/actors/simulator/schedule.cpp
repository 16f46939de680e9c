// SPDX-License-Identifier: Apache-2.0
// Runs the engine under a scenario and compares its runs with undisturbed ones.
#include "unit/actors/simulator/schedule.hpp"

#include "actors/engine_access.hpp"
#include "unit/actors/simulator/bodies.hpp"
#include "unit/actors/simulator/inspector.hpp"
#include "unit/actors/simulator/reader.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace superstep::simulation {

namespace {

constexpr auto all_modes = stream_mode::values | stream_mode::updates | stream_mode::tasks |
                           stream_mode::custom | stream_mode::subgraphs;
/// A run that is stopped and resumed more often than this does not make progress.
constexpr auto resumes_max = 40;
/// A cancelled run ends within this time. Bodies that block delay the message to its lane.
constexpr auto cancel_max = microseconds{20'000};

std::string run_name(std::size_t i) {
  return "r" + std::to_string(i);
}

class simulation_of_scenario {
public:
  simulation_of_scenario(const scenario& s, bool is_calm)
      : scenario_{s}, world_{s.order, is_calm}, runs_(s.runs.size()) {
    drop_kept();
    world_.check_with([this] { check_lanes(); });
  }

  verdict run(const verdict* expected) {
    try {
      disturbed_phase();
      if (expected != nullptr) {
        check_errors(*expected);
        disk_->heal();
        finish_runs();
        compare(*expected, "after it was resumed");
        if (scenario_.crashes)
          crash(*expected);
      }
      end();
    } catch (const world::endless&) {
      break_rule("the schedule does not come to rest");
    }
    auto out = verdict{broken(), {}, world_.order(), world_.events()};
    for (const auto& r : runs_)
      out.ends.push_back(r.end);
    drop_kept(); // what the fault keep_lease has kept calls back into this world
    return out;
  }

private:
  struct state_of_run {
    run_end end;
    run_handle handle;
    std::vector<interrupt> questions;
    int submitted = 0;
    int called_back = 0;
    int resumes = 0;
    std::optional<time_point> cancelled; ///< when the run was cancelled; since its submission
    bool is_running = false;
  };

  void break_rule(const std::string& what) {
    if (seen_->broken.empty())
      seen_->broken = what;
  }
  [[nodiscard]] const std::string& broken() const {
    return seen_->broken.empty() ? disk_->broken() : seen_->broken;
  }

  void check_lanes() {
    for (auto* const l : all_lanes())
      if (auto found = lane_inspector::check(*l); !found.empty())
        break_rule(found);
  }

  void start_engine() {
    auto options = engine_options{};
    options.workers = scenario_.lanes;
    options.pool_actors = scenario_.pools_actors;
    options.steps_per_turn = scenario_.steps_per_turn;
    engine_ = std::make_unique<engine>(options);
    at_ = engine_.get();
  }

  /// Destroys the engine. Its destructor lets the simulation continue until all threads have ended.
  void stop_engine() {
    engine_.reset();
    at_ = nullptr;
  }

  void use_disk(std::shared_ptr<disk> d) {
    disk_ = std::move(d);
    saved_ = build(scenario_, seen_, disk_);
  }

  void disturbed_phase() {
    use_disk(std::make_shared<disk>(scenario_.faults));
    unsaved_ = build(scenario_, seen_, nullptr);
    start_engine();
    for (auto i = std::size_t{0}; i < runs_.size(); ++i)
      world_.at(world_.now() + microseconds{scenario_.runs[i].start_us},
                [this, i] { submit(i, update<notebook>{}, true); });
    for (const auto& d : scenario_.disturbances)
      world_.at(world_.now() + microseconds{d.at_us}, [this, d] { disturb(d); });
    settle();
  }

  /// Lets everything happen. Replaces the engine if a disturbance asks for it.
  void settle() {
    for (;;) {
      world_.run_until([this] { return shuts_down_; });
      if (!std::exchange(shuts_down_, false))
        break;
      stop_engine();
      start_engine();
    }
    for (auto i = std::size_t{0}; i < runs_.size(); ++i)
      if (runs_[i].is_running)
        break_rule("run " + std::to_string(i) + " never ends");
    if (extra_called_back_ != extra_submitted_)
      break_rule("a run that a callback submitted never ends");
  }

  template <class Input>
  void submit(std::size_t i, Input input, bool is_disturbed) {
    const auto& how = scenario_.runs[i];
    auto& r = runs_[i];
    auto config = run_config{};
    config.run_id = run_name(i);
    if (how.max_concurrency > 0)
      config.max_concurrency = static_cast<std::uint32_t>(how.max_concurrency);
    if (how.deadline_ms > 0 && is_disturbed)
      config.deadline = std::chrono::milliseconds{how.deadline_ms};
    if (how.is_saved) {
      config.thread_id = "t" + std::to_string(i);
      config.thread.emplace().durability = how.durability;
    }
    auto sink = std::shared_ptr<reader>{};
    if (how.buffer > 0 && is_disturbed)
      sink = std::make_shared<reader>(how.buffer, how.reader_us, seen_);
    ++r.submitted;
    r.cancelled.reset();
    r.is_running = true;
    r.questions.clear();
    auto done = [this, i, sink, is_disturbed, number = r.submitted](detail::raw_result raw) {
      if (sink)
        sink->end();
      ended(i, number, std::move(raw), is_disturbed);
    };
    const auto& graph = how.is_saved ? *saved_ : *unsaved_;
    r.handle = detail::engine_access::start(
        *at_, detail::program_of(graph), detail::input_for(graph, std::move(input)),
        std::move(config), std::move(done), sink ? all_modes : stream_mode::none, sink);
  }

  /// The callback of a run.
  void ended(std::size_t i, int number, detail::raw_result raw, bool is_disturbed) {
    auto& r = runs_[i];
    ++r.called_back;
    if (r.called_back != r.submitted || number != r.submitted)
      break_rule("the callback of run " + std::to_string(i) + " is called twice");
    r.is_running = false;
    r.end = {};
    if (raw.error) {
      r.end.error = raw.error->code.message() + ": " + raw.error->text;
    } else if (raw.interrupts) {
      r.end.is_interrupted = true;
      r.questions = *raw.interrupts;
    } else {
      r.end.has_finished = true;
      const auto* const state = state_if<notebook>(raw.state.get());
      r.end.state = state != nullptr ? to_text(*state) : "no state";
    }
    if (r.cancelled && r.end.error.empty() && world_.now() - *r.cancelled > cancel_max)
      break_rule("run " + std::to_string(i) + " goes on after it was cancelled");
    yield();
    if (scenario_.runs[i].resubmits && is_disturbed && extra_submitted_ < 4)
      submit_extra();
    if (r.end.is_interrupted && scenario_.runs[i].is_saved)
      world_.post([this, i, is_disturbed] {
        if (at_ == engine_.get() && at_ != nullptr && !runs_[i].is_running)
          resume_run(i, is_disturbed);
      });
  }

  void submit_extra() {
    ++extra_submitted_;
    auto config = run_config{};
    config.run_id = "extra";
    detail::engine_access::start(
        *at_, detail::program_of(*unsaved_), detail::input_for(*unsaved_, update<notebook>{}),
        std::move(config), [this, called = std::make_shared<int>(0)](const detail::raw_result&) {
          if (++*called > 1)
            break_rule("the callback of a run that a callback submitted is called twice");
          ++extra_called_back_;
        });
  }

  void resume_run(std::size_t i, bool is_disturbed) {
    auto& r = runs_[i];
    if (++r.resumes > resumes_max)
      return;
    if (disk_->head({"t" + std::to_string(i), {}}).empty()) {
      submit(i, update<notebook>{}, is_disturbed);
      return;
    }
    auto answers = std::map<std::string, json::value>{};
    for (const auto& q : r.questions)
      answers.emplace(q.id, answer_to(q.value));
    submit(i, answers.empty() ? resume{} : resume{std::move(answers)}, is_disturbed);
  }

  /// Resumes the saved runs without disturbances until they have finished.
  void finish_runs() {
    for (auto i = std::size_t{0}; i < runs_.size(); ++i) {
      auto& r = runs_[i];
      r.resumes = 0;
      for (auto tries = 0; tries < 4 && scenario_.runs[i].is_saved && !r.end.has_finished &&
                           !r.is_running && broken().empty();
           ++tries) {
        resume_run(i, false);
        settle();
      }
    }
  }

  void crash(const verdict& expected) {
    if (!broken().empty())
      return;
    use_disk(disk_->after_crash(world_.random().below(disk_->writes() + 1)));
    for (auto i = std::size_t{0}; i < runs_.size(); ++i) {
      if (!scenario_.runs[i].is_saved)
        continue;
      runs_[i].end = {};
      runs_[i].questions.clear();
    }
    finish_runs();
    compare(expected, "after a crash");
  }

  [[nodiscard]] bool is_aimed_at(std::size_t i) const {
    return std::ranges::any_of(scenario_.disturbances, [i](const disturbance& d) {
      using kind = disturbance::kind;
      if (d.what == kind::shut_down)
        return true;
      return d.run == static_cast<int>(i) && d.what != kind::monitor && d.what != kind::message &&
             d.what != kind::hold_lease;
    });
  }

  /// Whether a timeout of steps is so short that disturbances may exceed it.
  [[nodiscard]] bool has_short_steps() const {
    return std::ranges::any_of(scenario_.graphs, [](const scripted_graph& g) {
      return g.step_timeout_ms > 0 && g.step_timeout_ms < 1'000;
    });
  }

  /// Whether limits of time or failed writes may end a run that is otherwise not disturbed.
  [[nodiscard]] bool is_limited(std::size_t i) const {
    const auto& how = scenario_.runs[i];
    return how.deadline_ms > 0 || (how.is_saved && scenario_.faults.fails_at > 0) ||
           has_short_steps();
  }

  void compare(const verdict& expected, const std::string& when) {
    for (auto i = std::size_t{0}; i < runs_.size() && broken().empty(); ++i) {
      const auto& mine = runs_[i].end;
      const auto& theirs = expected.ends[i];
      const auto name = "run " + std::to_string(i) + ' ';
      if (seen_->tainted.contains(run_name(i)))
        continue;
      if (mine.has_finished && (!theirs.has_finished || mine.state != theirs.state)) {
        break_rule(name + "ends differently " + when + ":\n  " + mine.state +
                   "\n  undisturbed: " + (theirs.has_finished ? theirs.state : theirs.error));
        return;
      }
      if (mine.has_finished || !theirs.has_finished)
        continue;
      // a saved run was resumed without disturbances, deadline and failed writes
      if (scenario_.runs[i].is_saved ? has_short_steps() : is_limited(i) || is_aimed_at(i))
        continue;
      break_rule(name + "does not finish " + when + ": " +
                 (mine.is_interrupted ? "interrupted" : mine.error));
    }
  }

  /// Without disturbances, the error of a saved run does not depend on the order of events.
  void check_errors(const verdict& expected) {
    for (auto i = std::size_t{0}; i < runs_.size(); ++i) {
      const auto& how = scenario_.runs[i];
      const auto& mine = runs_[i].end.error;
      const auto& theirs = expected.ends[i].error;
      if (!how.is_saved || how.max_concurrency > 0 || is_limited(i) || is_aimed_at(i) ||
          mine.empty() || theirs.empty() || mine == theirs)
        continue;
      break_rule("run " + std::to_string(i) + " reports another error: " + mine +
                 "\n  undisturbed: " + theirs);
    }
  }

  void disturb(const disturbance& d) {
    using kind = disturbance::kind;
    auto& r = runs_[static_cast<std::size_t>(d.run)];
    switch (d.what) {
    case kind::cancel:
      if (!r.cancelled)
        r.cancelled = world_.now();
      r.handle.cancel();
      return;
    case kind::drain:
      r.handle.drain("simulated");
      return;
    case kind::exit_coordinator:
    case kind::exit_actor:
    case kind::monitor:
    case kind::message:
      reach_actor(d);
      return;
    case kind::hold_lease:
    case kind::take_over_lease:
      take_lease(d);
      return;
    case kind::shut_down:
      shuts_down_ = true;
      return;
    }
  }

  void reach_actor(const disturbance& d) {
    for (auto* const l : all_lanes()) {
      const auto actors = lane_inspector::actors_of(*l, run_name(static_cast<std::size_t>(d.run)));
      if (actors.empty())
        continue;
      const auto chosen = d.what == disturbance::kind::exit_coordinator
                              ? std::size_t{0}
                              : static_cast<std::size_t>(d.amount) % actors.size();
      const auto& victim = actors[chosen];
      if (d.what == disturbance::kind::monitor) {
        ++monitors_;
        victim->get()->attach_functor([this] { ++downs_; });
      } else if (d.what == disturbance::kind::message) {
        world_.pause_workers(microseconds{d.amount % 700});
        caf::anon_send(caf::actor_cast<caf::actor>(victim), 1); // not in the protocol: dropped
      } else {
        caf::anon_send_exit(caf::actor_cast<caf::actor>(victim), caf::exit_reason::kill);
      }
      return;
    }
  }

  /// Another program holds the lease on a run's thread for a while.
  void take_lease(const disturbance& d) {
    const auto policy =
        d.what == disturbance::kind::hold_lease ? busy_policy::wait : busy_policy::take_over;
    disk_->take("t" + std::to_string(d.run), policy,
                [this, length = microseconds{d.amount}](result<lease_ptr> got) {
                  if (got)
                    world_.at(world_.now() + length, [held = *got] {});
                });
  }

  /// Destroys the engine and checks that nothing is left.
  void end() {
    if (broken().empty())
      for (auto* const l : all_lanes())
        if (auto found = lane_inspector::check_empty(*l); !found.empty())
          break_rule(found);
    stop_engine();
    world_.run_until([] { return false; });
    if (!broken().empty())
      return;
    if (world_.threads() != 0)
      break_rule("a thread is left at the end");
    if (seen_->live_bodies != 0)
      break_rule("the frame of a body is left at the end");
    if (disk_->leases() != 0)
      break_rule("a lease is left at the end");
    if (downs_ != monitors_)
      break_rule("a monitor was not notified");
    for (const auto& r : runs_)
      if (r.called_back != r.submitted)
        break_rule("a callback was not called");
  }

  const scenario& scenario_;
  world world_;
  std::shared_ptr<observations> seen_ = std::make_shared<observations>();
  std::shared_ptr<disk> disk_;
  std::optional<compiled_graph<notebook>> saved_;
  std::optional<compiled_graph<notebook>> unsaved_;
  std::unique_ptr<engine> engine_;
  engine* at_ = nullptr; ///< callbacks use it while engine_ is destroyed
  std::vector<state_of_run> runs_;
  int extra_submitted_ = 0;
  int extra_called_back_ = 0;
  int monitors_ = 0;
  int downs_ = 0;
  bool shuts_down_ = false;
};

/// Returns the scenario without what must not change the results of its runs.
scenario calm_form(scenario s) {
  s.disturbances.clear();
  s.faults = {};
  s.lanes = 1;
  s.pools_actors = true;
  s.steps_per_turn = 1'024;
  s.crashes = false;
  for (auto& g : s.graphs)
    g.step_timeout_ms = 0;
  for (auto& r : s.runs) {
    r.deadline_ms = 0;
    r.buffer = 0;
    r.resubmits = false;
    r.start_us = 0;
  }
  return s;
}

} // namespace

verdict run_calmly(scenario s) {
  s = calm_form(std::move(s));
  return simulation_of_scenario{s, true}.run(nullptr);
}

verdict run_schedule(const scenario& s, const verdict& expected) {
  return simulation_of_scenario{s, false}.run(&expected);
}

verdict check(const scenario& s, mutant fault) {
  active_mutant = mutant::none;
  auto calm = run_calmly(s);
  if (!calm.broken.empty()) {
    calm.broken = "undisturbed: " + calm.broken;
    return calm;
  }
  active_mutant = fault;
  auto found = run_schedule(s, calm);
  active_mutant = mutant::none;
  return found;
}

} // namespace superstep::simulation
