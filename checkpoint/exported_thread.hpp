// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint_codec.hpp"

#include <string>
#include <string_view>
#include <vector>

// The text form of exported threads; see docs/checkpoint-format.md, "Exported threads". Rows have
// the same JSON as in the database, so export and import need neither the graph nor its types.
namespace superstep::detail {

/// One line of an exported thread: a checkpoint and its task records.
struct exported_checkpoint {
  std::string ns;
  checkpoint_header header;
  std::string base;       ///< id of the base; empty if the row is whole
  std::size_t layout = 0; ///< index into exported_thread::layouts
  std::string row;        ///< JSON
  struct task {
    std::size_t layout = 0;
    std::string row; ///< JSON
  };
  std::vector<task> tasks; ///< records of the super-step that follows
};

/// A thread with all its namespaces.

struct exported_thread {
  std::vector<std::string> layouts;        ///< texts of write_layout()
  std::vector<exported_checkpoint> points; ///< by namespace; each after its base
};

/// Returns the text of an exported thread, which ends with a checksum.
[[nodiscard]] std::string write_thread(std::string_view thread_id, const exported_thread&);
/// Parses the text of write_thread(). In the result, every layout index is valid and every base
/// precedes its dependents. @throws checkpoint_error{corrupt, newer_format}
[[nodiscard]] exported_thread read_thread(std::string_view text);

/// Parses the text of a row. @throws checkpoint_error{corrupt}
[[nodiscard]] json::value parse_row(std::string_view text);

} // namespace superstep::detail
