// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/engine.hpp>

#include <cstddef>
#include <functional>
#include <future>
#include <stdexcept>
#include <utility>

namespace superstep::bench {

/// Runs one graph many times in sequence. The callback of each run starts the next run, because
/// waking another thread for every run would cost more than a small run.
template <class State>
class series {
public:
  series(engine& e, const compiled_graph<State>& graph, State input, run_config config)
      : engine_{e}, graph_{graph}, input_{std::move(input)}, config_{std::move(config)} {}
  series(const series&) = delete;
  series& operator=(const series&) = delete;

  /// Runs `count` times and returns the last result; throws if a run fails.
  run_result<State> run(std::size_t count) {
    left_ = count;
    over_ = {};
    auto ended = over_.get_future();
    next();
    auto last = ended.get();
    if (last.error)
      throw std::runtime_error{last.error->text};
    return last;
  }

private:
  void next() {
    engine_.submit(graph_, input_, config_, [this](run_result<State> r) {
      if (r.error || --left_ == 0)
        over_.set_value(std::move(r));
      else
        next();
    });
  }

  engine& engine_;
  const compiled_graph<State>& graph_;
  State input_;
  run_config config_;
  std::size_t left_ = 0; // used by one callback at a time
  std::promise<run_result<State>> over_;
};

/// Returns a config whose recursion limit allows `n` steps.
[[nodiscard]] inline run_config steps_max(std::int64_t n) {
  auto config = run_config{};
  config.recursion_limit = static_cast<std::uint32_t>(n + 10);
  return config;
}

} // namespace superstep::bench
