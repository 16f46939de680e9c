// SPDX-License-Identifier: Apache-2.0
// Structured answers: requests an answer by a schema, in JSON mode or as a tool call, and checks
// the answer against the schema.
#include "base/fenced_text.hpp"
#include "base/json_members.hpp"
#include "base/utf8.hpp"
#include "models/json_schema.hpp"
#include "models/providers/answer_end.hpp"
#include "models/strict_schema.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/structured_model.hpp>

#include <utility>
#include <vector>

namespace superstep {

namespace {

/// Maximum number of bytes of an answer that an error text shows.
constexpr auto excerpt_size = std::size_t{200};

/// Parses and checks an answer that is text.
structured_answer read_text(message raw, const answer_schema& schema) {
  auto out = structured_answer{std::move(raw), nullptr, {}};
  out.fault = providers::why_refused(out.raw);
  if (!out.fault.empty())
    return out;
  const auto text = text_of(out.raw);
  auto parsed = parse_json(without_fence(text));
  if (parsed)
    remove_absent(*parsed, schema.schema);
  if (!parsed)
    out.fault = "the answer is not valid JSON; it begins: " + shortened(text, excerpt_size);
  else if (!matches_schema(*parsed, schema.schema))
    out.fault = "the answer does not match the schema; it begins: " + shortened(text, excerpt_size);
  else
    out.parsed = *std::move(parsed);
  return out;
}

/// Takes the answer from the arguments of the call to the schema's tool, and checks them.
structured_answer read_call(message raw, const answer_schema& schema) {
  auto out = structured_answer{std::move(raw), nullptr, {}};
  for (const auto& call : out.raw.tool_calls)
    if (call.name == schema.name) {
      auto args = json::value(call.args);
      remove_absent(args, schema.schema);
      if (matches_schema(args, schema.schema))
        out.parsed = std::move(args);
      else
        out.fault =
            "the arguments of the call to '" + schema.name +
            "' do not match the schema; they begin: " + shortened(to_text(call.args), excerpt_size);
      return out;
    }
  out.fault = providers::why_refused(out.raw);
  if (out.fault.empty())
    out.fault = "the model did not call " + schema.name;
  return out;
}

// A free function, so that the coroutine owns all that it uses: it may outlive the
// structured_model.
task<result<structured_answer>> complete_with(chat_model_ptr model, model_request request,
                                              std::shared_ptr<const answer_schema> schema,
                                              structured_method method) {
  if (method != structured_method::tool_call) {
    request.format = schema;
  } else {
    auto tool = tool_definition{schema->name, schema->description, schema->schema};
    auto strict = strict_form(*schema);
    const auto is_strict = strict.has_value();
    if (strict)
      tool.parameters = *std::move(strict);
    request.tools = std::make_shared<const std::vector<tool_definition>>(1, std::move(tool));
    request.parameters["tool_choice"] = schema->name;
    request.parameters["parallel_tool_calls"] = false;
    if (is_strict)
      request.parameters["strict"] = true;
  }
  auto asking = model->complete(std::move(request));
  auto answer = co_await asking;
  if (!answer)
    co_return answer.error();
  co_return method == structured_method::tool_call ? read_call(*std::move(answer), *schema)
                                                   : read_text(*std::move(answer), *schema);
}

task<result<structured_answer>> ask_with(structured_model model, model_input input) {
  auto messages = std::move(input).messages();
  if (!messages)
    co_return messages.error();
  auto request = model_request{};
  request.messages = *std::move(messages);
  auto asking = model.complete(std::move(request));
  auto answer = co_await asking;
  co_return answer;
}

} // namespace

structured_model::structured_model(chat_model_ptr model, answer_schema schema,
                                   structured_method method)
    : model_{std::move(model)}, method_{method} {
  SUPERSTEP_ASSERT(model_ != nullptr);
  if (method == structured_method::json_object)
    schema.mode = answer_mode::json_object;
  schema_ = std::make_shared<const answer_schema>(std::move(schema));
}

task<result<structured_answer>> structured_model::complete(model_request request) const {
  return complete_with(model_, std::move(request), schema_, method_);
}

task<result<structured_answer>> structured_model::ask(model_input input) const {
  return ask_with(*this, std::move(input));
}

result<structured_model> with_structured_output(chat_model_ptr model, answer_schema schema,
                                                structured_method method) {
  if (text_in(schema.schema, "type") != "object")
    return error{model_errc::bad_configuration,
                 "answer_schema::schema must have the member \"type\": \"object\""};
  if (schema.name.empty())
    return error{model_errc::bad_configuration, "answer_schema::name is empty; set a name"};
  return structured_model{std::move(model), std::move(schema), method};
}

} // namespace superstep
