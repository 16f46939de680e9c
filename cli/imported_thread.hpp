// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::cli {

/// Returns a checkpoint of sqlite_checkpointer::show() in LangGraph's JSON form:
/// `channel_values`, `channel_versions`, `metadata`, and `values` and `next` besides, as its
/// snapshots have them.
[[nodiscard]] json::object to_langgraph_form(const json::object& shown);

/// A thread of LangGraph as superstep exports threads.
struct imported_thread {
  std::string text;
  /// Values that came as placeholders, because JSON does not have them (datetime, bytes, sets,
  /// objects of Python classes): where each is, and its class. Bounded; the last entry counts
  /// the others.
  std::vector<std::string> placeholders;
};

/// Reads a thread in LangGraph's JSON form: a checkpoint with `channel_values`, a snapshot with
/// `values`, or a list of these, newest first, of which it takes the first. Messages may be in any
/// form in which LangGraph writes them. Its internal channels are left out. Throws
/// std::runtime_error if the text is not a thread.
[[nodiscard]] imported_thread from_langgraph_form(std::string_view text);

} // namespace superstep::cli
