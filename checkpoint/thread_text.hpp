// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "point_codec.hpp"

#include <string>
#include <string_view>
#include <vector>

// A thread as text: docs/checkpoint-format.md, "Exported threads".
namespace superstep::detail {

struct exported_point {
  std::string ns;
  point_head head;
  std::string base; ///< empty: the row is whole
  std::size_t layout = 0;
  std::string row; ///< JSON
  struct task {
    std::size_t layout = 0;
    std::string row; ///< JSON
  };
  std::vector<task> tasks; ///< of the step that follows
};

struct exported_thread {
  std::vector<std::string> layouts;   ///< as write_layout() gives them
  std::vector<exported_point> points; ///< by namespace; each after its base
};

[[nodiscard]] std::string write_thread(std::string_view thread_id, const exported_thread&);
/// Throws saver_error. In what it returns each point's base comes before it and its layout is
/// there.
[[nodiscard]] exported_thread read_thread(std::string_view text);

[[nodiscard]] json::value parse_row(std::string_view text);

} // namespace superstep::detail
