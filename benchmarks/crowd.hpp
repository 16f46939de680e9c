// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/engine.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <stdexcept>
#include <utility>
#include <vector>

namespace superstep::bench {

/// Runs one graph many times with the same input, with at most `in_flight_max` runs at a time (0:
/// all), and keeps all results.
template <class State>
class crowd {
public:
  crowd(engine& e, const compiled_graph<State>& graph, State input, std::size_t runs,
        std::size_t in_flight_max)
      : engine_{e}, graph_{graph}, input_{std::move(input)},
        in_flight_max_{in_flight_max == 0 ? runs : in_flight_max}, results_(runs) {}
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;

  /// Returns all results. Throws if a run failed.
  std::vector<run_result<State>> run() {
    for (auto i = std::size_t{0}; i < std::min(in_flight_max_, results_.size()); ++i)
      start_next();
    over_.get_future().get();
    for (const auto& r : results_) {
      if (r.error)
        throw std::runtime_error{r.error->text};
    }
    return std::move(results_);
  }

private:
  void start_next() {
    const auto index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= results_.size())
      return;
    engine_.submit(graph_, input_, {}, [this, index](run_result<State> r) {
      results_[index] = std::move(r);
      if (ended_.fetch_add(1, std::memory_order_acq_rel) + 1 == results_.size())
        over_.set_value();
      else
        start_next();
    });
  }

  engine& engine_;
  const compiled_graph<State>& graph_;
  State input_;
  std::size_t in_flight_max_;
  std::vector<run_result<State>> results_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> ended_{0};
  std::promise<void> over_;
};

} // namespace superstep::bench
