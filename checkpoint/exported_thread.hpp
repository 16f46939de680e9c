// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint_codec.hpp"

#include <string>
#include <string_view>
#include <vector>

// The text form of exported threads; docs/checkpoint-format.md describes it under "Exported
// threads". Rows are the same JSON texts as in a database. So export and import need neither the
// graph that wrote the thread nor its C++ types.
namespace superstep::detail {

/// One line of an exported thread: a checkpoint and its task records.
struct exported_checkpoint {
  std::string ns;
  checkpoint_header header;
  std::string base; ///< id of the checkpoint that the row is a delta to; empty for a whole row
  std::size_t layout = 0; ///< index into exported_thread::layouts
  std::string row;        ///< JSON
  struct task {
    std::size_t layout = 0; ///< index into exported_thread::layouts
    std::string row;        ///< JSON
  };
  std::vector<task> tasks; ///< records of the tasks that run after the checkpoint
};

/// An exported thread with all its namespaces: the graph's and those of its subgraphs.
struct exported_thread {
  std::vector<std::string> layouts;        ///< texts of write_layout()
  std::vector<exported_checkpoint> points; ///< grouped by namespace; a checkpoint follows its base
};

/// Returns the text of an exported thread, which ends with a checksum.
[[nodiscard]] std::string write_thread(std::string_view thread_id, const exported_thread&);
/// Parses the text of write_thread(). In the result, every layout index is valid and every base
/// precedes its dependents. @throws checkpoint_error{corrupt, newer_format}
[[nodiscard]] exported_thread read_thread(std::string_view text);

/// Parses the text of a row. @throws checkpoint_error{corrupt}
[[nodiscard]] json::value parse_row(std::string_view text);

} // namespace superstep::detail
