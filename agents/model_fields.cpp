// SPDX-License-Identifier: Apache-2.0
// Reads the key `model` of agent files. docs/agent-file.md documents the options of each provider.
#include "agents/model_fields.hpp"

#include "agents/overrides.hpp"
#include "models/http/wire_request.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace superstep::detail {

namespace {

constexpr auto providers = "recorded, replayed, scripted, openai, anthropic, ollama";

/// Stores the options of a model that is read from a file. Without a path, the spec gets no model,
/// because creating it would report the missing path again.
template <class Options>
void set_path(Options options, const std::string& folder, model_spec& into) {
  if (options.path.empty())
    return;
  options.path = in_folder(folder, options.path);
  into = std::move(options);
}

void read_recorded(fields& at, const std::string& folder, model_spec& into) {
  auto options = recorded_model_options{};
  at.required_text("path", options.path).duration("latency_ms", options.latency, 0);
  set_path(std::move(options), folder, into);
}

void read_replayed(fields& at, const std::string& folder, model_spec& into) {
  auto options = replayed_model_options{};
  at.required_text("path", options.path).flag("with_timing", options.with_timing);
  set_path(std::move(options), folder, into);
}

void read_scripted(fields& at, const std::string& folder, model_spec& into) {
  auto options = scripted_model_options{};
  at.required_text("path", options.path);
  set_path(std::move(options), folder, into);
}

/// Reads the key `api`, which selects one of OpenAI's two APIs. Other providers have only one.
void read_api(fields& at, const std::string& provider, provider_model_options& into) {
  if (provider == "anthropic")
    into.api = provider_api::anthropic;
  if (provider == "ollama")
    into.api = provider_api::ollama;
  if (provider != "openai")
    return at.refuse("api", "is a key of the provider 'openai' only; remove it");
  auto api = std::string{"chat"};
  at.text("api", api);
  if (api == "responses")
    into.api = provider_api::openai_responses;
  else if (api != "chat")
    at.wrong("api", fmt::format("'{}' is not one of: chat, responses", api));
}

/// Reads the model parameters. `temperature` and `max_tokens`, which all providers have, may also
/// be keys beside `parameters`.
void read_parameters(fields& at, json::object& into) {
  auto temperature = std::optional<double>{};
  auto max_tokens = std::optional<std::int64_t>{};
  at.object("parameters", into)
      .real("temperature", temperature, 0, 2)
      .number("max_tokens", max_tokens, 1);
  for (const auto& [key, value] : into)
    if (const auto name = std::string_view{key}; models::is_reserved_parameter(name))
      at.wrong("parameters", fmt::format("'{}' cannot be set; remove it", name));
  if (temperature)
    into["temperature"] = *temperature;
  if (max_tokens)
    into["max_tokens"] = *max_tokens;
}

/// Reads a mapping of header names to texts: values, or names of environment variables.
void read_headers(fields& at, std::string_view key, http_headers& into) {
  auto given = json::object{};
  at.object(key, given);
  for (const auto& [name, value] : given)
    if (const auto* text = value.if_string())
      into.emplace_back(name, *text);
    else
      at.wrong(key, fmt::format("the value of '{}' must be text", std::string_view{name}));
}

/// Reads the names of JSON members that differ between servers of the chat completions API.
void read_chat_fields(fields& at, provider_model_options& into) {
  auto field = std::string{};
  at.text("max_tokens_field", field).text("reasoning_field", into.reasoning_field);
  if (!field.empty())
    into.max_tokens_field = field;
  if (!field.empty() && field != "max_tokens" && field != "max_completion_tokens")
    at.wrong("max_tokens_field",
             fmt::format("'{}' is not one of: max_tokens, max_completion_tokens", field));
}

void read_provider(fields& at, const std::string& provider, const std::string& folder,
                   model_spec& into) {
  auto options = provider_model_options{};
  auto key_env = std::string{};
  auto version = std::string{};
  read_api(at, provider, options);
  read_parameters(at, options.parameters);
  read_headers(at, "headers", options.headers);
  read_headers(at, "headers_env", options.headers_env);
  if (options.api == provider_api::openai_chat)
    read_chat_fields(at, options);
  const auto has_key_env = at.node()["api_key_env"].IsDefined();
  at.required_text("model", options.model)
      .text("base_url", options.base_url)
      .text("api_key_env", key_env)
      .flag("stream", options.stream)
      .text("output_version", version)
      .number("attempts_max", options.attempts_max, 1)
      .number("rate_limited_max", options.rate_limited_max)
      .duration("backoff_base_ms", options.backoff_base, 0)
      .duration("backoff_max_ms", options.backoff_max, 0)
      .duration("retry_after_max_ms", options.retry_after_max, 0)
      .duration("connect_timeout_ms", options.connect_timeout, 1)
      .duration("idle_timeout_ms", options.idle_timeout, 1)
      .duration("total_timeout_ms", options.total_timeout, 1)
      .number("answer_bytes_max", options.answer_bytes_max, 1)
      .text("ca_file", options.ca_file);
  if (options.model.empty())
    options.model = "?"; // its error was added; the other options of the model are still checked
  if (has_key_env)
    options.api_key_env = key_env;
  if (!version.empty()) {
    if (const auto read = read_output_version(version))
      options.version = *read;
    else
      at.wrong("output_version", read.error().text);
  }
  if (!options.ca_file.empty())
    options.ca_file = in_folder(folder, options.ca_file);
  into = std::move(options);
}

/// Reads the keys of the protocol for tool calls as text, which models without tool calling need.
/// They are the same for all providers.
void read_protocol(fields& at, agent_spec& into) {
  auto unclosed = std::string{"complete"};
  at.text("protocol", into.protocol)
      .number("protocol_retries", into.protocol_retries, 0, 10)
      .text("protocol_unclosed", unclosed);
  if (unclosed == "refuse")
    into.protocol_unclosed = unclosed_calls::refuse;
  else if (unclosed != "complete")
    at.wrong("protocol_unclosed", fmt::format("'{}' is not one of: complete, refuse", unclosed));
  if (into.protocol.empty())
    return;
  if (const auto protocol = make_protocol(into.protocol); !protocol) {
    at.wrong("protocol", protocol.error().text);
    into.protocol.clear(); // creating it would report the error again
  }
}

} // namespace

void read_model(fields& root, const std::string& folder, agent_spec& into) {
  const auto node = root.take("model");
  into.model_line = node.IsDefined() ? line_of(node) : 0;
  if (!node.IsDefined())
    return root.missing("model");
  if (!node.IsMap())
    return root.wrong("model", "must be a mapping, such as {provider: openai, model: gpt-4o} or "
                               "{provider: recorded, path: turns.jsonl}");
  auto at = fields{node, "model", root.faults()};
  auto provider = std::string{};
  auto is_known = true;
  at.required_text("provider", provider);
  if (provider == "recorded")
    read_recorded(at, folder, into.model);
  else if (provider == "replayed")
    read_replayed(at, folder, into.model);
  else if (provider == "scripted")
    read_scripted(at, folder, into.model);
  else if (provider == "openai" || provider == "anthropic" || provider == "ollama")
    read_provider(at, provider, folder, into.model);
  else
    is_known = false;
  if (!is_known && !provider.empty())
    at.wrong("provider", fmt::format("'{}' is not one of: {}", provider, providers));
  at.text("record", into.record);
  if (!into.record.empty())
    into.record = in_folder(folder, into.record);
  read_protocol(at, into);
  // The valid keys depend on the provider. If it is unknown, errors about keys would be misleading.
  if (is_known)
    at.done();
}

std::string path_of_model(const model_spec& model) {
  if (const auto* recorded = std::get_if<recorded_model_options>(&model))
    return recorded->path;
  if (const auto* scripted = std::get_if<scripted_model_options>(&model))
    return scripted->path;
  if (const auto* replayed = std::get_if<replayed_model_options>(&model))
    return replayed->path;
  return {};
}

} // namespace superstep::detail
