// SPDX-License-Identifier: Apache-2.0
// Runs that wait in their first tool calls: measures their memory, and the time to cancel them.
#include "echo_agent.hpp"
#include "workloads.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/base/await.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace superstep::bench {

namespace {

constexpr auto parked_script = script{.rounds = 2, .calls = 2};

struct counts {
  std::atomic<std::size_t> begun{0};    ///< tool bodies started so far
  std::atomic<std::size_t> frames{0};   ///< coroutine frames of tool bodies that exist
  std::atomic<std::size_t> ended{0};    ///< runs that have ended
  std::atomic<std::size_t> answered{0}; ///< tool messages in the final states
};

class frame_guard {
public:
  explicit frame_guard(counts& c) : counts_{c} {
    counts_.frames.fetch_add(1, std::memory_order_relaxed);
    counts_.begun.fetch_add(1, std::memory_order_release);
  }
  frame_guard(const frame_guard&) = delete;
  frame_guard& operator=(const frame_guard&) = delete;
  ~frame_guard() { counts_.frames.fetch_sub(1, std::memory_order_release); }

private:
  counts& counts_;
};

/// A tool `echo` that never answers during a measurement: it waits for a day.
class parking_tool final : public tool {
public:
  parking_tool(counts& c, bool reads_state) : counts_{c}, reads_state_{reads_state} {
    definition_.name = "echo";
    definition_.description = "Waits.";
    definition_.parameters = {{"type", "object"}};
  }
  const tool_definition& definition() const noexcept override { return definition_; }
  bool uses_environment() const noexcept override { return reads_state_; }
  task<tool_output> run(const tool_call&, const tool_context&) const override {
    auto guard = frame_guard{counts_};
    co_await sleep_for{std::chrono::hours{24}};
    co_return tool_output{};
  }

private:
  counts& counts_;
  bool reads_state_;
  tool_definition definition_;
};

std::size_t tool_messages(const run_result<chat_state>& r) {
  return static_cast<std::size_t>(
      std::count_if(r.state.messages.begin(), r.state.messages.end(),
                    [](const message& m) { return m.type == message_type::tool; }));
}

/// Many runs, each of which waits in its first tool calls.
class parking {
public:
  parking(const engine_options& options, std::size_t runs, bool reads_state = false)
      : graph_{make_echo_agent(parked_script, react_version::v2,
                               std::make_shared<const parking_tool>(counts_, reads_state))},
        handles_(runs), engine_{std::make_unique<engine>(options)} {}

  /// Starts all runs and waits until each is in its tool calls. At most `submitted_ahead` runs wait
  /// for their start, because the memory of a queued submission is not that of a waiting run.
  void fill() {
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      if (i >= submitted_ahead)
        wait_until([this, i] { return begun() >= (i - submitted_ahead) * calls_per_run; });
      handles_[i] = engine_->submit(graph_, hi(), {}, [this](run_result<chat_state> r) {
        counts_.answered.fetch_add(tool_messages(r), std::memory_order_relaxed);
        counts_.ended.fetch_add(1, std::memory_order_release);
      });
    }
    wait_until([this] { return begun() == handles_.size() * calls_per_run; });
  }
  void cancel() {
    for (auto& h : handles_)
      h.cancel();
  }
  [[nodiscard]] std::size_t parked() const {
    return counts_.frames.load(std::memory_order_acquire) / parked_script.calls;
  }
  [[nodiscard]] std::size_t ended() const { return counts_.ended.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t answered() const {
    return counts_.answered.load(std::memory_order_relaxed);
  }

  template <class F>
  static void wait_until(F reached) {
    while (!reached())
      std::this_thread::sleep_for(std::chrono::microseconds{100});
  }

private:
  static constexpr std::size_t submitted_ahead = 1'000;
  static constexpr auto calls_per_run = static_cast<std::size_t>(parked_script.calls);

  [[nodiscard]] std::size_t begun() const { return counts_.begun.load(std::memory_order_acquire); }

  counts counts_; // declared before the engine, because frames that the engine destroys use it
  compiled_graph<chat_state> graph_;
  std::vector<run_handle> handles_;
  std::unique_ptr<engine> engine_;
};

} // namespace

report idle(parameters& p) {
  const auto runs = p.count("N", 1'000, {.min = 1, .max = 10'000'000});
  const auto reads_state = p.flag("reads", false);
  const auto options = p.engine();
  p.done();
  {
    auto warm = parking{options, 1, reads_state};
    warm.fill();
  }
  auto lot = parking{options, runs, reads_state};
  const auto before = resident_bytes();
  const auto allocated_before = allocated_bytes();
  const auto cpu = cpu_seconds();
  const auto wall = wall_seconds();
  lot.fill();
  auto out = report{.unit = "run", .units = static_cast<double>(runs)};
  out.time.add(wall_seconds() - wall, cpu_seconds() - cpu);
  out.extra["bytes_per_run"] =
      static_cast<double>(resident_bytes() - before) / static_cast<double>(runs);
  out.extra["allocated_per_run"] =
      static_cast<double>(allocated_bytes() - allocated_before) / static_cast<double>(runs);
  out.checks["parked"] = lot.parked();
  lot.cancel();
  parking::wait_until([&] { return lot.ended() == runs; });
  return out;
}

report cancel(parameters& p) {
  const auto runs = p.count("N", 10'000, {.min = 1, .max = 10'000'000});
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto out = report{.unit = "run", .units = static_cast<double>(runs)};
  auto marked = 0.0;
  for (auto i = std::size_t{0}; i <= repetitions; ++i) {
    const auto is_warm_up = i == 0;
    auto lot = parking{options, is_warm_up ? 1 : runs};
    lot.fill();
    const auto cpu = cpu_seconds();
    const auto wall = wall_seconds();
    lot.cancel();
    const auto all_marked = wall_seconds();
    // Cancelling a run destroys its frames before its callback is called.
    parking::wait_until(
        [&] { return lot.ended() == (is_warm_up ? 1 : runs) && lot.parked() == 0; });
    const auto unwound = wall_seconds();
    if (is_warm_up)
      continue;
    if (unwound - wall < out.time.seconds)
      marked = all_marked - wall;
    out.time.add(unwound - wall, cpu_seconds() - cpu);
    out.checks["answered"] = lot.answered();
  }
  out.extra = {{"marked_us", marked * 1e6 / out.units},
               {"unwound_us", out.time.seconds * 1e6 / out.units}};
  return out;
}

} // namespace superstep::bench
