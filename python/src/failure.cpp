// SPDX-License-Identifier: Apache-2.0
// Exceptions of Python in C++, and of C++ in Python.
#include "failure.hpp"

#include "api.hpp"
#include "convert.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace superstep::python {

namespace {

/// The exception classes of the package, from its import to the end of the process.
PyObject* run_error_type = nullptr;
PyObject* graph_error_type = nullptr;

/// Whether an exception is of a class of a package. The package is not imported: without it, there
/// is no such exception.
bool is_of(PyObject* exception, const char* package, const char* class_name) {
  auto* const modules = PyImport_GetModuleDict();
  auto* const found = PyDict_GetItemString(modules, package);
  if (found == nullptr)
    return false;
  const auto type = nb::steal(PyObject_GetAttrString(found, class_name));
  const auto is_instance = type.is_valid() && PyObject_IsInstance(exception, type.ptr()) == 1;
  PyErr_Clear(); // the package may be imported at this moment, and have no such class yet
  return is_instance;
}

/// Returns the status of the HTTP response of an exception; 0 if there is none.
long status_of(PyObject* exception) {
  const auto response = nb::steal(PyObject_GetAttrString(exception, "response"));
  auto status = 0L;
  if (response.is_valid() && !response.is_none())
    if (const auto code = nb::steal(PyObject_GetAttrString(response.ptr(), "status_code"));
        code.is_valid() && PyLong_Check(code.ptr()))
      status = PyLong_AsLong(code.ptr());
  PyErr_Clear();
  return status;
}

bool is_transient(nb::handle exception) {
  auto* const of = exception.ptr();
  if (PyObject_IsInstance(of, PyExc_ConnectionError) == 1)
    return true;
  const auto is_server_error = [of] {
    const auto status = status_of(of);
    return status >= 500 && status < 600;
  };
  if (is_of(of, "httpx", "HTTPStatusError"))
    return is_server_error();
  if (is_of(of, "requests", "HTTPError")) // may have no response
    return status_of(of) == 0 || is_server_error();
  const auto permanent = std::array{
      PyExc_ValueError,     PyExc_TypeError,     PyExc_ArithmeticError,    PyExc_ImportError,
      PyExc_LookupError,    PyExc_NameError,     PyExc_SyntaxError,        PyExc_RuntimeError,
      PyExc_ReferenceError, PyExc_StopIteration, PyExc_StopAsyncIteration, PyExc_OSError};
  for (auto* const type : permanent)
    if (PyObject_IsInstance(of, type) == 1)
      return false;
  return PyObject_IsInstance(of, PyExc_Exception) == 1;
}

/// Returns the exception of Python that caused a failure; an invalid object if there is none.
/// @param get returns it from the python_failure
nb::object cause_of(const std::exception_ptr& cause, nb::object (python_failure::*get)() const) {
  if (!cause)
    return {};
  try {
    std::rethrow_exception(cause);
  } catch (const python_failure& e) {
    return (e.*get)();
  } catch (const std::nested_exception& e) {
    return cause_of(e.nested_ptr(), get);
  } catch (...) {
    return {};
  }
}

/// Adds a note to an exception, unless it has the same one: from an earlier run that has raised it.
void add_note(nb::handle exception, const std::string& text) {
  try {
    const auto note = to_python(std::string_view{text});
    const auto notes = nb::getattr(exception, "__notes__", nb::none());
    if (notes.is_none() || PySequence_Contains(notes.ptr(), note.ptr()) == 0)
      exception.attr("add_note")(note);
    PyErr_Clear();              // of notes that are not a list
  } catch (nb::python_error&) { // the class does not accept attributes; the note is not essential
  }
}

/// Advice in errors of the C++ library, and what it is for users of the package.
constexpr auto advice = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"run_config::thread_id", "thread_id"},
     {" in run_config or in the agent file", ""},
     {"compile_options::checkpointer", "the argument checkpointer of compile() or create_agent()"},
     {"set compile_options::convert, rename", "rename"},
     {"agent_options::", ""},
     {"add it to the jumps of the hook", "add it to can_jump_to of the middleware"},
     {"; a run may also take it over (thread_options::on_busy)", ""}});

/// Returns an error of the C++ library with the names of the package's options.
nb::object text_for_python(std::string text) {
  for (const auto& [own, python] : advice)
    if (const auto at = text.find(own); at != std::string::npos)
      text.replace(at, own.size(), python);
  return to_python(std::string_view{text});
}

/// Returns the reason of a failure: that of a nested run if a node has failed because of it.
std::error_code reason_of(const run_error& failed) {
  if (failed.code != graph_errc::node_failed || !failed.cause)
    return failed.code;
  try {
    std::rethrow_exception(failed.cause);
  } catch (const graph_error& nested) {
    return reason_of(nested.details());
  } catch (...) {
    return failed.code;
  }
}

nb::object run_error_of(const run_error& failed) {
  if (run_error_type == nullptr) // the process ends
    return nb::borrow(PyExc_RuntimeError)(text_for_python(failed.text));
  const auto type = nb::borrow(run_error_type);
  return type(text_for_python(failed.text),
              to_python(std::string_view{to_string(reason_of(failed))}),
              to_python(std::string_view{failed.node}), failed.step);
}

} // namespace

std::string describe_exception(nb::handle exception) {
  auto out = class_name(exception);
  const auto text = nb::steal(PyObject_Str(exception.ptr()));
  if (!text.is_valid()) {
    PyErr_Clear();
    return out;
  }
  if (const auto* const chars = PyUnicode_AsUTF8AndSize(text.ptr(), nullptr);
      chars != nullptr && *chars != '\0')
    out += std::string{": "} + chars;
  PyErr_Clear();
  return out;
}

python_failure::python_failure(nb::handle exception)
    : std::runtime_error{describe_exception(exception)}, exception_{exception},
      is_worth_a_retry_{is_transient(exception)} {}

reducer_failure::reducer_failure(nb::handle exception, const std::string& channel)
    : python_failure{exception} {
  add_note(exception, "in the reducer of '" + channel + '\'');
}

std::exception_ptr failure_of_node(nb::handle exception) {
  auto* const of = exception.ptr();
  if (PyObject_IsInstance(of, PyExc_Exception) == 1 || is_of(of, "asyncio", "CancelledError"))
    return std::make_exception_ptr(python_failure{exception});
  return std::make_exception_ptr(exit_failure{exception});
}

nb::object python_failure::take() const {
  auto out = exception_ ? nb::object(nb::borrow(exception_.get())) : nb::object{};
  exception_.clear();
  return out;
}

nb::object python_failure::get() const {
  return exception_ ? nb::object(nb::borrow(exception_.get())) : nb::object(nb::none());
}

void set_error_types(nb::object run_error, nb::object graph_error) {
  forget_error_types(); // of an earlier import
  run_error_type = run_error.release().ptr();
  graph_error_type = graph_error.release().ptr();
}

void forget_error_types() {
  Py_CLEAR(run_error_type);
  Py_CLEAR(graph_error_type);
}

nb::object exception_of(const run_error& failed) {
  if (auto original = cause_of(failed.cause, &python_failure::take); original.is_valid()) {
    auto note = std::string{"in "};
    if (!failed.node.empty())
      note += "node '" + failed.node + "', ";
    add_note(original, note + "super-step " + std::to_string(failed.step));
    return original;
  }
  return run_error_of(failed);
}

nb::object handled_exception_of(const run_error& failed) {
  auto original = cause_of(failed.cause, &python_failure::get);
  return original.is_valid() && !original.is_none() ? original : run_error_of(failed);
}

run_error error_of(const std::exception_ptr& failure) {
  auto out = run_error{};
  out.code = graph_errc::node_failed;
  out.cause = failure;
  try {
    std::rethrow_exception(failure);
  } catch (const graph_error& e) {
    out = e.details();
    if (!out.cause)
      out.cause = failure; // which may have nested exceptions
  } catch (const std::system_error& e) {
    out.code = e.code();
    out.text = e.what();
  } catch (const std::exception& e) {
    out.text = e.what();
  } catch (...) {
    out.text = "an exception that is not derived from std::exception";
  }
  return out;
}

nb::object exception_of(const std::exception_ptr& failure) {
  return handled_exception_of(error_of(failure));
}

void raise_object(const nb::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

void raise(const run_error& failed) {
  raise_object(exception_of(failed));
}

void raise_current() {
  try {
    throw;
  } catch (const nb::python_error&) {
    throw;
  } catch (const nb::builtin_exception&) {
    throw;
  } catch (const python_failure& e) {
    if (const auto exception = e.take(); exception.is_valid())
      raise_object(exception);
    throw;
  } catch (const compile_error& e) {
    raise_object(nb::borrow(graph_error_type)(text_for_python(e.what())));
  } catch (const graph_error& e) {
    raise(e.details());
  } catch (const std::system_error& e) {
    auto failed = run_error{};
    failed.code = e.code();
    failed.text = e.what();
    failed.cause = std::current_exception();
    raise(failed);
  } catch (const std::invalid_argument& e) {
    throw nb::value_error(e.what());
  }
}

} // namespace superstep::python
