// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process.hpp"
#include "results.hpp"
#include "row_block.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent_options.hpp>
#include <superstep/runtime/inputs.hpp>
#include <superstep/runtime/run_config.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>

namespace superstep::python {

namespace nb = nanobind;

class row_window;

/// The input of a row that has not been started: the text of a message, or another input.
using row_input = std::variant<std::string, detail::run_input>;

/// A block whose rows wait or run. Used by row_window.
struct open_block {
  std::shared_ptr<row_block> outcomes{};
  std::vector<std::optional<row_input>> inputs{}; ///< nullopt: the row has already failed
  std::vector<std::string> thread_ids{};          ///< the threads of all rows; empty: none
  std::int64_t tag = 0;                           ///< under which the outcomes are delivered

  std::shared_ptr<row_window> owner{}; ///< set by row_window::add(), like the other members
  std::vector<run_handle> runs{};
  std::size_t next = 0;    ///< the first row that has not been started
  std::size_t missing = 0; ///< number of rows without an outcome
};

/// The options of a row_window.
struct row_window_options {
  run_config config{};         ///< of all runs
  std::size_t concurrency = 1; ///< the largest number of rows that run at the same time, at least 1
  bool reports_room =
      false; ///< whether the queue also receives None, with the tag -1, when no row waits
  bool stores_messages = true; ///< whether the outcomes have the column `messages`
};

/// Runs an agent over blocks of rows, for the adapters of data frameworks. The threads of the
/// engine start the rows and store their outcomes without Python.
/// @par Threads
/// The members may be called from any thread. None waits for a row.
class row_window : public std::enable_shared_from_this<row_window> {
public:
  /// Needs the GIL.
  /// @param to receives a block, as a block_reference, when its last row has ended
  row_window(compiled_graph<chat_state> graph, row_window_options options, result_queue_ptr to);

  /// Adds a block. The calling thread does not hold the GIL.
  /// @param runs the engine of the process, which may be destroyed before the window
  void add(open_block block, const std::shared_ptr<engine>& runs);
  /// Returns the number of rows that have not been started.
  [[nodiscard]] std::size_t waiting() const;
  /// Cancels the rows that run, and starts no more. Blocks that are not complete are not delivered.
  void cancel();
  /// Returns the graph of the agent.
  [[nodiscard]] const compiled_graph<chat_state>& graph() const noexcept { return graph_; }

private:
  using block_ptr = std::shared_ptr<open_block>;

  void fill(engine& runs);
  [[nodiscard]] run_handle start(engine& runs, const block_ptr& block, std::size_t row) noexcept;
  void end_row(open_block& block);
  void deliver(const open_block& block);

  const compiled_graph<chat_state> graph_;
  const kept_in_child<compiled_graph<chat_state>> kept_{graph_};
  const row_window_options options_;
  const result_queue_ptr to_;
  process& process_ = process::get();

  mutable std::mutex mutex_;     // for the members below, and those of blocks that change
  std::deque<block_ptr> blocks_; // those with rows that have not been started
  std::vector<std::weak_ptr<open_block>> all_blocks_;
  std::size_t waiting_ = 0;
  std::size_t live_ = 0;
  bool is_filling_ = false; // whether a thread starts rows; other threads need not do it then
  bool is_cancelled_ = false;
};

/// The class RowWindow of the module.
struct window_reference {
  std::shared_ptr<row_window> window;
};

/// Adds the classes RowWindow and RowBlock to the module.
void add_rows(nb::module_& m);

} // namespace superstep::python
