// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/step.hpp"

#include <superstep/runtime/detail/program.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace superstep::test {

/// Random numbers that are identical on all platforms, unlike the standard distributions.
class dice {
public:
  explicit dice(std::uint64_t seed) : engine_{seed} {}
  [[nodiscard]] std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  [[nodiscard]] bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (auto i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(i)]);
  }

private:
  std::mt19937_64 engine_;
};

/// A graph with its input, and a function that prints its state.
struct scenario {
  detail::program_ptr table;
  std::function<write_list()> input;
  std::function<std::string(const state_block&)> text_of;
  std::uint32_t recursion_limit = 25;
};

/// The end of a run and its trace.
struct seeded_end {
  std::string ending;             ///< done, out of steps, failed in step n, or rejected: text
  std::string state;              ///< state of the last barrier, as text
  std::vector<std::string> trace; ///< activated tasks per step, and the output of each task; sorted
  std::uint64_t order = 0;        ///< hash of the order in which tasks ended
  std::size_t snapshots_changed = 0;

  /// Returns everything that must not depend on the order.
  [[nodiscard]] std::string text() const;
};

/// Drives the pure step function without threads: the bodies of a super-step start in one random
/// order and end in another. The run may be killed on the way, or a body may be made to fail. Then
/// everything in flight is dropped, and the run starts again in the same buffers.
class seeded_scheduler {
public:
  explicit seeded_scheduler(const scenario& s);
  [[nodiscard]] seeded_end run(std::uint64_t seed);

private:
  enum class fate { ended, stopped };
  fate attempt(dice&, std::size_t stop_after, bool fails_there, seeded_end&);
  fate run_step(dice&, std::size_t& stop_after, bool fails_there, seeded_end&);
  bool finish(std::uint32_t task);
  void start_bodies(dice&);
  [[nodiscard]] std::string path_of(const step_task&) const;

  struct started {
    body_input input;
    detail::node_body::outcome outcome;
    std::exception_ptr failed;
  };
  struct snapshot {
    state_view state;
    std::string text;
  };

  const scenario& scenario_;
  std::shared_ptr<const run_config> config_;
  run_state state_;
  super_step step_;
  std::vector<started> bodies_;
  std::vector<snapshot> snapshots_;
  std::vector<std::string> answers_; ///< results of this step's tasks, for the trace
  std::string ending_;
};

} // namespace superstep::test
