// SPDX-License-Identifier: Apache-2.0
// A model with an answer cache. The first of several equal requests in flight is sent; the others
// wait for its answer. If it fails, the others are sent too.
#include "agents/cached_model.hpp"

#include "base/ascii_text.hpp"
#include "base/digest.hpp"
#include "base/fenced_text.hpp"
#include "messages/openai_json.hpp"
#include "models/json_schema.hpp"
#include "models/providers/answer_end.hpp"
#include "models/strict_schema.hpp"
#include "models/whole_chunk.hpp"

#include <superstep/base/await.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/tools/detail/argument_schema.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep::detail {

namespace {

/// The answer of a request in flight; null if the request failed or its answer cannot be shared.
using shared_answer = std::shared_ptr<const message>;

/// The equal requests in flight.
class flight_table {
public:
  /// Ends a flight: passes its answer to those who wait. The destructor ends it without an answer.
  class flight {
  public:
    flight(std::shared_ptr<flight_table> of, std::string key)
        : of_{std::move(of)}, key_{std::move(key)} {}
    flight(flight&&) noexcept = default;
    flight& operator=(flight&&) = delete;
    ~flight() {
      if (of_)
        land(nullptr);
    }
    void land(shared_answer answer) {
      const auto of = std::exchange(of_, nullptr);
      for (auto& one : of->take(key_))
        one(answer);
    }

  private:
    std::shared_ptr<flight_table> of_;
    std::string key_;
  };

  /// Starts a flight; returns false if an equal one is in the air.
  [[nodiscard]] bool start(const std::string& key) {
    const auto lock = std::scoped_lock{mutex_};
    return flights_.try_emplace(key).second;
  }
  /// Calls `done` when the flight ends. Returns false if there is no such flight any more.
  [[nodiscard]] bool join(const std::string& key, const completer<shared_answer>& done) {
    const auto lock = std::scoped_lock{mutex_};
    const auto found = flights_.find(key);
    if (found == flights_.end())
      return false;
    found->second.push_back(done);
    return true;
  }

private:
  std::vector<completer<shared_answer>> take(const std::string& key) {
    const auto lock = std::scoped_lock{mutex_};
    const auto found = flights_.find(key);
    auto out = std::move(found->second);
    flights_.erase(found);
    return out;
  }

  std::mutex mutex_;
  std::map<std::string, std::vector<completer<shared_answer>>> flights_;
};

/// Returns the digest of all that an answer depends on.
std::string key_of(const model_request& request, const std::string& model) {
  auto sum = digest{};
  // Each part is preceded by its length, so that different requests never have the same text.
  const auto add = [&](std::string_view part) {
    sum.add(std::to_string(part.size()) + ':');
    sum.add(part);
  };
  add(model);
  add(std::to_string(request.sample));
  add(to_canonical_text(json::value(request.parameters)));
  auto text = std::string{};
  // The chat-completions form contains only what a model reads: neither ids nor metadata of
  // messages.
  if (request.system)
    append_openai(text, *request.system);
  add(text);
  for (const auto& m : request.messages) {
    text.clear();
    append_openai(text, m);
    add(text);
  }
  auto rest = json::object{};
  if (request.tools) {
    auto& tools = rest["tools"].emplace_array();
    for (const auto& tool : *request.tools)
      tools.push_back({tool.name, tool.description, tool.parameters});
  }
  if (request.format)
    rest["format"] = {request.format->name, request.format->description, request.format->schema,
                      static_cast<int>(request.format->mode), request.format->is_strict};
  add(to_canonical_text(json::value(std::move(rest))));
  return sum.finish();
}

/// Whether a value matches a schema, checked as agents check structured responses.
bool matches(json::value value, const json::object& schema) {
  remove_absent(value, schema);
  if (!matches_schema(value, schema))
    return false;
  const auto* object = value.if_object();
  const auto checks = argument_schema::compile(schema);
  return !object || !checks || checks->check(*object).empty();
}

/// Returns the tool that the model must call; null if it may choose. A structured response may be
/// requested as the arguments of such a call.
const tool_definition* forced_tool(const model_request& request) {
  const auto* choice = request.parameters.if_contains("tool_choice");
  const auto* name = choice && request.tools ? choice->if_string() : nullptr;
  if (!name)
    return nullptr;
  const auto found =
      std::ranges::find(*request.tools, std::string_view{*name}, &tool_definition::name);
  return found == request.tools->end() ? nullptr : &*found;
}

/// Whether an answer may be used for other requests.
bool is_storable(const message& answer, const model_request& request) {
  if (!providers::why_cut(answer.response_metadata).empty() || !answer.invalid_tool_calls.empty())
    return false;
  if (const auto* tool = forced_tool(request)) {
    const auto call = std::ranges::find(answer.tool_calls, tool->name, &tool_call::name);
    if (call == answer.tool_calls.end())
      return false;
    auto args = json::value(call->args);
    if (const auto* strict = request.parameters.if_contains("strict"); strict && *strict == true)
      add_absent(args, tool->parameters);
    return matches(std::move(args), tool->parameters);
  }
  if (!answer.tool_calls.empty())
    return true;
  const auto text = text_of(answer);
  if (is_blank(text))
    return false;
  if (!request.format)
    return true;
  auto parsed = parse_json(without_fence(text));
  return parsed && matches(*std::move(parsed), request.format->schema);
}

/// Returns a stored answer as the answer to a new request: without an id, which belongs to another
/// run, and with counters instead of its token counts.
message reused(message answer) {
  const auto tokens = answer.usage ? answer.usage->total_tokens : std::int64_t{0};
  auto usage = token_usage{};
  usage.input_details[cached_answers_key] = 1;
  usage.input_details[cached_tokens_key] = tokens;
  answer.usage = std::move(usage);
  answer.id.clear();
  return answer;
}

class cached_model final : public chat_model {
public:
  cached_model(chat_model_ptr model, std::shared_ptr<answer_cache> cache,
               cached_model_options options)
      : parts_{std::make_shared<const parts>(parts{model, std::move(cache), model->fingerprint()})},
        options_{std::move(options)} {}

  task<result<message>> complete(model_request request) const override {
    if (!is_cached(request))
      return parts_->inner->complete(std::move(request));
    return ask(parts_, std::move(request));
  }
  std::string fingerprint() const override { return parts_->model; }

private:
  struct parts {
    chat_model_ptr inner;
    std::shared_ptr<answer_cache> cache;
    std::string model;
    std::shared_ptr<flight_table> flights = std::make_shared<flight_table>();
  };
  using parts_ptr = std::shared_ptr<const parts>;

  [[nodiscard]] bool is_cached(const model_request& request) const {
    if (options_.with_sampled)
      return true;
    auto parameters = options_.parameters;
    for (const auto& [name, value] : request.parameters)
      parameters.insert_or_assign(name, value);
    return options_.is_deterministic && !parameters.contains("temperature")
               ? true
               : !is_sampled(parameters);
  }

  static task<result<message>> ask(parts_ptr of, model_request request) {
    const auto key = key_of(request, of->model);
    if (auto known = find(*of, key))
      co_return told(*std::move(known), request);
    if (of->flights->start(key)) {
      auto flight = flight_table::flight{of->flights, key};
      // An equal request may have ended since the cache was searched.
      if (auto known = find(*of, key))
        co_return told(*std::move(known), request);
      auto leading = lead(of, std::move(request), key, std::move(flight));
      auto answer = co_await leading;
      co_return answer;
    }
    auto waiting = follow(of, key);
    auto shared = co_await waiting;
    if (shared)
      co_return told(*shared, request);
    // The request in flight failed, or has just ended.
    if (auto known = find(*of, key))
      co_return told(*std::move(known), request);
    auto asking = of->inner->complete(std::move(request));
    auto answer = co_await asking;
    co_return answer;
  }

  /// Sends the request, stores its answer, and passes it to those who wait.
  static task<result<message>> lead(parts_ptr of, model_request request, std::string key,
                                    flight_table::flight flight) {
    auto copy = request; // is_storable() needs it; the messages are shared, not copied
    copy.on_chunk = {};
    auto asking = of->inner->complete(std::move(request));
    auto answer = co_await asking;
    if (answer && is_storable(*answer, copy)) {
      of->cache->put(key, to_text(to_json(*answer)));
      flight.land(std::make_shared<const message>(*answer));
    }
    co_return answer;
  }

  static task<shared_answer> follow(parts_ptr of, std::string key) {
    auto start = [of, key = std::move(key)](completer<shared_answer> done) {
      if (!of->flights->join(key, done))
        done(nullptr);
    };
    auto waiting = await_callback<shared_answer>(std::move(start));
    co_return co_await waiting;
  }

  static std::optional<message> find(const parts& of, const std::string& key) {
    const auto text = of.cache->find(key);
    if (!text)
      return std::nullopt;
    const auto parsed = parse_json(*text);
    if (!parsed)
      return std::nullopt;
    auto answer = message_from_json(*parsed);
    return answer ? std::optional{*std::move(answer)} : std::nullopt;
  }

  /// Returns a stored answer, and passes it to the request's stream.
  static message told(message stored, const model_request& request) {
    auto out = reused(std::move(stored));
    if (request.on_chunk)
      request.on_chunk(models::whole_chunk(out));
    return out;
  }

  parts_ptr parts_;
  cached_model_options options_;
};

} // namespace

bool is_sampled(const json::object& parameters) {
  const auto* temperature = parameters.if_contains("temperature");
  return temperature == nullptr || !temperature->is_number() ||
         temperature->to_number<double>() > 0;
}

chat_model_ptr cache_answers(chat_model_ptr model, std::shared_ptr<answer_cache> cache,
                             cached_model_options options) {
  return std::make_shared<const cached_model>(std::move(model), std::move(cache),
                                              std::move(options));
}

} // namespace superstep::detail
