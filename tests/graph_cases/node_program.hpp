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

/// What a program of a case raises.
class case_error : public std::runtime_error, public named_exception {
public:
  case_error(std::string type, const std::string& message)
      : runtime_error{message}, type_{std::move(type)} {}
  [[nodiscard]] const std::string& type() const noexcept { return type_; }
  [[nodiscard]] std::string_view error_class() const noexcept override { return type_; }

private:
  std::string type_;
};

/// A case asks for something that superstep does not do yet.
class unsupported : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// How often each program of a case has been started; shared by all its calls. Thread-safe.
class execution_counts {
public:
  /// With a seed the ends of programs are held back at random, and a few programs stand still for
  /// so long that their lane goes on without them.
  explicit execution_counts(std::optional<std::uint64_t> seed = {}) {
    if (seed)
      shuffle_.emplace(*seed);
  }
  /// For how many turns of its lane a program that has run is held back.
  unsigned random_turns();
  void random_stall();
  std::int64_t start(const std::string& node);
  [[nodiscard]] json::object all() const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;
  std::optional<std::mt19937_64> shuffle_;
};

/// The graphs of a case by name, as they are built.
using graph_library = std::map<std::string, compiled_json_graph, std::less<>>;

/// The program of one node: what the recorded cases have instead of code.
struct node_program {
  std::string name; ///< graph/node
  json::array ops;
  std::shared_ptr<execution_counts> counts;
  std::weak_ptr<const graph_library> graphs; ///< that it may call; they hold the programs

  /// Throws case_error and graph_error as a body does.
  [[nodiscard]] task<json_command> run(json::value input, runtime rt) const;
};

/// Targets as a goto or a branch gives them: a name, a Send, or a list of these.
[[nodiscard]] std::vector<json_target> targets_of(const json::value&);

} // namespace superstep::graph_cases
