// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph_cases/expression.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

namespace superstep::graph_cases {

/// An error that a program of a case raises.
class case_error : public std::runtime_error, public named_exception {
public:
  case_error(std::string type, const std::string& message)
      : runtime_error{message}, type_{std::move(type)} {}
  [[nodiscard]] const std::string& type() const noexcept { return type_; }
  [[nodiscard]] std::string_view error_class() const noexcept override { return type_; }

private:
  std::string type_;
};

/// Thrown if a case needs a feature that superstep does not have yet.
class unsupported : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// The number of starts of each program of a case, shared by all its calls. Thread-safe.
class execution_counts {
public:
  /// With a seed, the ends of programs are delayed at random, and a few programs block for so long
  /// that their lane continues without them.
  explicit execution_counts(std::optional<std::uint64_t> seed = {}) {
    if (seed)
      shuffle_.emplace(*seed);
  }
  /// Returns the number of lane turns by which a finished program is delayed.
  unsigned random_turns();
  void random_stall();
  std::int64_t start(const std::string& node);
  [[nodiscard]] json::object all() const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;
  std::optional<std::mt19937_64> shuffle_;
};

/// The graphs of a case by name.
using graph_library = std::map<std::string, compiled_json_graph, std::less<>>;

/// The program of one node, which recorded cases contain in place of code.
struct node_program {
  std::string name; ///< graph/node
  json::array ops;
  std::shared_ptr<execution_counts> counts;
  std::weak_ptr<const graph_library> graphs; ///< graphs that it may call; they own the programs

  /// Throws case_error and graph_error like a node body.
  [[nodiscard]] task<json_command> run(json::value input, runtime rt) const;
};

/// Returns the targets of a goto or a branch: a name, a Send, or a list of these.
[[nodiscard]] std::vector<json_target> targets_of(const json::value&);

} // namespace superstep::graph_cases
