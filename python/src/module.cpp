// SPDX-License-Identifier: Apache-2.0
// The module superstep._superstep: what the Python package uses of the C++ library. The package is
// the public interface.
#include "module.hpp"

#include "activation.hpp"
#include "agent.hpp"
#include "convert.hpp"
#include "failure.hpp"
#include "process.hpp"
#include "python_wrap.hpp"
#include "results.hpp"
#include "row_window.hpp"
#include "stores.hpp"
#include "types.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/checkpoint/postgres.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <utility>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

/// The main function of the program `superstep` (cli/superstep.cpp).
int superstep_main(int argc, char** argv);

namespace superstep::python {

namespace {

checkpointer_ptr checkpointer_of(const saved_threads* threads) {
  return threads == nullptr ? checkpointer_ptr{} : threads->checkpointer;
}

std::shared_ptr<store> store_of(const store_handle* memory) {
  return memory == nullptr ? nullptr : memory->store;
}

nb::object current_call() {
  auto* const now = activation::current();
  return now == nullptr ? nb::object(nb::none()) : nb::cast(call_reference{now});
}

void add_calls(nb::module_& m) {
  nb::class_<call_reference>(m, "Runtime")
      .def(
          "interrupt",
          [](const call_reference& c, nb::handle question) {
            return to_python(c.call->ask(to_json(question, "the value of interrupt()")));
          },
          nb::arg("question").none())
      .def(
          "emit",
          [](const call_reference& c, nb::handle event) {
            c.call->get_runtime().emit(to_json(event, "the value of emit()"));
          },
          nb::arg("event").none())
      .def_prop_ro("node",
                   [](const call_reference& c) { return to_python(c.call->get_runtime().node()); })
      .def_prop_ro("step", [](const call_reference& c) { return c.call->get_runtime().step(); })
      .def_prop_ro("remaining_steps",
                   [](const call_reference& c) { return c.call->get_runtime().remaining_steps(); })
      .def_prop_ro("attempt",
                   [](const call_reference& c) { return c.call->get_runtime().attempt(); })
      .def_prop_ro(
          "is_cancelled",
          [](const call_reference& c) { return c.call->get_runtime().stop().stop_requested(); })
      .def_prop_ro("thread_id",
                   [](const call_reference& c) {
                     return to_python(std::string_view{c.call->config().thread_id});
                   })
      .def_prop_ro("run_id",
                   [](const call_reference& c) {
                     return to_python(std::string_view{c.call->config().run_id});
                   })
      .def_prop_ro("configurable",
                   [](const call_reference& c) {
                     auto out = c.call->config().configurable;
                     out.erase(loop_key);
                     return to_python(out);
                   })
      .def_prop_ro("metadata",
                   [](const call_reference& c) { return to_python(c.call->config().metadata); })
      .def_prop_ro("state",
                   [](const call_reference& c) {
                     auto state = c.call->state();
                     return state.is_valid() ? state : nb::object(nb::none());
                   })
      .def_prop_ro("store", [](const call_reference& c) { return store_object(c.call->memory()); })
      .def_prop_ro("error",
                   [](const call_reference& c) {
                     const auto* const failed = c.call->get_runtime().failure();
                     return failed == nullptr ? nb::object(nb::none())
                                              : handled_exception_of(*failed);
                   })
      .def_prop_ro("tool_call_id", [](const call_reference& c) { return c.call->tool_call_id(); })
      .def_prop_ro("idempotency_key",
                   [](const call_reference& c) { return c.call->idempotency_key(); })
      .def(
          "_complete",
          [](const call_reference& c, nb::handle result, nb::handle failure) {
            c.call->complete(result, failure);
          },
          nb::arg("result").none(), nb::arg("failure").none());
  m.def("current_call", &current_call);
  m.def("set_async_functions", &set_async_functions);
  m.def("set_error_types", &set_error_types);
  m.def("set_types", &set_types);
}

void add_results(nb::module_& m) {
  nb::class_<result_source>(m, "Results")
      .def(nb::init<>())
      .def(
          "take",
          [](const result_source& r, double seconds, std::size_t runs) {
            return r.queue->take(seconds, runs);
          },
          nb::arg("seconds"), nb::arg("runs") = 1)
      .def("set_notify", [](const result_source& r, nb::object notify) {
        r.queue->set_notify(std::move(notify));
      });
  nb::class_<started_run>(m, "Run")
      .def("cancel", &started_run::cancel)
      .def("drain", [](const started_run& r) { r.handle.drain("requested by the program"); });
}

void add_checkpointers(nb::module_& m) {
  nb::class_<saved_threads>(m, "Checkpointer");
  m.def("memory_checkpointer", [] { return saved_threads{superstep::memory_checkpointer()}; });
  m.def("sqlite_checkpointer", [](const std::string& path) {
    auto options = sqlite_checkpointer_options{};
    options.encryption_key = encryption_key();
    return unlocked(
        [&] { return saved_threads{superstep::sqlite_checkpointer(path, std::move(options))}; });
  });
  m.def("postgres_checkpointer", [](const std::string& url) {
    auto options = postgres_checkpointer_options{};
    options.encryption_key = encryption_key();
    return unlocked(
        [&] { return saved_threads{superstep::postgres_checkpointer(url, std::move(options))}; });
  });
  m.def("delete_thread", [](const saved_threads& in, const std::string& thread_id) {
    unlocked([&] { in.checkpointer->delete_thread(thread_id); });
  });
}

void add_process(nb::module_& m) {
  m.def("start_engine",
        [](std::size_t workers) { translated([&] { process::get().start(workers); }); });
  m.def("is_started", &process::is_started);
  m.def("generation", &process::generation);
  m.def("stop", &process::stop);
  m.def("runs_to_lose",
        [] { return process::get().live_runs.load() - process::get().cancelled_runs.load(); });
  m.def("stats", [] {
    auto& here = process::get();
    auto out = nb::dict();
    out["live_runs"] = here.live_runs.load();
    out["python_threads"] = process::bodies().size();
    out["python_threads_max"] = process::bodies().size_max();
    return out;
  });
}

void add_agents(nb::module_& m) {
  nb::class_<agent_result>(m, "AgentResult")
      .def_prop_ro("status", &agent_result::status)
      .def_prop_ro("text", &agent_result::text)
      .def_prop_ro("messages", &agent_result::messages)
      .def_prop_ro("messages_json", &agent_result::messages_json)
      .def_prop_ro("structured_response", &agent_result::structured_response)
      .def_prop_ro("usage", &agent_result::usage)
      .def_prop_ro("interrupts", &agent_result::interrupts)
      .def_prop_ro("model_calls", &agent_result::model_calls)
      .def_prop_ro("tool_calls", &agent_result::tool_calls)
      .def_prop_ro("steps", &agent_result::steps)
      .def("_take_error", &agent_result::take_error)
      .def_rw("index", &agent_result::index)
      .def("__getitem__", &agent_result::at)
      .def("__contains__", &agent_result::has)
      .def("__len__", [](const agent_result& r) { return nb::len(r.keys()); })
      .def("__iter__", [](const agent_result& r) { return nb::iter(r.keys()); })
      .def("keys", &agent_result::keys)
      .def("values", [](const agent_result& r) { return nb::list(r.as_dict().attr("values")()); })
      .def("items", [](const agent_result& r) { return nb::list(r.as_dict().attr("items")()); })
      .def("get", &agent_result::get, nb::arg("key"), nb::arg("default") = nb::none())
      .def("__getstate__",
           [](const agent_result& r) {
             const auto text = r.packed(); // bytes, because the text of a model may be invalid
             return nb::make_tuple(nb::bytes(text.data(), text.size()));
           })
      .def("__setstate__",
           [](agent_result& at, const nb::tuple& from) {
             if (from.size() != 1 || !nb::isinstance<nb::bytes>(from[0]))
               throw nb::value_error("this is not a pickled AgentResult");
             const auto text = nb::borrow<nb::bytes>(from[0]);
             new (&at) agent_result{agent_result::from_packed({text.c_str(), text.size()})};
           })
      .def("__repr__", &agent_result::repr);
  nb::class_<native_agent>(m, "Agent", nb::type_slots(collected_type<native_agent>::slots))
      .def(
          "__init__",
          [](native_agent* at, const std::string& text, const std::string& name,
             const std::string& folder, const std::vector<std::string>& overrides, nb::list tools,
             nb::list middleware, const saved_threads* threads, const store_handle* memory) {
            new (at) native_agent{text,
                                  name,
                                  folder,
                                  overrides,
                                  std::move(tools),
                                  std::move(middleware),
                                  checkpointer_of(threads),
                                  store_of(memory)};
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
          nb::arg().none())
      .def(
          "__init__",
          [](native_agent* at, nb::dict options, nb::list tools, const saved_threads* threads,
             const store_handle* memory) {
            new (at) native_agent{std::move(options), std::move(tools), checkpointer_of(threads),
                                  store_of(memory)};
          },
          nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none())
      .def(
          "start",
          [](const native_agent& a, nb::handle input, nb::dict options, const result_source& to,
             std::int64_t tag, const std::vector<std::string>& modes) {
            return a.start(input, std::move(options), {to.queue, tag}, modes);
          },
          nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg())
      .def("open_rows",
           [](const native_agent& a, nb::dict options, std::size_t concurrency,
              const result_source& to, bool reports_room, bool stores_messages) {
             return window_reference{a.open_rows(std::move(options),
                                                 {.concurrency = concurrency,
                                                  .reports_room = reports_room,
                                                  .stores_messages = stores_messages},
                                                 to.queue)};
           })
      .def("has_thread", &native_agent::has_thread)
      .def("get_state", &native_agent::get_state)
      .def("get_state_history", &native_agent::get_state_history)
      .def("update_state", &native_agent::update_state, nb::arg(), nb::arg().none(), nb::arg())
      .def("messages_of_row", &native_agent::messages_of_row)
      .def("mermaid", &native_agent::mermaid);
}

/// The members of this module, from its first import to the end of the process. If a program
/// removes the package from sys.modules and imports it again, the new module has the same classes.
PyObject* members = nullptr;

void forget_all() {
  Py_CLEAR(members);
  forget_package();
}

void add_program(nb::module_& m) {
  m.def("run_program", [](const std::vector<std::string>& arguments) {
    auto texts = arguments; // the program may change them
    auto pointers = std::vector<char*>{};
    for (auto& text : texts)
      pointers.push_back(text.data());
    pointers.push_back(nullptr);
    const auto unlocked = nb::gil_scoped_release{};
    return superstep_main(static_cast<int>(texts.size()), pointers.data());
  });
}

} // namespace

} // namespace superstep::python

NB_MODULE(_superstep, m) {
  using namespace superstep::python;
  // The engine's threads use the GIL of the main interpreter.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) // not the main interpreter
    throw nb::import_error(
        "superstep cannot be imported in a subinterpreter: use processes instead");
  auto* const own = PyModule_GetDict(m.ptr());
  if (members != nullptr) {
    if (PyDict_Merge(own, members, 0) != 0)
      throw nb::python_error();
    return;
  }
  add_calls(m);
  add_results(m);
  add_checkpointers(m);
  add_stores(m);
  add_process(m);
  add_agents(m);
  add_rows(m);
  add_wraps(m);
  add_graphs(m);
  add_lang_threads(m);
  add_program(m);
  m.def("forget_package", &forget_all);
  nb::register_exception_translator([](const std::exception_ptr& from, void*) {
    try {
      std::rethrow_exception(from);
    } catch (const python_failure& e) { // of a reducer, in the conversion of a state
      const auto exception = e.take();
      if (!exception.is_valid())
        throw;
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    }
  });
  members = PyDict_Copy(own);
}
