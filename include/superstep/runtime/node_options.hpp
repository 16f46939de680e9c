// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/detail/fwd.hpp>
#include <superstep/runtime/detail/node_body.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

/// A policy for retrying failed activations (`RetryPolicy` in langgraph/types.py). Each attempt
/// starts from the same state and without writes; the output of a failed attempt is discarded.
struct retry_policy {
  std::uint32_t max_attempts = 3; ///< including the first one
  std::chrono::milliseconds initial_interval{500};
  double backoff_factor = 2.0; ///< factor from each wait to the next
  std::chrono::milliseconds max_interval{128'000};
  bool jitter = true; ///< adds up to a second, so that many runs do not retry at once
  /// Whether a failure is retried; empty: is_worth_a_retry().
  std::function<bool(const std::exception_ptr&)> retry_on;
};

/// Whether a failure is retried by default. The C++ equivalent of LangGraph's default_retry_on
/// (langgraph/_internal/_retry.py): retries everything except failures that the same input would
/// repeat. Those are std::logic_error (invalid_argument, out_of_range, …), bad_cast, graph_error,
/// and system errors other than those of a connection.
[[nodiscard]] bool is_worth_a_retry(const std::exception_ptr&);

/// Returns the wait before the attempt that follows `attempt`. With jitter, `random` determines how
/// much of a second is added.
[[nodiscard]] std::chrono::milliseconds wait_after(const retry_policy&, std::uint32_t attempt,
                                                   std::uint64_t random);

/// Returns the policy for a failure: the first whose predicate matches. Null if none matches, or if
/// no attempt is left. Attempts count across policies.
[[nodiscard]] const retry_policy* find_policy(const std::vector<retry_policy>&,
                                              const std::exception_ptr&, std::uint32_t attempt);

/// The longest time that one attempt of an activation may take (LangGraph's `TimeoutPolicy`). A
/// longer one fails with node_timeout_error, which is retried by default, and its writes are
/// discarded. A suspended body is destroyed. A running body is asked to stop (runtime::stop()); it
/// runs to completion and its result is discarded. compile() refuses a policy without a limit, and
/// limits below 1 ms.
struct timeout_policy {
  /// from the start of the attempt; unset: no limit
  std::optional<std::chrono::milliseconds> run{};
  std::optional<std::chrono::milliseconds> idle{}; ///< since the last progress; unset: no limit
  /// Whether only runtime::heartbeat() counts as progress. Otherwise the events that the body
  /// emits, and progress of the graphs that it runs, count as well.
  bool heartbeats_only = false;
};

/// The error of an attempt that exceeded a limit of its node's timeout_policy.
class node_timeout_error : public graph_error {
public:
  /// The limits of a timeout_policy.
  enum class kind : std::uint8_t { run, idle };
  node_timeout_error(kind, std::chrono::milliseconds limit, std::chrono::milliseconds elapsed,
                     run_error where);
  /// The limit that the attempt exceeded.
  [[nodiscard]] kind what_passed() const noexcept { return kind_; }
  /// The value of that limit.
  [[nodiscard]] std::chrono::milliseconds limit() const noexcept { return limit_; }
  /// The time that the attempt had taken, or that had passed without progress.
  [[nodiscard]] std::chrono::milliseconds elapsed() const noexcept { return elapsed_; }

private:
  kind kind_;
  std::chrono::milliseconds limit_;
  std::chrono::milliseconds elapsed_;
};

/// The policy by which a node reuses the output of an earlier activation with the same input
/// (`CachePolicy` in langgraph/types.py).
struct cache_policy {
  /// Returns the key for an input of the node. Called on the lane between two steps, so it must be
  /// short. Empty: the whole input is the key; the node must be able to show it as JSON.
  std::function<std::string(const body_input&)> key{};
  std::optional<std::chrono::milliseconds> ttl{}; ///< not set: entries do not expire
};

/// Options of a node.
struct node_options {
  /// Nodes that its Commands may name; drawn, and checked by compile(). Empty: any node.
  std::vector<std::string> destinations{};
  json::object metadata{};
  std::vector<std::string> tags{}; ///< the tag `nostream`: its messages are not streamed
  /// Delays the node, however often it is triggered, until a step would have no other node to run
  /// (LangGraph's `defer`).
  bool defer = false;
  /// Policies for retrying a failed activation; the first that matches the failure applies.
  std::vector<retry_policy> retry{};
  std::optional<cache_policy> cache{}; ///< applies if the graph or the run has a cache
  std::optional<timeout_policy> timeout{};
  /// Turns the failure of an activation (an exception, a killed actor) into an output. If it
  /// returns nothing, the run fails. When a run is cancelled, it is called for every unfinished
  /// task with graph_errc::cancelled; if it returns an output for all of them, the step is applied
  /// before the run ends. It is not called when a run ends for another reason. Runs on the lane, so
  /// it must be short.
  std::function<std::optional<node_output>(const body_input&, const run_error&)> on_failure{};
};

/// Whether a subgraph keeps its state between calls.
enum class persistence : std::uint8_t {
  per_call,   ///< each call starts from an empty state, but resumes after an interrupt or a retry
  per_thread, ///< a call starts from the state that earlier calls on the thread left
  none,       ///< nothing is saved: an interrupted call starts over
};

/// Options of compile(), for all front ends.
struct compile_options {
  std::string name = "graph";
  /// Saves the checkpoints of runs that name a thread. A subgraph uses its parent's.
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{};
  std::shared_ptr<write_cache> cache{};
  /// Nodes before or after which a run is interrupted; `*` names all.
  std::vector<std::string> interrupt_before{};
  std::vector<std::string> interrupt_after{};
  /// Converts values from checkpoints of channels whose type has changed since. Empty: such
  /// checkpoints are refused.
  value_converter convert{};
  /// Numbers of the channels that a caller of the graph sees; empty: all.
  std::vector<std::uint32_t> output{};
  /// Applies if the graph is a subgraph.
  superstep::persistence persistence = superstep::persistence::per_call;
  /// The longest time that a super-step may take; unset: no limit. After it the tasks are cancelled
  /// and the run fails with graph_errc::step_timeout.
  std::optional<std::chrono::milliseconds> step_timeout{};
  /// Ignores destinations that the graph does not have, as LangGraph does. Otherwise they fail the
  /// node with graph_errc::unknown_node.
  bool ignore_unknown_targets = false;
  /// Reports warnings (see program::warnings()) as faults.
  bool strict = false;
  /// Also warns of nodes that run more than once because single edges of unequal depth feed them.
  bool lint = false;
  /// Prints the writes of each step of a run, and the state after it, to std::clog; see
  /// debug_line.hpp.
  bool debug = false;
};

} // namespace superstep
