// SPDX-License-Identifier: Apache-2.0
// Wrappers of model calls and tool calls whose code is Python.
#include "python_wrap.hpp"

#include "convert.hpp"
#include "failure.hpp"
#include "python_hook.hpp"
#include "python_tool.hpp"
#include "tool_parts.hpp"
#include "wrap_call.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <nanobind/stl/string.h>

namespace superstep::python {

namespace {

using model_activation_base = wrap_activation<model_call>;
using tool_activation_base = wrap_activation<tool_request>;

/// A call of a wrapper of model calls. Copies the state, because Python code may outlive the call.
class model_wrap_activation final : public model_activation_base {
public:
  model_wrap_activation(python_function f, const chat_state& state, model_call asked, runtime rt,
                        std::shared_ptr<model_table> models)
      : model_activation_base{std::move(f), [rt] { return rt; }}, state_{state},
        asked_{std::move(asked)}, runtime_{std::move(rt)}, models_{std::move(models)} {
    set_watched();
  }

  message take_answer() { return std::move(answer_); }
  const model_call& asked() const noexcept { return asked_; }
  nb::object model() const { return models_->name_of(*asked_.model); }
  /// Returns the call with the changes of the Python code: a dict with the members to replace.
  [[nodiscard]] model_call changed(nb::dict changes) const;

  const run_config& config() const override { return runtime_.config(); }
  nb::object state() const override { return state_object(state_); }

protected:
  nb::object call(const python_function& f) override;
  nb::object accept(nb::handle result) override {
    answer_ = read_answer(result);
    return {};
  }

private:
  [[nodiscard]] tool_definitions read_tools(nb::handle from) const;

  chat_state state_;
  model_call asked_;
  runtime runtime_;
  std::shared_ptr<model_table> models_;
  message answer_;
};

/// A call of a wrapper of tool calls.
class tool_wrap_activation final : public tool_activation_base {
public:
  tool_wrap_activation(python_function f, tool_request asked)
      : tool_activation_base{std::move(f), runtime_of(asked.context)}, asked_{std::move(asked)} {
    set_watched();
  }

  tool_answer take_answer() { return std::move(answer_); }
  const tool_request& asked() const noexcept { return asked_; }
  [[nodiscard]] tool_request changed(nb::dict changes) const;

  const run_config& config() const override { return config_of(asked_.context); }
  nb::object state() const override { return state_of(asked_.context); }
  store* memory() override { return memory_of(asked_.context); }
  std::string tool_call_id() const override { return asked_.call.id; }
  std::string idempotency_key() const override { return asked_.context.idempotency_key(); }

protected:
  bool is_of_tool() const noexcept override { return true; }
  nb::object call(const python_function& f) override;
  nb::object accept(nb::handle result) override {
    const auto form =
        asked_.context.environment ? asked_.context.environment->form : tool_input_form::calls;
    answer_ = read_tool_answer(result, asked_.call, form);
    return {};
  }

private:
  tool_request asked_;
  tool_answer answer_;
};

/// The call of a wrapper, as its Python code sees it. @{
struct model_call_reference {
  boost::intrusive_ptr<model_wrap_activation> call;
};
struct tool_call_reference {
  boost::intrusive_ptr<tool_wrap_activation> call;
};
/// @}
/// A call of a handler, as Python code sees it.
struct handler_reference {
  handler_call_ptr asked;
  boost::intrusive_ptr<wrap_activation_base> by;
};

nb::object model_wrap_activation::call(const python_function& f) {
  return nb::borrow(f.callable.get())(nb::cast(model_call_reference{this}));
}

nb::object tool_wrap_activation::call(const python_function& f) {
  return nb::borrow(f.callable.get())(nb::cast(tool_call_reference{this}));
}

tool_definitions model_wrap_activation::read_tools(nb::handle from) const {
  auto out = std::make_shared<std::vector<tool_definition>>();
  const auto known = asked_.tools ? *asked_.tools : std::vector<tool_definition>{};
  for (auto item : nb::list(nb::borrow(from))) {
    const auto named = PyDict_Check(item.ptr()) ? nb::object(item["name"]) : nb::borrow(item);
    const auto name = std::string{text_of(named, "the name of a tool")};
    const auto found = std::ranges::find(known, name, &tool_definition::name);
    if (found == known.end())
      throw nb::value_error(("request.tools: '" + name +
                             "' is not a tool of the request; only tools of the agent can be used")
                                .c_str());
    auto& one = out->emplace_back(*found);
    if (PyDict_Check(item.ptr())) {
      one.description = text_of(item["description"], "the description of a tool");
      one.parameters = to_json_object(item["parameters"], "the parameters of a tool");
    }
  }
  return out;
}

model_call model_wrap_activation::changed(nb::dict changes) const {
  auto out = asked_;
  for (auto [key, value] : changes) {
    const auto name = text_of(key, "a member of a request");
    if (name == "model") {
      if (!value.is_none())
        out.model = models_->get(value, nullptr);
    } else if (name == "messages") {
      out.messages = read_messages(value, "request.messages");
    } else if (name == "system_prompt") {
      const auto text = std::string{text_of(value, "request.system_prompt")};
      out.system = text.empty() ? nullptr : std::make_shared<const message>(system_message(text));
    } else if (name == "tools") {
      out.tools = read_tools(value);
    } else if (name == "parameters") {
      out.parameters = to_json_object(value, "request.parameters");
    }
  }
  return out;
}

tool_request tool_wrap_activation::changed(nb::dict changes) const {
  auto out = asked_;
  if (!changes.contains("tool_call"))
    return out;
  const auto call = nb::object(changes["tool_call"]);
  out.call.name = text_of(call["name"], "request.tool_call['name']");
  out.call.args = to_json_object(call["args"], "request.tool_call['args']");
  if (text_of(call["id"], "request.tool_call['id']") != asked_.call.id)
    throw nb::value_error("request.tool_call: the id of a tool call cannot be changed");
  return out;
}

task<message> wrap_model(boost::intrusive_ptr<model_wrap_activation> made, model_ask ask) {
  auto running = run_wrapper<message, model_call>(made, std::move(ask));
  co_await running;
  co_return made->take_answer();
}

task<tool_answer> wrap_tool(boost::intrusive_ptr<tool_wrap_activation> made, tool_execute execute) {
  auto running = run_wrapper<tool_answer, tool_request>(made, std::move(execute));
  co_await running;
  co_return made->take_answer();
}

nb::object tool_call_object(const tool_call& from) {
  return to_python(json::object{{"name", from.name}, {"args", from.args}, {"id", from.id}});
}

nb::object definition_object(const tool* from) {
  if (from == nullptr)
    return nb::none();
  const auto& of = from->definition();
  return to_python(json::object{
      {"name", of.name}, {"description", of.description}, {"parameters", of.parameters}});
}

/// Adds the members that both classes of calls have.
template <class Reference>
void add_call_members(nb::class_<Reference>& to) {
  to.def_prop_ro("state",
                 [](const Reference& c) {
                   auto state = c.call->state();
                   return state.is_valid() ? state : nb::object(nb::none());
                 })
      .def_prop_ro("runtime", [](const Reference& c) { return call_reference{c.call}; })
      .def(
          "ask",
          [](const Reference& c, nb::dict changes, nb::handle notify) {
            return handler_reference{c.call->ask_body(c.call->changed(std::move(changes)), notify),
                                     c.call};
          },
          nb::arg(), nb::arg().none())
      .def("cancel",
           [](const Reference& c, const handler_reference& asked) { c.call->cancel(asked.asked); });
}

} // namespace

model_wrap<chat_state> make_model_wrap(python_function f, std::shared_ptr<model_table> models) {
  return [f = std::move(f), models = std::move(models)](const chat_state& state, model_call call,
                                                        model_ask ask, runtime rt) {
    return wrap_model(new model_wrap_activation{f, state, std::move(call), std::move(rt), models},
                      std::move(ask));
  };
}

tool_interceptor make_tool_wrap(python_function f) {
  return [f = std::move(f)](tool_request request, tool_execute execute) {
    return wrap_tool(new tool_wrap_activation{f, std::move(request)}, std::move(execute));
  };
}

void add_wraps(nb::module_& m) {
  nb::class_<handler_reference>(m, "HandlerCall")
      .def("wait", [](const handler_reference& h) { translated([&] { h.asked->wait(); }); })
      .def("take", [](const handler_reference& h) { return h.by->take(*h.asked); });
  auto model = nb::class_<model_call_reference>(m, "ModelCall");
  add_call_members(model);
  model.def_prop_ro("model", [](const model_call_reference& c) { return c.call->model(); })
      .def_prop_ro("messages",
                   [](const model_call_reference& c) {
                     auto out = nb::list();
                     for (const auto& one : c.call->asked().messages)
                       out.append(to_python(to_json(one)));
                     return out;
                   })
      .def_prop_ro("system_prompt",
                   [](const model_call_reference& c) {
                     const auto& system = c.call->asked().system;
                     return to_python(std::string_view{system ? superstep::text_of(*system) : ""});
                   })
      .def_prop_ro(
          "tools",
          [](const model_call_reference& c) { return definitions_object(c.call->asked().tools); })
      .def_prop_ro(
          "parameters",
          [](const model_call_reference& c) { return to_python(c.call->asked().parameters); })
      .def_prop_ro("turn", [](const model_call_reference& c) { return c.call->asked().turn; });
  auto tool = nb::class_<tool_call_reference>(m, "ToolCall");
  add_call_members(tool);
  tool.def_prop_ro(
          "tool_call",
          [](const tool_call_reference& c) { return tool_call_object(c.call->asked().call); })
      .def_prop_ro("tool", [](const tool_call_reference& c) {
        return definition_object(c.call->asked().tool);
      });
}

} // namespace superstep::python
