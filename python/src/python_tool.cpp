// SPDX-License-Identifier: Apache-2.0
// Tools and models whose code is Python.
#include "python_tool.hpp"

#include "convert.hpp"
#include "runtime/giving_up.hpp"
#include "tool_parts.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/tools/tool_node.hpp>
#include <superstep/tools/tool_wrappers.hpp>

#include <utility>

namespace superstep::python {

namespace {

/// A call of a tool.
class tool_activation final : public activation {
public:
  tool_activation(python_function f, tool_call asked, tool_context context)
      : activation{std::move(f), runtime_of(context)}, asked_{std::move(asked)},
        context_{std::move(context)} {}

  tool_output take() { return std::move(output_); }
  const run_config& config() const override { return config_of(context_); }
  nb::object state() const override { return state_of(context_); }
  store* memory() override { return memory_of(context_); }
  std::string tool_call_id() const override { return context_.tool_call_id; }
  std::string idempotency_key() const override { return context_.idempotency_key(); }

protected:
  nb::object call(const python_function& f) override {
    auto arguments = nb::borrow<nb::dict>(to_python(asked_.args));
    if (f.takes_runtime)
      arguments["runtime"] = nb::cast(call_reference{this});
    auto* const made = PyObject_Call(f.callable.get().ptr(), nb::tuple().ptr(), arguments.ptr());
    if (made == nullptr)
      throw nb::python_error();
    return nb::steal(made);
  }
  bool is_of_tool() const noexcept override { return true; }
  nb::object accept(nb::handle result) override {
    output_ = read_tool_output(result, asked_.name);
    return {};
  }

private:
  tool_call asked_;
  tool_context context_;
  tool_output output_;
};

class python_tool final : public tool {
public:
  python_tool(tool_definition d, python_function f)
      : definition_{std::move(d)}, function_{std::move(f)} {}

  const tool_definition& definition() const noexcept override { return definition_; }
  task<tool_output> run(const tool_call& call, const tool_context& context) const override {
    // a copy, because a Python thread may use the call after its task was destroyed
    const auto made =
        boost::intrusive_ptr<tool_activation>{new tool_activation{function_, call, context}};
    auto waiting = await_call(made);
    const auto has_ended = co_await waiting;
    if (!has_ended) {
      auto giving = superstep::detail::giving_up{};
      co_await giving;
    }
    co_return made->take();
  }

private:
  tool_definition definition_;
  python_function function_;
};

/// A call of a model.
class model_activation final : public activation {
public:
  model_activation(python_function f, model_request asked)
      : activation{std::move(f), {}}, asked_{std::move(asked)} {}

  message take() { return std::move(answer_); }
  const run_config& config() const override { return asked_.config ? *asked_.config : no_config(); }

protected:
  nb::object call(const python_function& f) override {
    auto messages = nb::list();
    if (asked_.system)
      messages.append(to_python(to_json(*asked_.system)));
    for (const auto& m : asked_.messages)
      messages.append(to_python(to_json(m)));
    return nb::borrow(f.callable.get())(messages, definitions_object(asked_.tools));
  }
  nb::object accept(nb::handle result) override {
    answer_ = read_answer(result);
    return {};
  }

private:
  model_request asked_;
  message answer_;
};

class python_model final : public chat_model {
public:
  python_model(python_function f, std::string name)
      : function_{std::move(f)}, name_{std::move(name)} {}

  task<result<message>> complete(model_request request) const override {
    const auto made =
        boost::intrusive_ptr<model_activation>{new model_activation{function_, std::move(request)}};
    auto waiting = await_call(made);
    const auto has_ended = co_await waiting;
    if (!has_ended)
      throw std::logic_error{"a model must not call interrupt()"};
    co_return made->take();
  }
  std::string fingerprint() const override { return "python:" + name_; }
  const shared_object& function() const noexcept { return function_.callable; }

private:
  python_function function_;
  std::string name_;
};

} // namespace

message read_answer(nb::handle from) {
  if (PyUnicode_Check(from.ptr()))
    return ai_message(std::string{text_of(from, "the answer")});
  auto given = to_json(from, "the answer of the model");
  if (auto* const members = given.if_object();
      members != nullptr && !members->contains("type") && !members->contains("role"))
    members->emplace("type", "ai");
  auto read = message_from_json(given, "the answer of the model");
  if (!read)
    throw nb::value_error(read.error().text.c_str());
  if (read->type != message_type::ai)
    throw nb::value_error("the answer of the model must be a str or a message of type ai");
  return *std::move(read);
}

nb::object handler_object(const message& from) {
  return to_python(to_json(from));
}

nb::list definitions_object(const tool_definitions& tools) {
  auto out = nb::list();
  if (tools)
    for (const auto& t : *tools)
      out.append(to_python(json::object{
          {"name", t.name}, {"description", t.description}, {"parameters", t.parameters}}));
  return out;
}

tool_ptr make_python_tool(nb::handle spec, python_function f) {
  auto definition = tool_definition{};
  definition.name = nb::cast<std::string>(spec.attr("name"));
  definition.description = nb::cast<std::string>(spec.attr("description"));
  definition.parameters =
      to_json_object(spec.attr("parameters"), "the parameters of tool '" + definition.name + "'");
  auto made = tool_ptr{std::make_shared<python_tool>(std::move(definition), std::move(f))};
  const auto effects = nb::object(spec.attr("effects"));
  if (effects.is_none())
    return made;
  return text_of(effects, "effects") == "journaled" ? journaled(std::move(made))
                                                    : idempotent(std::move(made));
}

shared_object function_of(const chat_model& model) {
  const auto* const found = dynamic_cast<const python_model*>(&model);
  return found == nullptr ? shared_object{} : found->function();
}

chat_model_ptr make_python_model(python_function f, std::string name) {
  return std::make_shared<python_model>(std::move(f), std::move(name));
}

} // namespace superstep::python
