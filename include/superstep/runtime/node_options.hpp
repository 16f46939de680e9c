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

/// A policy for retrying failed tasks (`RetryPolicy` in langgraph/types.py). A task is one
/// execution of a node in a super-step. Each attempt starts from the same state. The output of a
/// failed attempt is discarded.
struct retry_policy {
  std::uint32_t max_attempts = 3;                  ///< including the first; 0 and 1: no retry
  std::chrono::milliseconds initial_interval{500}; ///< wait before the second attempt
  double backoff_factor = 2.0;                     ///< factor from each wait to the next
  /// The longest wait, without jitter.
  std::chrono::milliseconds max_interval{128'000};
  /// Whether to add a random time of less than a second to each wait, so that many runs do not
  /// retry at the same moment.
  bool jitter = true;
  /// Returns whether a failure is retried; empty: is_worth_a_retry(). Called on a lane thread, so
  /// it must be short. If it throws, the task is not retried.
  std::function<bool(const std::exception_ptr&)> retry_on{};
};

/// Whether a retry_policy without `retry_on` retries a failure. The C++ equivalent of LangGraph's
/// default_retry_on (langgraph/_internal/_retry.py). A failure is retried unless the same input
/// would repeat it. Not retried are:
/// - std::logic_error (invalid_argument, out_of_range, …) and std::bad_cast
/// - graph_error, except node_timeout_error
/// - std::system_error with errc::invalid_argument, or with a generic or system code that does not
///   report a broken connection
/// - null, which means that the actor of the task received an exit message
///
/// Does not throw. May be called from any thread.
[[nodiscard]] bool is_worth_a_retry(const std::exception_ptr&);

/// Returns the wait before the attempt that follows `attempt`: initial_interval, multiplied by
/// backoff_factor for each earlier wait, at most max_interval, plus the jitter. A negative wait
/// counts as 0, one that is not a number as max_interval. May be called from any thread.
/// @param attempt number of the attempt that failed, from 1
/// @param random a random number; with jitter, `random % 1000` milliseconds are added
[[nodiscard]] std::chrono::milliseconds wait_after(const retry_policy&, std::uint32_t attempt,
                                                   std::uint64_t random);

/// The longest time that one attempt of a task may take (`TimeoutPolicy` in langgraph/types.py). An
/// attempt that takes longer fails with node_timeout_error, which is_worth_a_retry() accepts. A
/// suspended body is destroyed. A running body is asked to stop (runtime::stop()); it runs to
/// completion and its result is discarded. compile() reports a policy that sets neither `run` nor
/// `idle`, and limits below 1 ms.
struct timeout_policy {
  /// Limit for the time since the start of the attempt. Not set: no limit.
  std::optional<std::chrono::milliseconds> run{};
  /// Limit for the time since the last progress of the body. Not set: no limit. The time for which
  /// a graph that the body runs waits for the reader of its stream does not count.
  std::optional<std::chrono::milliseconds> idle{};
  /// Whether only runtime::heartbeat() counts as progress. Otherwise the events that the body
  /// emits, and progress of the graphs that it runs, count as well.
  bool heartbeats_only = false;
};

/// The error of an attempt that exceeded a limit of its node's timeout_policy.
class node_timeout_error : public graph_error {
public:
  /// The limits of a timeout_policy.
  enum class kind : std::uint8_t { run, idle };
  /// Creates the error with graph_errc::node_timeout and LangGraph's text of a NodeTimeoutError.
  /// @param where the node, step and task; its code and text are replaced
  node_timeout_error(kind, std::chrono::milliseconds limit, std::chrono::milliseconds elapsed,
                     run_error where);
  /// Returns the limit that the attempt exceeded.
  [[nodiscard]] kind exceeded() const noexcept { return kind_; }
  /// Returns the value of the exceeded limit.
  [[nodiscard]] std::chrono::milliseconds limit() const noexcept { return limit_; }
  /// Returns the time since the start of the attempt (kind::run) or since its last progress
  /// (kind::idle).
  [[nodiscard]] std::chrono::milliseconds elapsed() const noexcept { return elapsed_; }

private:
  kind kind_;
  std::chrono::milliseconds limit_;
  std::chrono::milliseconds elapsed_;
};

/// The policy by which a node reuses the output of an earlier task with the same input
/// (`CachePolicy` in langgraph/types.py). It applies if the graph or the run has a cache.
struct cache_policy {
  /// Returns the key for an input of the node; see input_as() for reading the input. Called on a
  /// lane thread between two steps, so it must be short. If it throws, the run fails with
  /// graph_errc::user_code_failed. Empty: nodes of a json_graph use their whole input as the key,
  /// other nodes are not cached.
  std::function<std::string(const body_input&)> key{};
  /// Lifetime of an entry. Not set: entries do not expire.
  std::optional<std::chrono::milliseconds> ttl{};
};

/// Options of a node.
struct node_options {
  /// Nodes that the commands of the node may name, for drawings and for the checks of compile(). A
  /// run does not check commands against the list. Empty: any node.
  std::vector<std::string> destinations{};
  json::object metadata{}; ///< shown in drawings of the graph
  /// Tags of the node. With the tag `nostream`, its messages are not streamed; other tags have no
  /// effect.
  std::vector<std::string> tags{};
  /// Delays the node, however often it is triggered, until a step would have no other node to run
  /// (LangGraph's `defer`).
  bool defer = false;
  /// Policies for retrying a failed task; the first that matches the failure applies. Empty: those
  /// of graph::defaults(), or no retries.
  std::vector<retry_policy> retry{};
  /// Not set: the policy of graph::defaults(), or no caching. Graphs that share a cache need
  /// different names (compile_options::name), because nodes with the same name share entries
  /// otherwise.
  std::optional<cache_policy> cache{};
  /// Not set: the policy of graph::defaults(), or no limit.
  std::optional<timeout_policy> timeout{};
  /// Turns the failure of a task (an exception, an exit message to its actor) into an output.
  /// Called when the task is not retried. If it returns nothing or throws, the failure is handled
  /// as if on_failure were not set.
  ///
  /// When a run is cancelled, it is called for every unfinished task with graph_errc::cancelled. If
  /// it returns an output for all of them, the step is applied before the run ends. It is not
  /// called when a run ends for another reason. Called on a lane thread, so it must be short.
  std::function<std::optional<node_output>(const body_input&, const run_error&)> on_failure{};
};

/// Whether a subgraph keeps its state between calls (`checkpointer` in LangGraph's `compile()`:
/// None, True, False).
enum class persistence : std::uint8_t {
  per_call,   ///< a call starts from the initial state; an interrupted or retried one is resumed
  per_thread, ///< a call starts from the state at the end of the last call on the thread
  none,       ///< nothing is saved: an interrupted call starts over
};

/// Options of compile(), the same for all graph classes.
struct compile_options {
  std::string name = "graph"; ///< used in error texts, checkpoints, caches and drawings
  /// Saves the checkpoints of the runs, which must set run_config::thread_id. Null: runs are not
  /// saved. A subgraph uses the checkpointer of its parent.
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  /// The long-term memory of the runs; see runtime::store(). A subgraph uses the store of its
  /// parent.
  std::shared_ptr<superstep::store> store{};
  /// Stores the outputs of nodes with a cache_policy, by the names of graph and node. A subgraph
  /// uses the cache of its parent.
  std::shared_ptr<write_cache> cache{};
  /// Nodes before which a run is interrupted; `*` names all.
  std::vector<std::string> interrupt_before{};
  /// Nodes after which a run is interrupted; `*` names all.
  std::vector<std::string> interrupt_after{};
  /// Converts values from checkpoints that were saved when their channel had another type. Empty:
  /// loading such a checkpoint fails with checkpoint_errc::type_changed.
  value_converter convert{};
  /// Whether the graph keeps its state between calls; applies if it is a subgraph.
  superstep::persistence persistence = superstep::persistence::per_call;
  /// The longest time that a super-step may take, at least 1 ms. When it has passed, the tasks are
  /// cancelled and the run fails with graph_errc::step_timeout. Not set: no limit.
  std::optional<std::chrono::milliseconds> step_timeout{};
  /// Whether to ignore destinations that are not nodes of the graph, as LangGraph does. Otherwise
  /// the node that chose one fails with graph_errc::unknown_node.
  bool ignore_unknown_targets = false;
  /// Whether to report warnings (see compiled_graph::warnings()) as faults.
  bool strict = false;
  /// Whether to warn also about nodes that run more than once because edges reach them in different
  /// super-steps.
  bool lint = false;
  /// Whether to print the writes of each step of a run, and the state after the step, to std::clog.
  /// The form is that of LangGraph's `debug` option, with JSON in place of Python's notation.
  bool debug = false;
};

} // namespace superstep
