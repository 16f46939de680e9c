// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unit/actors/simulator/disk.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace superstep::simulation {

/// One operation of a scripted body.
struct operation {
  enum class kind : std::uint8_t {
    work,  ///< may be interrupted `amount` times
    wait,  ///< suspends for `amount` microseconds
    block, ///< blocks its thread for `amount` microseconds
    ask,   ///< asks a question and waits for the answer
    fork,  ///< forks `amount` calls, which wait, block and fork
    nest,  ///< runs graph `amount`
    beat,  ///< sends `amount` heartbeats, 20 ms apart
    emit,  ///< sends an event to the stream
    bulk,  ///< adds `amount` writes to the output, and a slow one
  };
  kind what = kind::work;
  int amount = 0;
};

/// The end of the failing attempts of a body.
enum class ending : std::uint8_t { throws, throws_int, hangs };

/// A node: its script, its options and what follows it.
struct scripted_node {
  std::vector<operation> script;
  int failures = 0; ///< number of attempts that fail
  ending fails_by = ending::throws;
  int attempts = 1; ///< of its retry policy
  int retry_ms = 0;
  int timeout_ms = 0;
  int idle_ms = 0;
  bool has_handler = false;
  bool has_on_failure = false;
  bool is_deferred = false;
  int subgraph = -1;         ///< index of the graph that is the node; -1: a body
  std::vector<int> edges;    ///< nodes that follow it
  std::vector<int> branches; ///< its router chooses one of these nodes
  int sends = 0;             ///< number of Sends of its output
  int goes_to = -1;          ///< target of its command
  bool leaves = false;       ///< its output is a command to the parent graph
};

struct scripted_join {
  std::vector<int> sources;
  int target = 0;
};

/// A graph. The nodes of graph n nest only graphs with higher numbers.
struct scripted_graph {
  std::vector<scripted_node> nodes;
  scripted_node worker; ///< the node that Sends activate
  int entries = 1;      ///< number of nodes that START triggers
  std::vector<scripted_join> joins;
  int step_timeout_ms = 0;
  std::vector<int> stops_before;
  std::vector<int> stops_after;
  superstep::persistence persistence = superstep::persistence::per_call;
};

/// A run that is submitted.
struct scripted_run {
  bool is_saved = false;
  superstep::durability durability = superstep::durability::async;
  int max_concurrency = 0;
  int deadline_ms = 0;
  int start_us = 0;
  int buffer = 0; ///< events that its reader leaves unread at most; 0: no stream
  int reader_us = 0;
  bool resubmits = false; ///< its callback submits another run
};

/// Something that happens to the runs from outside.
struct disturbance {
  enum class kind : std::uint8_t {
    cancel,
    drain,
    exit_actor,
    exit_coordinator,
    monitor,
    message, ///< a message that its receiver drops, and until then is busy with
    hold_lease,
    take_over_lease,
    shut_down,
  };
  kind what = kind::cancel;
  int at_us = 0;
  int run = 0;    ///< index of the run that it is aimed at
  int amount = 0; ///< the actor that is chosen, or a duration in microseconds
};

/// Everything that a seed decides, except the order of events.
struct scenario {
  std::uint64_t seed = 0;
  std::uint64_t order = 0; ///< seed of the order of events
  std::vector<scripted_graph> graphs;
  std::vector<scripted_run> runs;
  std::vector<disturbance> disturbances;
  disk_faults faults;
  std::size_t lanes = 1;
  bool pools_actors = true;
  std::uint32_t steps_per_turn = 1'024;
  bool crashes = false; ///< after the schedule, runs are also resumed from an earlier moment
};

/// Generates a scenario.
[[nodiscard]] scenario make_scenario(std::uint64_t seed);
/// Returns the scenario as text, to be read by a person.
[[nodiscard]] std::string to_text(const scenario& s);

} // namespace superstep::simulation
