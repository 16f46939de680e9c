// SPDX-License-Identifier: Apache-2.0
// Runs a graph without threads in a random order that a seed determines.
#include "runtime/seeded_scheduler.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace superstep::test {

namespace {

constexpr auto never = ~std::size_t{0};

void mix(std::uint64_t& hash, std::uint64_t more) {
  hash = (hash ^ more) * 0x100000001b3;
}

} // namespace

std::string seeded_end::text() const {
  auto all = ending + '\n' + state + '\n';
  for (const auto& line : trace)
    all += line + '\n';
  return all;
}

std::string seeded_scheduler::path_of(const step_task& t) const {
  const auto& name = scenario_.table->node(t.node).name;
  return t.is_push() ? name + '#' + std::to_string(t.push_index) : name;
}

seeded_scheduler::seeded_scheduler(const scenario& s) : scenario_{s} {
  auto config = run_config{};
  config.run_id = "seeded";
  config.recursion_limit = s.recursion_limit;
  config_ = std::make_shared<const run_config>(std::move(config));
}

seeded_end seeded_scheduler::run(std::uint64_t seed) {
  auto random = dice{seed};
  auto end = seeded_end{};
  if (random.one_in(2)) {
    auto lost = seeded_end{};
    const auto stop_after = random.below(40); // the run may end before this step
    static_cast<void>(attempt(random, stop_after, random.one_in(2), lost));
    end.snapshots_changed = lost.snapshots_changed;
  }
  static_cast<void>(attempt(random, never, false, end));
  std::sort(end.trace.begin(), end.trace.end());
  return end;
}

seeded_scheduler::fate seeded_scheduler::attempt(dice& random, std::size_t stop_after,
                                                 bool fails_there, seeded_end& end) {
  ending_.clear();
  snapshots_.clear();
  state_.reset(scenario_.table, id_source{config_->run_id}, scenario_.recursion_limit);
  auto input = scenario_.input();
  auto happened = fate::ended;
  if (auto begun = begin(state_, step_, input); !begun)
    ending_ = "refused: " + begun.error().text;
  while (ending_.empty() && happened == fate::ended)
    happened = run_step(random, stop_after, fails_there, end);
  end.ending = ending_;
  end.state = scenario_.text_of(*state_.state());
  for (const auto& s : snapshots_)
    end.snapshots_changed += scenario_.text_of(*s.state) != s.text ? 1 : 0;
  return happened;
}

/// Runs the bodies and the barrier of a step. Sets ending_ when the run has ended.
seeded_scheduler::fate seeded_scheduler::run_step(dice& random, std::size_t& stop_after,
                                                  bool fails_there, seeded_end& end) {
  answers_.clear();
  start_bodies(random);
  auto order = std::vector<std::uint32_t>(step_.tasks.size());
  std::iota(order.begin(), order.end(), 0u);
  random.shuffle(order);
  for (const auto task : order) {
    if (stop_after == 0 && fails_there)
      return fate::stopped;
    mix(end.order, (static_cast<std::uint64_t>(state_.step()) << 32) | task);
    if (!finish(task)) {
      ending_ = "failed in step " + std::to_string(state_.step());
      return fate::ended;
    }
    if (stop_after == 0)
      return fate::stopped;
    if (stop_after != never)
      --stop_after;
  }
  // Only completed steps count, because the progress of a failing one depends on the order.
  end.trace.insert(end.trace.end(), answers_.begin(), answers_.end());
  const auto applied = apply(state_, step_);
  if (!applied) {
    ending_ = "refused: " + applied.error().text;
    return fate::ended;
  }
  if (random.one_in(3))
    snapshots_.push_back({state_.state(), scenario_.text_of(*state_.state())});
  switch (prepare(state_, step_)) {
  case next_step::done:
    ending_ = "done";
    break;
  case next_step::out_of_steps:
    ending_ = "out of steps";
    break;
  case next_step::run:
    break;
  }
  auto line = std::to_string(state_.step()) + " activates";
  for (const auto& t : step_.tasks)
    line += ' ' + path_of(t);
  end.trace.push_back(std::move(line));
  return fate::ended;
}

/// Runs all bodies of the step before any is recorded, so none can see another's output.
void seeded_scheduler::start_bodies(dice& random) {
  bodies_.clear();
  bodies_.resize(step_.tasks.size());
  auto order = std::vector<std::uint32_t>(step_.tasks.size());
  std::iota(order.begin(), order.end(), 0u);
  random.shuffle(order);
  const auto keep_writes = random.one_in(2);
  for (const auto i : order) {
    const auto& t = step_.tasks[i];
    auto& in = bodies_[i].input;
    in.table = scenario_.table.get();
    in.state = state_.state().get();
    in.payload = t.is_push() ? &step_.input_of(t).input : nullptr;
    in.config = &config_;
    in.node = t.node;
    in.task_index = t.is_push() ? t.push_index : 0;
    in.step = state_.step();
    in.steps_left = state_.steps_left();
    in.sole_task = step_.tasks.size() == 1;
    in.keep_writes = keep_writes;
    auto nowhere = execution_context{};
    const auto ended = detail::start_body(in, bodies_[i].outcome, nowhere, bodies_[i].failed);
    SUPERSTEP_ASSERT(ended);
  }
}

/// Records a task. Returns false if it failed and no handler produced an output.
bool seeded_scheduler::finish(std::uint32_t task) {
  auto& body = bodies_[task];
  const auto& t = step_.tasks[task];
  auto output = std::move(body.outcome.output);
  if (body.failed) {
    const auto& handler = scenario_.table->node(t.node).options.on_failure;
    const auto error = run_error{make_error_code(graph_errc::node_failed),
                                 describe(body.failed),
                                 path_of(t),
                                 state_.step(),
                                 path_of(t),
                                 1,
                                 body.failed};
    auto instead = handler ? handler(body.input, error) : std::nullopt;
    if (!instead)
      return false;
    output = std::move(*instead);
  }
  answers_.push_back(std::to_string(state_.step()) + ' ' + path_of(t) + " sends " +
                     std::to_string(output.sends.size()) + " goes to " +
                     std::to_string(output.targets.size()));
  step_.record(task, std::move(output));
  return true;
}

} // namespace superstep::test
