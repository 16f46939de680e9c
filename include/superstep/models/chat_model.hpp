// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/task.hpp>
#include <superstep/messages/messages.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace superstep {

struct run_config;

/// Reasons why a model returned no answer. Provider models report a reason only after their own
/// retries, so callers need not repeat the request.
enum class model_errc {
  bad_request = 1,   ///< the server rejects the request; repeating it would not help
  unauthorized,      ///< the API key is missing, wrong or lacks permission
  not_found,         ///< no such model or address
  rate_limited,      ///< HTTP 429, more often than the options allow
  quota_exhausted,   ///< the account has no quota left; other requests would fail as well
  server_error,      ///< the server failed (5xx) at every attempt
  unreachable,       ///< no connection, or a broken one, at every attempt
  timed_out,         ///< no answer in time at every attempt
  bad_answer,        ///< an answer that cannot be parsed or used
  missing_turn,      ///< the recording has no such row or turn
  bad_configuration, ///< an option, environment variable or file is unusable
  invalid_response,  ///< a structured response that was cut or does not match its schema
};

/// Returns the code in the category of models; makes model_errc convertible to std::error_code. May
/// be called from any thread.
[[nodiscard]] std::error_code make_error_code(model_errc) noexcept;

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::model_errc> : std::true_type {};

namespace superstep {

/// The exception with which agents report the error of a model call.
class model_error : public std::system_error {
public:
  /// Creates the exception for an error of chat_model::complete().
  explicit model_error(const error& why)
      : std::system_error{why.code, why.text}, http_status_{why.http_status} {}
  /// Returns the status of the HTTP answer that reported the error; 0 if there was none.
  [[nodiscard]] int http_status() const noexcept { return http_status_; }
  /// Adds what the model was used for before the failure, if it is not part of the state.
  /// @param usage token counts of the answers
  /// @param answers number of the answers
  void set_answers(token_usage usage, std::uint32_t answers);
  /// Returns the number of answers that the model gave before the failure and that are not part of
  /// the state, for example invalid structured responses.
  [[nodiscard]] std::uint32_t answers() const noexcept { return answers_; }
  /// Returns the token counts of answers(). The pointer is valid during the exception's lifetime.
  /// @return the counts; null if there are no such answers
  [[nodiscard]] const token_usage* usage() const noexcept { return usage_.get(); }

private:
  int http_status_;
  std::uint32_t answers_ = 0;
  std::shared_ptr<const token_usage>
      usage_; ///< shared, because copying an exception must not throw
};

/// Selects what a provider enforces for an answer in JSON.
enum class answer_mode : std::uint8_t {
  json_schema, ///< the schema
  json_object, ///< only that the answer is a JSON object; the schema is not sent
};

/// Requires an answer to be JSON that matches a schema.
struct answer_schema {
  /// Name of the schema. For structured_method::tool_call, also the name of the tool.
  std::string name = "answer";
  std::string description{};                   ///< describes the answer to the model; may be empty
  json::object schema{};                       ///< the JSON Schema
  answer_mode mode = answer_mode::json_schema; ///< what the provider enforces
  /// Whether the provider enforces the schema if it can. Schemas that OpenAI's strict mode does not
  /// accept, and that cannot be converted without a loss, are sent without it.
  bool is_strict = true;
};

/// A function that receives each piece of a streamed answer. Called by the thread that runs the
/// call's task, and by one thread at a time. Must not block. The piece is valid during the call.
using chunk_handler = std::function<void(const message_chunk&)>;

/// Describes a failed attempt that will be followed by another.
struct model_attempt {
  /// Number of the failed attempt, from 1. Attempts that got HTTP 429 are counted separately.
  std::uint32_t number = 1;
  /// The limit of `number`. For a provider model, attempts_max, or rate_limited_max after HTTP 429.
  std::uint32_t attempts_max = 1;
  std::string why; ///< the error of the attempt
};

/// One request to a model. The call owns it; its messages share their memory with the state.
struct model_request {
  /// The system message, sent before the messages; null if there is none. It is a separate member,
  /// because adding it to the state's list would copy the list in every turn.
  message_ptr system{};
  message_list messages{}; ///< the conversation that the model reads
  /// Tools that the model may call; an empty list: none. Null: those of bind_tools(), if any.
  tool_definitions tools{};
  std::string run_key{}; ///< key of the row or run; selects recorded answers and seeds jitter
  std::shared_ptr<const run_config> config{}; ///< that of the run; null if the caller is not a node
  /// The turn of the conversation: the number of AI messages before this call. An agent whose state
  /// counts the model calls, such as chat_state, passes that count.
  std::uint32_t turn = 0;
  /// Number of the sample, if several answers to one request are wanted. Samples do not share
  /// cached answers.
  std::uint32_t sample = 1;
  /// Number of times that the run was started, with this one. A recording contains it, because the
  /// answers of a start that was cut off do not belong to those of the next one.
  std::uint32_t attempt = 1;
  /// Parameters that override the model's own: temperature, max_tokens, model, …. They also
  /// configure the tools: tool_choice (a tool's name, auto, any, none) and parallel_tool_calls.
  object_box parameters{};
  std::shared_ptr<const answer_schema> format{}; ///< required format of the answer; null: any text
  /// If set, a model that can stream does so, and the pieces add up to the returned message. An
  /// answer that breaks off after its first piece is an error at once, because another attempt
  /// would produce a different text.
  chunk_handler on_chunk{};
  /// Called before each wait for another attempt, on the thread of the call. Must be short and must
  /// not throw. May be empty.
  std::function<void(const model_attempt&)> on_retry{};
};

/// A chat model: the interface of all providers, recordings, scripts and wrappers.
///
/// Immutable after construction. Any number of runs and threads share one object.
class chat_model {
public:
  /// Destroys the model. No task of complete() may be alive.
  virtual ~chat_model() = default;
  /// Sends one request to the model and returns its answer.
  ///
  /// All waiting suspends the returned task; implementations must not block, because one thread of
  /// the engine drives many calls. Retries, rate limits and timeouts are the implementation's
  /// responsibility, so a returned error is final: callers do not repeat the request.
  ///
  /// @param request the conversation, the available tools and the parameters of this call
  /// @return a message of type ai:
  /// - `tool_calls` contains the tool calls with parsed arguments. A call with unreadable arguments
  ///   is in `invalid_tool_calls` and is not an error of complete().
  /// - `usage` is set if the provider reports token counts.
  /// - `id` may be empty; the reducer add_messages then assigns one.
  ///
  /// On failure, an error. Its code is usually a model_errc; wrappers add codes of their own, e.g.
  /// errc::io_failed of record_model(). A shortage of descriptors or memory is errc::shortage or
  /// one of the codes that is_shortage() recognises.
  /// @par Streaming
  /// If request.on_chunk is set and the model can stream, each piece is passed to it before
  /// complete() returns. The pieces, added with append(), equal the returned message. A model that
  /// cannot stream does not call it.
  /// @par Cancellation
  /// Destroying the task cancels the call. Its connection is closed, and its place in the limits is
  /// released. No further piece is passed to on_chunk.
  /// @par Threads
  /// May be called by any thread, and any number of calls may be in flight at once. Each task runs
  /// only in the executor that awaits it.
  /// @par Lifetime
  /// The model must outlive the task, so callers keep a chat_model_ptr until the task has ended.
  ///
  /// Source: `BaseChatModel.ainvoke` in langchain-core 1.7.2, language_models/chat_models.py.
  [[nodiscard]] virtual task<result<message>> complete(model_request request) const = 0;

  /// Returns a text that identifies the model: provider, name, parameters, and a hash of its files.
  /// Batch jobs store it to detect that a job is continued with a different model. Contains no API
  /// key or other secret. May be called by any thread.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
};

/// A shared, immutable model.
using chat_model_ptr = std::shared_ptr<const chat_model>;

/// Makes a model from a text:
///
/// - `openai:gpt-4o-mini`, `anthropic:…`, `ollama:…`, or a well-known name alone: init_chat_model()
///   with its default options. Its connections are served by shared_io_runtime().
/// - `scripted:rules.yaml`: make_scripted_model() with that file; or with the rules themselves, if
///   the text after the colon contains a line break or starts with `{`.
///
/// Reads files and environment variables, and sends no request. May be called from any thread.
///
/// @param spec one of the forms above
/// @returns the model; model_errc::bad_configuration if the text names no provider, or the error of
/// init_chat_model() or make_scripted_model(). A missing API key is an error here, a wrong one is
/// reported by the first call.
[[nodiscard]] result<chat_model_ptr> make_model(std::string_view spec);

/// Options for binding tools to a model. The provider's default applies to unset members.
struct tool_binding {
  /// The name of a tool that must be called, "auto", "any" (or "required") or "none"; empty: the
  /// provider's default.
  std::string choice;
  std::optional<bool> parallel; ///< whether an answer may contain several calls
  /// Whether arguments must match the schemas. OpenAI requires all parameters of strict tools to be
  /// listed as required. Not sent to Ollama, whose API has no such member.
  std::optional<bool> strict;
};

/// Returns a model that offers these tools in every request whose tools are null. Tools and
/// parameters of a request take precedence over the binding; a request with an empty list of tools
/// offers none. May be called from any thread.
///
/// @param model shared by the returned model; must not be null
/// @param tools must not be null
/// @param binding see tool_binding
/// @return the model; model_errc::bad_configuration if `binding.choice` is neither a keyword nor
/// the name of a tool
///
/// Source: `BaseChatModel.bind_tools` in langchain-core 1.7.2, language_models/chat_models.py.
[[nodiscard]] result<chat_model_ptr> bind_tools(chat_model_ptr model, tool_definitions tools,
                                                tool_binding binding = {});

/// Returns the tools if bind_tools() made this model, else null. Does not look inside of wrappers
/// such as with_retry() and bind_parameters(). May be called from any thread.
[[nodiscard]] tool_definitions bound_tools(const chat_model& model) noexcept;

/// Returns a model that adds these parameters to every request. Parameters of a request take
/// precedence. May be called from any thread.
/// @param model shared by the returned model; must not be null
/// @param parameters see model_request::parameters
///
/// Source: `Runnable.bind` in langchain-core 1.7.2, runnables/base.py.
[[nodiscard]] chat_model_ptr bind_parameters(chat_model_ptr model, json::object parameters);

/// The input of a request outside of a graph. Constructed implicitly, so that ask() accepts each of
/// the constructors' types. An object may be used by one thread at a time.
class model_input {
public:
  /// The text of one human message.
  model_input(const char* text);
  /// The text of one human message.
  model_input(std::string text);
  /// One message of any type.
  model_input(message one);
  /// A conversation.
  model_input(message_list messages);
  /// A message or a list of messages, in any form that messages_from_json() reads.
  model_input(json::value messages);

  /// Returns the conversation and leaves the object empty. JSON that is not a valid message or list
  /// of messages gives the error of messages_from_json().
  [[nodiscard]] result<message_list> messages() &&;

private:
  std::variant<std::string, message_list, json::value> given_;
};

/// Sends one request to a model, outside of any graph. Programs without an engine run the task with
/// sync_wait().
///
/// May be called from any thread. Destroying the task cancels the request.
/// @param model kept alive by the task; must not be null
/// @param input a text, a message, a list of messages or JSON
/// @return the answer, or the error of the input or of the model; see chat_model::complete()
[[nodiscard]] task<result<message>> ask(chat_model_ptr model, model_input input);
/// Sends one request and streams the answer. May be called from any thread. Destroying the task
/// cancels the request.
///
/// @param model kept alive by the task; must not be null
/// @param input a text, a message, a list of messages or JSON
/// @param on_chunk called for each piece as it arrives; once with the whole answer if the model
/// cannot stream. See chunk_handler for its constraints.
/// @return the answer, which equals the sum of the pieces, or the error of the input or of the
/// model
[[nodiscard]] task<result<message>> ask(chat_model_ptr model, model_input input,
                                        chunk_handler on_chunk);

} // namespace superstep
