// SPDX-License-Identifier: Apache-2.0
// Reads the states of threads for Python.
#include "thread_state.hpp"

#include "convert.hpp"
#include "failure.hpp"
#include "run_options.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <chrono>
#include <utility>
#include <vector>

namespace superstep::python {

namespace {

// Each part of the wait requests the thread again, behind the runs that have requested it since. So
// a part is as long as a user who presses Ctrl-C accepts.
constexpr auto signal_interval = std::chrono::milliseconds{500};

nb::object snapshot_object(const state_snapshot& from, const values_reader& values) {
  auto next = nb::list();
  for (const auto& node : from.next)
    next.append(to_python(std::string_view{node}));
  const auto config = from.config();
  const auto id = config.thread ? config.thread->checkpoint_id : std::string{};
  return nb::make_tuple(values(from), next, to_python(from.interrupts()),
                        to_python(std::string_view{id}));
}

} // namespace

detail::thread_place place_of(const run_config& config) {
  auto out = detail::thread_place{config.thread_id};
  if (config.thread)
    out.checkpoint_id = config.thread->checkpoint_id;
  return out;
}

nb::object read_state(const detail::program_ptr& program, nb::dict options,
                      const values_reader& values) {
  const auto config = read_run_options(std::move(options));
  return translated([&] {
    auto found = state_snapshot{};
    {
      const auto unlocked = nb::gil_scoped_release{};
      found = detail::get_state(program, place_of(config));
    }
    return snapshot_object(found, values);
  });
}

nb::list read_state_history(const detail::program_ptr& program, nb::dict options, std::size_t limit,
                            const values_reader& values) {
  const auto config = read_run_options(std::move(options));
  return translated([&] {
    auto query = checkpoint_query{};
    query.limit = limit;
    auto found = std::vector<state_snapshot>{};
    {
      const auto unlocked = nb::gil_scoped_release{};
      found = detail::state_history(program, place_of(config), query);
    }
    auto out = nb::list();
    for (const auto& one : found)
      out.append(snapshot_object(one, values));
    return out;
  });
}

std::string write_state(const detail::program_ptr& program, const run_config& config,
                        const detail::state_edit& edit) {
  const auto end = std::chrono::steady_clock::now() + edit_timeout;
  return translated([&] {
    for (;;) {
      try {
        const auto unlocked = nb::gil_scoped_release{};
        return detail::update_state(program, place_of(config), edit, signal_interval);
      } catch (const checkpoint_error& failed) {
        if (failed.code() != checkpoint_errc::in_use || std::chrono::steady_clock::now() >= end)
          throw;
      }
      if (PyErr_CheckSignals() != 0)
        throw nb::python_error();
    }
  });
}

} // namespace superstep::python
