// SPDX-License-Identifier: Apache-2.0
// Tools and models whose code is Python.
#include "python_tool.hpp"

#include "convert.hpp"
#include "types.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/tools/tool_node.hpp>

#include <utility>

namespace superstep::python {

namespace {

const run_config& no_config() noexcept {
  static const auto none = run_config{};
  return none;
}

std::vector<message> read_messages(nb::handle from) {
  auto read = messages_from_json(to_json(from, "messages"));
  if (!read)
    throw nb::value_error(read.error().text.c_str());
  return {read->begin(), read->end()};
}

tool_update read_update(nb::handle from) {
  auto out = tool_update{};
  for (auto [key, item] : nb::borrow<nb::dict>(from)) {
    const auto name = std::string{text_of(key, "a key of an update")};
    if (name == "messages")
      out.messages = read_messages(item);
    else
      out.fields.emplace(name, to_json(item, "update['" + name + "']"));
  }
  return out;
}

tool_target read_target(nb::handle from) {
  if (!is_a(from, types().send))
    return {std::string{text_of(from, "a destination of a Command")}};
  return {std::string{text_of(from.attr("node"), "the node of a Send")},
          to_json(from.attr("arg"), "the input of a Send")};
}

/// Reads a superstep.Command that a tool has returned.
tool_command read_command(nb::handle from) {
  auto out = tool_command{};
  if (!nb::object(from.attr("resume")).is_none())
    throw nb::value_error("a tool must not return a Command with resume");
  const auto update = nb::object(from.attr("update"));
  if (PyDict_Check(update.ptr()))
    out.update = read_update(update);
  else if (!update.is_none())
    throw nb::type_error("the update of a Command must be a dict");
  const auto to = nb::object(from.attr("goto"));
  if (!PyList_Check(to.ptr()) && !PyTuple_Check(to.ptr())) {
    out.go_to = read_target(to);
    return out;
  }
  auto targets = std::vector<tool_target>{};
  for (auto target : to)
    targets.push_back(read_target(target));
  if (!targets.empty())
    out.go_to = std::move(targets);
  return out;
}

/// Reads a list of Commands and messages that a tool has returned.
std::vector<tool_item> read_items(nb::handle from) {
  auto out = std::vector<tool_item>{};
  for (auto item : nb::borrow<nb::list>(from)) {
    if (is_a(item, types().command))
      out.emplace_back(read_command(item));
    else
      for (auto& m : read_messages(item))
        out.emplace_back(std::move(m));
  }
  return out;
}

/// A call of a tool.
class tool_activation final : public activation {
public:
  tool_activation(python_function f, tool_call asked, tool_context context)
      : activation{std::move(f), runtime_of(context)}, asked_{std::move(asked)},
        context_{std::move(context)} {}

  tool_output take() { return std::move(output_); }
  const run_config& config() const override {
    return has_runtime(context_) ? context_.environment->run->config() : no_config();
  }
  nb::object state() const override {
    if (!context_.environment || !context_.environment->state)
      return {};
    return to_python(context_.environment->state->whole());
  }
  store* memory() override {
    if (!context_.environment)
      return nullptr;
    if (context_.environment->store != nullptr)
      return context_.environment->store;
    return has_runtime(context_) ? context_.environment->run->store() : nullptr;
  }
  std::string tool_call_id() const override { return context_.tool_call_id; }

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
  nb::object accept(nb::handle result) override {
    if (is_a(result, types().command)) {
      output_.reply.emplace(read_command(result));
      return {};
    }
    if (holds_commands(result)) {
      output_.reply.emplace(read_items(result));
      return {};
    }
    try {
      output_ = output_of(to_json(result, "the result of tool '" + asked_.name + "'"));
    } catch (const nb::builtin_exception&) { // no JSON form, e.g. a date
      output_ = {};
      output_.content = nb::str(result).c_str();
    }
    return {};
  }

private:
  static bool holds_commands(nb::handle result) {
    if (!PyList_Check(result.ptr()))
      return false;
    for (auto item : nb::list(nb::borrow(result)))
      if (is_a(item, types().command))
        return true;
    return false;
  }
  static bool has_runtime(const tool_context& c) { return c.environment && c.environment->run; }
  static std::function<runtime()> runtime_of(const tool_context& c) {
    if (!has_runtime(c))
      return {};
    return [environment = c.environment] { return *environment->run; };
  }

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
    // an interrupted call has no result; the engine discards the output of its task
    co_return has_ended ? made->take() : tool_output{};
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
  const run_config& config() const override { return no_config(); }

protected:
  nb::object call(const python_function& f) override {
    auto messages = nb::list();
    if (asked_.system)
      messages.append(to_python(to_json(*asked_.system)));
    for (const auto& m : asked_.messages)
      messages.append(to_python(to_json(m)));
    auto tools = nb::list();
    if (asked_.tools)
      for (const auto& t : *asked_.tools)
        tools.append(to_python(json::object{
            {"name", t.name}, {"description", t.description}, {"parameters", t.parameters}}));
    return nb::borrow(f.callable.get())(messages, tools);
  }
  nb::object accept(nb::handle result) override {
    if (PyUnicode_Check(result.ptr())) {
      answer_ = ai_message(std::string{text_of(result, "the answer")});
      return {};
    }
    auto given = to_json(result, "the answer of the model");
    if (auto* const members = given.if_object();
        members != nullptr && !members->contains("type") && !members->contains("role"))
      members->emplace("type", "ai");
    auto read = message_from_json(given, "the answer of the model");
    if (!read)
      throw nb::value_error(read.error().text.c_str());
    answer_ = std::move(*read);
    if (answer_.type != message_type::ai)
      throw nb::value_error("the answer of the model must be a str or a message of type ai");
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

private:
  python_function function_;
  std::string name_;
};

} // namespace

tool_ptr make_python_tool(nb::handle spec, python_function f) {
  auto definition = tool_definition{};
  definition.name = nb::cast<std::string>(spec.attr("name"));
  definition.description = nb::cast<std::string>(spec.attr("description"));
  definition.parameters =
      to_json_object(spec.attr("parameters"), "the parameters of tool '" + definition.name + "'");
  return std::make_shared<python_tool>(std::move(definition), std::move(f));
}

chat_model_ptr make_python_model(python_function f, std::string name) {
  return std::make_shared<python_model>(std::move(f), std::move(name));
}

} // namespace superstep::python
