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

/// When an activation that failed is tried again. Each attempt starts from the same state and with
/// no writes; nothing of a failed one is kept.
struct retry_policy {
  std::uint32_t max_attempts = 3; ///< the first one included
  std::chrono::milliseconds initial_interval{500};
  double backoff_factor = 2.0; ///< each wait is so many times the one before
  std::chrono::milliseconds max_interval{128'000};
  bool jitter = true; ///< adds up to a second, so that many runs do not come back at once
  /// Whether this failure is worth another attempt; empty: is_worth_a_retry().
  std::function<bool(const std::exception_ptr&)> retry_on;
};

/// The default of the reference in the terms of this language: everything but what the same input
/// must give again: std::logic_error (invalid_argument, out_of_range, …), bad_cast, graph_error,
/// and errors of the operating system other than those of a connection.
[[nodiscard]] bool is_worth_a_retry(const std::exception_ptr&);

/// How long to wait before the attempt that follows `attempt`. With jitter a random number decides
/// how much of a second is added.
[[nodiscard]] std::chrono::milliseconds wait_after(const retry_policy&, std::uint32_t attempt,
                                                   std::uint64_t random);

/// The policy that decides about a failure: the first whose predicate holds. Null: none does, or no
/// attempt is left; attempts count across policies.
[[nodiscard]] const retry_policy* find_policy(const std::vector<retry_policy>&,
                                              const std::exception_ptr&, std::uint32_t attempt);

/// How long one attempt of an activation may take. One that takes longer fails with
/// node_timeout_error, which is worth a retry by default; what it wrote is dropped. A body that
/// waits is destroyed; one that runs is asked to stop and runs out unheard. compile() refuses a
/// policy without a limit, and limits below 1 ms.
struct timeout_policy {
  std::optional<std::chrono::milliseconds> run{};  ///< from its start; unset: no limit
  std::optional<std::chrono::milliseconds> idle{}; ///< without progress; unset: no limit
  /// Progress is what the body emits, what the graphs it runs do, and runtime::heartbeat().
  /// Set: only the last of these.
  bool heartbeats_only = false;
};

/// An attempt took longer than its node may take.
class node_timeout_error : public graph_error {
public:
  enum class kind : std::uint8_t { run, idle };
  node_timeout_error(kind, std::chrono::milliseconds limit, std::chrono::milliseconds elapsed,
                     run_error where);
  [[nodiscard]] kind what_passed() const noexcept { return kind_; }
  [[nodiscard]] std::chrono::milliseconds limit() const noexcept { return limit_; }
  [[nodiscard]] std::chrono::milliseconds elapsed() const noexcept { return elapsed_; }

private:
  kind kind_;
  std::chrono::milliseconds limit_;
  std::chrono::milliseconds elapsed_;
};

/// When an activation need not be run because the same input was seen before.
struct cache_policy {
  /// Of what the node reads. Runs between two steps on the engine's thread, so it must be short.
  /// Empty: the whole input, where the node can show it.
  std::function<std::string(const body_input&)> key{};
  std::optional<std::chrono::milliseconds> ttl{}; ///< nothing: for ever
};

/// What a node may be told beside its body.
struct node_options {
  /// Nodes that its Commands may go to: drawn, and checked by compile().
  std::vector<std::string> destinations{};
  json::object metadata{};
  std::vector<std::string> tags{}; ///< `nostream`: its messages are not streamed
  /// Holds the node back, however often it is triggered, until a step would leave nothing else to
  /// run (the reference's `defer`).
  bool defer = false;
  /// When an activation that failed is tried again; the first policy that fits decides.
  std::vector<retry_policy> retry{};
  std::optional<cache_policy> cache{}; ///< used when the graph or the run has a cache
  std::optional<timeout_policy> timeout{};
  /// Turns the failure of an activation (an exception, a killed actor) into an output. Empty
  /// result: the run fails. When a run is cancelled the nodes of all tasks that are still open are
  /// asked (graph_errc::cancelled), and if all have an output the step is applied before the run
  /// ends. Not asked when a run ends for another reason.
  std::function<std::optional<node_output>(const body_input&, const run_error&)> on_failure{};
};

/// What becomes of a subgraph's state between calls.
enum class persistence : std::uint8_t {
  per_call,   ///< every call starts afresh, but goes on after an interrupt or a retry
  per_thread, ///< a call goes on with what earlier calls of the thread left
  none,       ///< nothing is kept: an interrupted call starts over
};

struct compile_options {
  std::string name = "graph";
  /// Keeps the threads of runs that name one. A subgraph uses its parent's.
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{};
  std::shared_ptr<write_cache> cache{};
  /// Nodes that a run stops before or after; `*`: all.
  std::vector<std::string> interrupt_before{};
  std::vector<std::string> interrupt_after{};
  /// Turns values of checkpoints whose channels have another type now; empty: they are refused.
  value_converter convert{};
  /// Channels that a caller of the graph sees, by number; empty: all.
  std::vector<std::uint32_t> output{};
  /// As a subgraph.
  superstep::persistence persistence = superstep::persistence::per_call;
  /// How long a super-step may take; unset: no limit. Its tasks are cancelled, and the run fails.
  std::optional<std::chrono::milliseconds> step_timeout{};
  /// What a Command or router may name that the graph does not have: an error, or nothing (the
  /// reference).
  bool ignore_unknown_targets = false;
  /// What would be a warning (see program::warnings()) is a fault.
  bool strict = false;
  /// Also warns of nodes that run more than once because single edges of unequal depth feed them.
  bool lint = false;
  /// Prints what each step of a run writes, and the state after it, to std::clog.
  bool debug = false;
};

} // namespace superstep
