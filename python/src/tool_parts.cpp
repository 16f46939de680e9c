// SPDX-License-Identifier: Apache-2.0
// What the code of tools and of their wrappers returns, and what it can see of its call.
#include "tool_parts.hpp"

#include "api.hpp"
#include "convert.hpp"
#include "tools/tool_result.hpp"
#include "types.hpp"

#include <superstep/messages/message_json.hpp>

#include <utility>

namespace superstep::python {

namespace {

bool has_runtime(const tool_context& of) {
  return of.environment && of.environment->run;
}

tool_update read_update(nb::handle from) {
  auto out = tool_update{};
  for (auto [key, item] : nb::borrow<nb::dict>(from)) {
    const auto name = std::string{text_of(key, "a key of an update")};
    if (name == "messages") {
      const auto read = read_messages(item);
      out.messages.emplace(read.begin(), read.end());
    } else {
      out.fields.emplace(name, to_json(item, "update['" + name + "']"));
    }
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
      for (const auto& m : read_messages(item))
        out.emplace_back(m);
  }
  return out;
}

bool holds_commands(nb::handle result) {
  if (!PyList_Check(result.ptr()))
    return false;
  for (auto item : nb::list(nb::borrow(result)))
    if (is_a(item, types().command))
      return true;
  return false;
}

/// Whether a result is a tool message as a dict.
bool is_tool_message(nb::handle result) {
  if (!PyDict_Check(result.ptr()))
    return false;
  for (const auto* const key : {"type", "role"}) {
    auto* const found = PyDict_GetItemString(result.ptr(), key);
    if (found != nullptr && PyUnicode_Check(found))
      return text_of(found, key) == "tool";
  }
  return false;
}

/// Returns the answer that consists of a message, with the name of the tool.
tool_answer answer_of(message m, const tool_call& call) {
  if (m.tool_call_id != call.id)
    throw nb::value_error(("the answer to the tool call '" + call.id + "' has the tool_call_id '" +
                           m.tool_call_id + "'")
                              .c_str());
  if (m.name.empty())
    m.name = call.name;
  return {std::make_shared<const message>(std::move(m)), {}};
}

nb::object target_object(const tool_target& to) {
  const auto name = to_python(std::string_view{to.node});
  return to.input ? nb::borrow(types().send)(name, to_python(*to.input)) : name;
}

nb::list message_objects(const std::vector<message>& from) {
  auto out = nb::list();
  for (const auto& m : from)
    out.append(to_python(to_json(m)));
  return out;
}

nb::object command_object(const tool_command& from) {
  auto update = nb::object(nb::none());
  if (const auto* const writes = std::get_if<tool_update>(&from.update)) {
    update = to_python(writes->fields);
    if (writes->messages)
      update["messages"] = message_objects(*writes->messages);
  } else if (const auto* const messages = std::get_if<std::vector<message>>(&from.update)) {
    update = nb::dict();
    update["messages"] = message_objects(*messages);
  }
  auto to = nb::object(nb::list());
  if (const auto* const one = std::get_if<tool_target>(&from.go_to))
    to = target_object(*one);
  else if (const auto* const several = std::get_if<std::vector<tool_target>>(&from.go_to))
    for (const auto& target : *several)
      to.attr("append")(target_object(target));
  return nb::borrow(types().command)(update, to);
}

/// Throws nb::type_error for an object whose text cannot be meant as an answer: a coroutine that
/// was not awaited, a generator or another iterator, or a ToolMessage of LangChain.
void check_is_result(nb::handle from, const std::string& where) {
  const auto* advice = static_cast<const char*>(nullptr);
  if (nb::hasattr(from, "__await__"))
    advice = "; await it";
  else if (nb::hasattr(from, "__anext__") || PyIter_Check(from.ptr()) != 0)
    advice = "; return a list or a text of its items";
  else if (nb::hasattr(from, "tool_call_id"))
    advice = "; return its content, or a dict";
  if (advice != nullptr)
    throw nb::type_error((where + " is " + type_text(from) + advice).c_str());
}

} // namespace

const run_config& no_config() noexcept {
  static const auto none = run_config{};
  return none;
}

const run_config& config_of(const tool_context& of) {
  return has_runtime(of) ? of.environment->run->config() : no_config();
}

nb::object state_of(const tool_context& of) {
  if (!of.environment || !of.environment->state)
    return {};
  return to_python(of.environment->state->whole());
}

store* memory_of(const tool_context& of) {
  if (!of.environment)
    return nullptr;
  if (of.environment->store != nullptr)
    return of.environment->store;
  return has_runtime(of) ? of.environment->run->store() : nullptr;
}

std::function<runtime()> runtime_of(const tool_context& of) {
  if (!has_runtime(of))
    return {};
  return [environment = of.environment] { return *environment->run; };
}

tool_output read_tool_output(nb::handle from, const std::string& tool) {
  auto out = tool_output{};
  if (is_a(from, types().command)) {
    out.reply.emplace(read_command(from));
    return out;
  }
  if (holds_commands(from)) {
    out.reply.emplace(read_items(from));
    return out;
  }
  const auto where = "the result of tool '" + tool + '\'';
  try {
    return output_of(to_json(from, where));
  } catch (const nb::builtin_exception&) { // no JSON form, e.g. a date
    check_is_result(from, where);
    out.content = text_of(nb::str(from), where);
  }
  return out;
}

tool_answer read_tool_answer(nb::handle from, const tool_call& call, tool_input_form form) {
  if (is_tool_message(from)) {
    auto given = to_json_object(from, "the answer to a tool call");
    given.emplace("tool_call_id", call.id); // unless it is set
    auto read = message_from_json(given, "the answer to a tool call");
    if (!read)
      throw nb::value_error(read.error().text.c_str());
    return answer_of(*std::move(read), call);
  }
  auto out = read_tool_output(from, call.name);
  if (out.reply) {
    try {
      return {nullptr, detail::checked(std::move(*out.reply), call, form, "messages")};
    } catch (const tool_value_error& e) {
      throw nb::value_error(e.what());
    }
  }
  auto m = tool_message(std::move(out.content), call.id, call.name);
  m.is_error = out.is_error;
  m.artifact = std::move(out.artifact);
  m.blocks = std::move(out.blocks);
  return answer_of(std::move(m), call);
}

nb::object handler_object(const tool_answer& from) {
  if (from.answer)
    return to_python(to_json(*from.answer));
  auto out = nb::list();
  for (const auto& item : from.items) {
    if (const auto* const command = std::get_if<tool_command>(&item))
      out.append(command_object(*command));
    else
      out.append(to_python(to_json(std::get<message>(item))));
  }
  return out.size() == 1 ? nb::object(out[0]) : nb::object(out);
}

} // namespace superstep::python
