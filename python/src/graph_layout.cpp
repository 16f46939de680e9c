// SPDX-License-Identifier: Apache-2.0
// The channels of a Python graph: conversion between its state and dicts, and destinations.
#include "api.hpp"
#include "convert.hpp"
#include "graph.hpp"
#include "types.hpp"

#include <utility>

namespace superstep::python {

namespace {

std::string names_of(const graph_layout& layout) {
  auto out = std::string{};
  for (const auto& c : layout.channels)
    out += (out.empty() ? "'" : ", '") + c.name + '\'';
  return out;
}

[[noreturn]] void throw_unknown_key(std::string_view key, const graph_layout& layout) {
  const auto text = "an update has the key '" + std::string{key} +
                    "', but the state has only the keys " + names_of(layout);
  throw nb::value_error(text.c_str());
}

} // namespace

graph_layout::values graph_layout::values_of(const state_block& state) const {
  const auto& slots = static_cast<const slot_block&>(state);
  auto out = values{};
  out.reserve(channels.size());
  for (auto i = std::size_t{0}; i < channels.size(); ++i)
    out.push_back(slots.at<value_ref>(i));
  return out;
}

nb::dict graph_layout::read(const values& from, const std::vector<std::uint32_t>& only) const {
  auto out = nb::dict();
  const auto add = [&](std::size_t i) {
    if (from[i] == nullptr)
      return;
    const auto object = from[i]->get();
    if (PyDict_SetItem(out.ptr(), channels[i].key.get().ptr(), object.ptr()) != 0)
      throw nb::python_error();
  };
  if (only.empty())
    for (auto i = std::size_t{0}; i < from.size(); ++i)
      add(i);
  else
    for (const auto i : only)
      add(i);
  return out;
}

value_ref graph_layout::make_value(nb::handle object, const std::string& where) const {
  if (!stores_values)
    return new python_value{object};
  return new python_value{object, to_stored(object, where)};
}

void graph_layout::add_writes(nb::handle update, std::vector<write>& to) const {
  if (update.is_none())
    return;
  if (!PyDict_Check(update.ptr())) {
    const auto text = "an update is " + type_text(update) +
                      "; a node must return a dict, a Command, a list of these, or None";
    throw nb::type_error(text.c_str());
  }
  PyObject* key = nullptr;
  PyObject* object = nullptr;
  auto position = Py_ssize_t{0};
  while (PyDict_Next(update.ptr(), &position, &key, &object)) {
    const auto name = text_of(key, "a key of an update");
    const auto found = numbers.find(name);
    if (found == numbers.end())
      throw_unknown_key(name, *this);
    const auto overwrites = is_a(object, types().overwrite);
    const auto inner =
        overwrites ? nb::object(nb::handle(object).attr("value")) : nb::object(nb::borrow(object));
    auto where = stores_values ? "state['" + found->first + "']" : std::string{};
    to.push_back({found->second, overwrites, value{value_write{make_value(inner, where)}}});
  }
}

void graph_layout::combine(std::vector<write>& writes, values& from) const {
  auto count = std::vector<std::uint32_t>(channels.size());
  for (const auto& w : writes)
    ++count[w.channel];
  for (auto& w : writes) {
    auto& held = from[w.channel];
    auto written = w.content.take<value_write>();
    const auto& of = channels[w.channel];
    if (w.overwrite || of.rule == value_rule::last || held == nullptr) {
      held = written.content;
    } else {
      const auto made = call_reducer(*of.reducer, held->get(), written.content->get());
      auto combined = make_value(made, stores_values ? "state['" + of.name + "']" : std::string{});
      if (count[w.channel] == 1) {
        written.base = held;
        written.combined = combined;
      }
      held = std::move(combined);
    }
    w.content = value{std::move(written)};
  }
}

namespace {

void add_target(nb::handle from, const graph_layout& layout,
                const std::map<std::string, std::string>& labels, python_targets& to) {
  if (is_a(from, types().send)) {
    const auto node = from.attr("node");
    auto input = layout.make_value(from.attr("arg"), "the input of a Send");
    to.push_back({std::string{text_of(node, "the node of a Send")}, std::move(input)});
    return;
  }
  auto name = PyBool_Check(from.ptr()) ? std::string{from.ptr() == Py_True ? "true" : "false"}
                                       : std::string{text_of(from, "a destination")};
  if (!labels.empty()) {
    const auto found = labels.find(name);
    if (found == labels.end())
      throw nb::value_error(
          ("a router returned '" + name + "', which its map does not contain").c_str());
    name = found->second;
  }
  to.push_back({std::move(name)});
}

} // namespace

python_targets read_targets(nb::handle from, const graph_layout& layout,
                            const std::map<std::string, std::string>& labels) {
  auto out = python_targets{};
  if (PyList_Check(from.ptr()) || PyTuple_Check(from.ptr()))
    for (auto item : from)
      add_target(item, layout, labels, out);
  else if (!from.is_none())
    add_target(from, layout, labels, out);
  return out;
}

void add_targets(const python_targets& targets, const detail::program& table, node_output& out) {
  for (const auto& t : targets) {
    if (t.input != nullptr)
      table.send_to(out, t.node, value{value_ref{t.input}});
    else
      table.go_to(out, t.node);
  }
}

} // namespace superstep::python
