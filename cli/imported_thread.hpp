// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::cli {

/// Converts a checkpoint, as checkpointer::show() returns it, to LangGraph's JSON form. The result
/// has the members of LangGraph's checkpoints (`channel_values`, `channel_versions`, `metadata`)
/// and of its snapshots (`values`, `next`).
[[nodiscard]] json::object to_langgraph_form(const json::object& shown);

/// A thread of LangGraph, converted to superstep's export format.
struct imported_thread {
  std::string text; ///< for checkpointer::import_thread()
  /// Paths and classes of values that are placeholders, because JSON cannot represent the original
  /// values (datetime, bytes, sets, objects of Python classes). At most 20 entries, and one that
  /// counts the rest.
  std::vector<std::string> placeholders;
};

/// Reads a thread in LangGraph's JSON form: a checkpoint with `channel_values`, or a snapshot with
/// `values`. The text may also be a list of these, newest first; only the first element is used.
/// Messages may be in any form that LangGraph writes. LangGraph's internal channels are left out.
/// Throws std::runtime_error if the text is not a thread.
[[nodiscard]] imported_thread from_langgraph_form(std::string_view text);

} // namespace superstep::cli
