// SPDX-License-Identifier: Apache-2.0
// The options of runs, from keyword arguments of Python.
#include "run_options.hpp"

#include "activation.hpp"
#include "api.hpp"
#include "convert.hpp"
#include "failure.hpp"
#include "threads/thread_run.hpp"
#include "types.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace superstep::python {

namespace {

std::uint32_t read_count(nb::handle from, const std::string& where) {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  const auto is_int = PyLong_Check(from.ptr()) && !PyBool_Check(from.ptr());
  const auto value = is_int ? PyLong_AsLongLong(from.ptr()) : 0;
  PyErr_Clear(); // of an int of more than 64 bits
  if (value < 1 || value > most)
    throw nb::value_error((where + " must be an int of at least 1 and at most " +
                           std::to_string(most) + ", not " + nb::repr(from).c_str())
                              .c_str());
  return static_cast<std::uint32_t>(value);
}

std::chrono::milliseconds read_seconds(nb::handle from, const std::string& where) {
  const auto seconds = PyBool_Check(from.ptr()) ? -1.0 : PyFloat_AsDouble(from.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    throw nb::type_error((where + " must be a number of seconds, not " + type_text(from)).c_str());
  }
  constexpr auto longest = 49.0 * 24 * 3600;
  if (!(seconds > 0) || seconds > longest)
    throw nb::value_error((where +
                           " must be a number of seconds, more than 0 and at most 49 days, not " +
                           nb::repr(from).c_str())
                              .c_str());
  return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000)};
}

durability read_durability(nb::handle from) {
  const auto text = text_of(from, "durability");
  if (text == "sync")
    return durability::sync;
  if (text == "async")
    return durability::async;
  if (text == "exit")
    return durability::exit;
  throw nb::value_error("durability must be 'sync', 'async' or 'exit'");
}

thread_options& thread_of(run_config& config) {
  if (!config.thread)
    config.thread = thread_options{};
  return *config.thread;
}

using reader = void (*)(run_config&, nb::handle);

constexpr auto readers = std::to_array<std::pair<std::string_view, reader>>({
    {"thread_id", [](run_config& c, nb::handle v) { c.thread_id = text_of(v, "thread_id"); }},
    {"run_id", [](run_config& c, nb::handle v) { c.run_id = text_of(v, "run_id"); }},
    {"recursion_limit",
     [](run_config& c, nb::handle v) { c.recursion_limit = read_count(v, "recursion_limit"); }},
    {"max_concurrency",
     [](run_config& c, nb::handle v) { c.max_concurrency = read_count(v, "max_concurrency"); }},
    {"deadline", [](run_config& c, nb::handle v) { c.deadline = read_seconds(v, "deadline"); }},
    {"tags", [](run_config& c, nb::handle v) { c.tags = read_names(v, "tags"); }},
    {"metadata", [](run_config& c, nb::handle v) { c.metadata = to_json_object(v, "metadata"); }},
    {"configurable",
     [](run_config& c, nb::handle v) { c.configurable = to_json_object(v, "configurable"); }},
    {"durability",
     [](run_config& c, nb::handle v) { thread_of(c).durability = read_durability(v); }},
    {"checkpoint_id",
     [](run_config& c, nb::handle v) { thread_of(c).checkpoint_id = text_of(v, "checkpoint_id"); }},
    {"interrupt_before",
     [](run_config& c,
        nb::handle v) { thread_of(c).interrupt_before = read_names(v, "interrupt_before"); }},
    {"interrupt_after",
     [](run_config& c,
        nb::handle v) { thread_of(c).interrupt_after = read_names(v, "interrupt_after"); }},
});

} // namespace

std::vector<std::string> read_names(nb::handle from, const std::string& where) {
  auto out = std::vector<std::string>{};
  if (PyUnicode_Check(from.ptr())) // a text is a sequence of texts, too
    throw nb::type_error((where + " must be a list of str").c_str());
  for (auto item : from)
    out.emplace_back(text_of(item, where));
  return out;
}

run_config read_run_options(nb::dict options) {
  auto out = run_config{};
  for (auto [key, value] : options) {
    const auto name = text_of(key, "an option");
    auto read = reader{};
    for (const auto& [known, function] : readers)
      if (known == name)
        read = function;
    if (read == nullptr)
      throw nb::type_error(
          ("a run has no option '" + std::string{name} + "'" +
           (name == "config" ? "; pass its members, such as thread_id, as keywords" : ""))
              .c_str());
    if (!value.is_none())
      read(out, value);
  }
  return out;
}

superstep::resume read_resume(nb::handle value) {
  auto given = python::to_json(value, "resume");
  auto* const by_id = given.if_object();
  if (by_id == nullptr || by_id->empty() ||
      !std::ranges::all_of(*by_id, [](const auto& m) { return is_interrupt_id(m.key()); }))
    return superstep::resume{std::move(given)};
  auto values = std::map<std::string, json::value>{};
  for (auto& [id, answer] : *by_id)
    values.emplace(std::string{id}, std::move(answer));
  return superstep::resume{std::move(values)};
}

nb::list to_python(const std::vector<interrupt>& interrupts) {
  auto out = nb::list();
  for (const auto& i : interrupts)
    out.append(
        nb::borrow(types().interrupt)(to_python(std::string_view{i.id}), to_python(i.value)));
  return out;
}

namespace {
package_types registered;
} // namespace

const package_types& types() noexcept {
  return registered;
}

namespace {

constexpr auto type_members = std::to_array<std::pair<const char*, PyObject * package_types::*>>(
    {{"interrupt", &package_types::interrupt},
     {"send", &package_types::send},
     {"command", &package_types::command},
     {"overwrite", &package_types::overwrite},
     {"store", &package_types::store},
     {"item", &package_types::item},
     {"pack", &package_types::pack},
     {"pack_key", &package_types::pack_key},
     {"unpack", &package_types::unpack},
     {"coroutine", &package_types::coroutine}});

} // namespace

void set_types(nb::dict from) {
  for (const auto& [name, member] : type_members)
    Py_XDECREF(std::exchange(registered.*member, nb::object(from[name]).release().ptr()));
}

void forget_package() {
  forget_async_functions();
  forget_error_types();
  for (const auto& [name, member] : type_members)
    Py_CLEAR(registered.*member);
}

} // namespace superstep::python
