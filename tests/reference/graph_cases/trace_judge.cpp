// SPDX-License-Identifier: Apache-2.0
// Compares a trace with the recorded one.
#include "graph_cases/trace_judge.hpp"

#include "graph_cases/expression.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

namespace superstep::graph_cases {

namespace {

bool steps_go_forward(const json::array& events) {
  auto last = std::numeric_limits<std::int64_t>::min();
  for (const auto& event : events) {
    if (!event.at("ns").as_array().empty() || event.at("mode") == "checkpoints")
      continue;
    const auto step = event.at("step").as_int64();
    if (step < last)
      return false;
    last = step;
  }
  return true;
}

json::array sorted_events(const json::array& events) {
  using key = std::tuple<std::string, std::int64_t, std::string, std::string>;
  auto keyed = std::vector<std::pair<key, json::value>>{};
  for (const auto& e : events)
    keyed.emplace_back(key{to_canonical_text(e.at("ns")), e.at("step").as_int64(),
                           std::string{e.at("mode").as_string()}, to_canonical_text(e.at("data"))},
                       e);
  std::ranges::sort(keyed, {}, [](const auto& k) -> const auto& { return k.first; });
  auto out = json::array{};
  for (auto& [k, e] : keyed)
    out.push_back(std::move(e));
  return out;
}

/// Sorts a list member whose order is not defined.
void sort_member(json::object& of, std::string_view name) {
  if (auto* list = of.if_contains(name); list != nullptr && list->is_array())
    std::ranges::sort(list->get_array(), {},
                      [](const json::value& v) { return to_canonical_text(v); });
}

void sort_state(json::value& state) {
  if (!state.is_object())
    return;
  auto& of = state.get_object();
  if (auto* tasks = of.if_contains("tasks")) {
    for (auto& task : tasks->as_array()) {
      sort_member(task.as_object(), "interrupts");
      if (auto* below = task.as_object().if_contains("state"))
        sort_state(*below);
    }
  }
  for (const auto* name : {"next", "interrupts", "tasks"})
    sort_member(of, name);
}

void sort_event(json::object& event) {
  if (auto* data = event.if_contains("data"); data != nullptr && data->is_object())
    for (const auto* name : {"__interrupt__", "interrupts", "next"})
      sort_member(data->get_object(), name);
}

json::object normal_entry(const json::object& entry, bool ordered) {
  auto out = entry;
  if (auto* events = out.if_contains("events")) {
    for (auto& event : events->as_array())
      sort_event(event.as_object());
    if (!ordered) {
      out["steps_go_forward"] = steps_go_forward(out["events"].as_array());
      out["events"] = sorted_events(out["events"].as_array());
    }
  }
  for (const auto* name : {"interrupts", "store"})
    sort_member(out, name);
  if (auto* state = out.if_contains("state"))
    sort_state(*state);
  if (auto* history = out.if_contains("history"))
    for (auto& state : history->as_array())
      sort_state(state);
  return out;
}

} // namespace

std::string first_difference(const json::array& expected, const json::array& got, bool ordered) {
  for (auto i = std::size_t{0}; i < std::min(expected.size(), got.size()); ++i) {
    const auto want = to_canonical_text(normal_entry(expected[i].as_object(), ordered));
    const auto have = to_canonical_text(normal_entry(got[i].as_object(), ordered));
    if (want != have)
      return "call " + std::to_string(i) + "\n  want " + want + "\n  got  " + have;
  }
  if (expected.size() != got.size())
    return "want " + std::to_string(expected.size()) + " entries, got " +
           std::to_string(got.size());
  return {};
}

bool is_unsupported(const json::array& trace) {
  return std::ranges::any_of(
      trace, [](const json::value& entry) { return entry.as_object().contains("unsupported"); });
}

} // namespace superstep::graph_cases
