// SPDX-License-Identifier: Apache-2.0
// The error of an attempt that exceeded its node's timeout. actors/call_setup.cpp creates it.
#include <superstep/runtime/node_options.hpp>

#include <array>
#include <cstdio>
#include <utility>

namespace superstep {

namespace {

std::string seconds(std::chrono::milliseconds t) {
  auto text = std::array<char, 32>{};
  const auto length =
      std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(t.count()) / 1'000.0);
  return {text.data(), static_cast<std::size_t>(length)};
}

/// Adds the error code, and the text of LangGraph's NodeTimeoutError (1.2.22).
run_error explained(node_timeout_error::kind what, std::chrono::milliseconds limit,
                    std::chrono::milliseconds elapsed, run_error where) {
  const auto is_idle = what == node_timeout_error::kind::idle;
  where.code = make_error_code(graph_errc::node_timeout);
  where.text = "Node '" + where.node + "' exceeded its " + (is_idle ? "idle" : "run") +
               " timeout of " + seconds(limit) + "s" + (is_idle ? " without making progress" : "") +
               " (elapsed: " + seconds(elapsed) + "s).";
  return where;
}

} // namespace

node_timeout_error::node_timeout_error(kind what, std::chrono::milliseconds limit,
                                       std::chrono::milliseconds elapsed, run_error where)
    : graph_error{explained(what, limit, elapsed, std::move(where))}, kind_{what}, limit_{limit},
      elapsed_{elapsed} {}

} // namespace superstep
