// SPDX-License-Identifier: Apache-2.0
// Hooks of agents whose code is Python.
#include "python_hook.hpp"

#include "convert.hpp"
#include "python_wrap.hpp"
#include "runtime/giving_up.hpp"

#include <superstep/messages/message_json.hpp>

#include <utility>

#include <nanobind/stl/string.h>

namespace superstep::python {

namespace {

jump read_jump(nb::handle from) {
  const auto text = text_of(from, "a jump");
  if (text == "model")
    return jump::model;
  if (text == "tools")
    return jump::tools;
  if (text == "end")
    return jump::finish;
  throw nb::value_error(
      ("'" + std::string{text} + "' is not a jump; use 'model', 'tools' or 'end'").c_str());
}

/// A call of a hook. Copies the state, because Python code may outlive the call.
class hook_activation final : public activation {
public:
  hook_activation(python_function f, const chat_state& state, const runtime& rt)
      : activation{std::move(f), [rt] { return rt; }}, state_{state}, runtime_{rt} {}

  hook_step<chat_state> take() { return std::move(step_); }
  const run_config& config() const override { return runtime_.config(); }

protected:
  nb::object call(const python_function& f) override {
    const auto state = state_object(state_);
    const auto function = nb::borrow(f.callable.get());
    return f.takes_runtime ? function(state, nb::arg("runtime") = nb::cast(call_reference{this}))
                           : function(state);
  }
  nb::object accept(nb::handle result) override {
    if (result.is_none())
      return {};
    if (!PyDict_Check(result.ptr()))
      throw nb::type_error("a hook must return a dict or None");
    for (auto [key, value] : nb::borrow<nb::dict>(result)) {
      const auto name = text_of(key, "a key of the result of a hook");
      if (name == "messages")
        step_.update.add(set<&chat_state::messages>(read_messages(value)));
      else if (name == "llm_input_messages")
        step_.update.add(
            set<&chat_state::llm_input_messages>(read_messages(value, "llm_input_messages")));
      else if (name == "jump_to")
        step_.to = value.is_none() ? jump::none : read_jump(value);
      else
        throw nb::value_error(("a hook returned the key '" + std::string{name} +
                               "'; use messages, llm_input_messages and jump_to")
                                  .c_str());
    }
    return {};
  }

private:
  chat_state state_;
  runtime runtime_;
  hook_step<chat_state> step_;
};

task<hook_step<chat_state>> run_hook(boost::intrusive_ptr<hook_activation> made) {
  auto waiting = await_call(made);
  const auto has_ended = co_await waiting;
  if (!has_ended) {
    auto giving = superstep::detail::giving_up{};
    co_await giving;
  }
  co_return made->take();
}

middleware_hook<chat_state> make_hook(python_function f, std::vector<jump> jumps) {
  return {[f = std::move(f)](const chat_state& state, runtime rt) {
            return run_hook(new hook_activation{f, state, rt});
          },
          std::move(jumps)};
}

middleware_hook<chat_state>& hook_of(middleware<chat_state>& of, std::string_view name) {
  return name == "before_agent"   ? of.before_agent
         : name == "before_model" ? of.before_model
         : name == "after_model"  ? of.after_model
                                  : of.after_agent;
}

} // namespace

nb::object state_object(const chat_state& state) {
  auto list = nb::list();
  for (const auto& m : state.messages)
    list.append(to_python(to_json(m)));
  auto out = nb::dict();
  out["messages"] = list;
  if (!state.structured_response.is_null())
    out["structured_response"] = to_python(state.structured_response);
  return out;
}

std::vector<middleware<chat_state>> read_middleware(nb::handle from,
                                                    std::vector<shared_object>& functions,
                                                    const std::shared_ptr<model_table>& models) {
  auto out = std::vector<middleware<chat_state>>{};
  for (auto one : nb::list(nb::borrow(from))) {
    auto& made = out.emplace_back();
    made.name = nb::cast<std::string>(one[0]);
    auto jumps = std::vector<jump>{};
    for (auto name : nb::list(one[2]))
      jumps.push_back(read_jump(name));
    for (auto [hook, spec] : nb::borrow<nb::dict>(one[1])) {
      auto f = python_function{functions.emplace_back(spec[0]), nb::cast<bool>(spec[1]),
                               nb::cast<bool>(spec[2])};
      const auto name = text_of(hook, "the name of a function");
      if (name == "wrap_model_call")
        made.wrap_model_call = make_model_wrap(std::move(f), models);
      else if (name == "wrap_tool_call")
        made.wrap_tool_call = make_tool_wrap(std::move(f));
      else
        hook_of(made, name) = make_hook(std::move(f), jumps);
    }
  }
  return out;
}

} // namespace superstep::python
