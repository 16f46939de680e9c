// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::cli {

/// Converts a checkpoint of sqlite_checkpointer::show() to LangGraph's JSON form: `channel_values`,
/// `channel_versions` and `metadata`, and `values` and `next` as in its snapshots.
[[nodiscard]] json::object to_langgraph_form(const json::object& shown);

/// A thread of LangGraph in superstep's export format.
struct imported_thread {
  std::string text;
  /// Paths and classes of values that were placeholders, because JSON cannot represent them
  /// (datetime, bytes, sets, objects of Python classes). Bounded; the last entry counts the rest.
  std::vector<std::string> placeholders;
};

/// Reads a thread in LangGraph's JSON form: a checkpoint with `channel_values`, a snapshot with
/// `values`, or a list of these, newest first, of which only the first is used. Messages may be in
/// any form that LangGraph writes. Internal channels are omitted. Throws std::runtime_error if the
/// text is not a thread.
[[nodiscard]] imported_thread from_langgraph_form(std::string_view text);

} // namespace superstep::cli
