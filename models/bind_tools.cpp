// SPDX-License-Identifier: Apache-2.0
// A model that adds tools and parameters to every request.
#include "base/json_members.hpp"
#include "models/providers/json_parts.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/models/chat_model.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

/// The wrapper of bind_tools() and bind_parameters(). `tools` is null for bind_parameters().
class bound_model final : public chat_model {
public:
  bound_model(chat_model_ptr model, tool_definitions tools, json::object parameters)
      : inner_{std::move(model)}, tools_{std::move(tools)}, parameters_{std::move(parameters)} {}

  task<result<message>> complete(model_request request) const override {
    auto parameters = parameters_;
    if (tools_ && !request.tools)
      request.tools = tools_;
    else if (tools_ && request.tools->empty()) // servers reject these without tools
      for (const auto* name : {"tool_choice", "parallel_tool_calls", "strict"})
        parameters.erase(name);
    providers::put_all(parameters, request.parameters);
    request.parameters = std::move(parameters);
    return inner_->complete(std::move(request));
  }

  /// Includes tools and parameters, because they change the answers.
  std::string fingerprint() const override {
    auto out = inner_->fingerprint() + " bound " + to_canonical_text(parameters_);
    if (tools_)
      for (const auto& tool : *tools_)
        out += ' ' + tool.name + to_canonical_text(tool.parameters);
    return out;
  }

  const tool_definitions& tools() const noexcept { return tools_; }

private:
  chat_model_ptr inner_;
  tool_definitions tools_;
  json::object parameters_;
};

} // namespace

result<chat_model_ptr> bind_tools(chat_model_ptr model, tool_definitions tools,
                                  tool_binding binding) {
  SUPERSTEP_ASSERT(model != nullptr && tools != nullptr);
  auto parameters = json::object{};
  const auto& choice = binding.choice;
  const auto is_word = is_one_of(choice, {"auto", "any", "none", "required"});
  const auto is_tool = std::any_of(tools->begin(), tools->end(),
                                   [&](const auto& tool) { return tool.name == choice; });
  if (!choice.empty() && !is_word && !is_tool)
    return error{model_errc::bad_configuration,
                 "tool_choice: must be auto, any, required, none or the name of a tool, got \"" +
                     choice + '"'};
  if (!choice.empty())
    parameters["tool_choice"] = choice;
  if (binding.parallel)
    parameters["parallel_tool_calls"] = *binding.parallel;
  if (binding.strict)
    parameters["strict"] = *binding.strict;
  return std::make_shared<const bound_model>(std::move(model), std::move(tools),
                                             std::move(parameters));
}

chat_model_ptr bind_parameters(chat_model_ptr model, json::object parameters) {
  SUPERSTEP_ASSERT(model != nullptr);
  return std::make_shared<const bound_model>(std::move(model), nullptr, std::move(parameters));
}

tool_definitions bound_tools(const chat_model& model) noexcept {
  // bind_parameters() uses the same class with null tools.
  const auto* bound = dynamic_cast<const bound_model*>(&model);
  return bound != nullptr ? bound->tools() : nullptr;
}

} // namespace superstep
