// SPDX-License-Identifier: Apache-2.0
// The chain of middleware around a model, and the middleware that is independent of text protocols:
// defaults, logging, caching, repair. The one for text protocols is in protocol_middleware.cpp.
#include "protocols/protocol_parts.hpp"
#include "protocols/relaxed_json.hpp"
#include "protocols/stream_output.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/protocols/protocol_middleware.hpp>

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace superstep {

namespace {

task<result<message>> complete_and_report(chat_model_ptr model, model_request request,
                                          protocol_event_handler on_event) {
  auto asking = model->complete(std::move(request));
  auto answer = co_await asking;
  if (answer)
    report_answer(*answer, on_event);
  co_return answer;
}

task<result<message>> stream_of(const chat_model_ptr& model, model_request request,
                                protocol_event_handler on_event) {
  if (const auto* streaming = dynamic_cast<const streaming_chat_model*>(model.get()))
    return streaming->stream(std::move(request), std::move(on_event));
  return complete_and_report(model, std::move(request), std::move(on_event));
}

/// A model wrapped in one middleware. The coroutines below are static and own both objects, because
/// a caller may keep only the task.
class wrapped_model final : public streaming_chat_model {
public:
  wrapped_model(chat_model_ptr inner, model_middleware_ptr middleware)
      : inner_{std::move(inner)}, middleware_{std::move(middleware)} {
    SUPERSTEP_ASSERT(inner_ != nullptr && middleware_ != nullptr);
  }

  task<result<message>> complete(model_request request) const override {
    return generate(inner_, middleware_, std::move(request));
  }
  task<result<message>> stream(model_request request,
                               protocol_event_handler on_event) const override {
    return stream(inner_, middleware_, std::move(request), std::move(on_event));
  }
  std::string fingerprint() const override {
    const auto own = middleware_->fingerprint();
    return own.empty() ? inner_->fingerprint() : own + '\n' + inner_->fingerprint();
  }

private:
  static task<result<message>> generate(chat_model_ptr inner, model_middleware_ptr middleware,
                                        model_request asked) {
    auto request = middleware->transform(asked);
    if (!request)
      co_return request.error();
    auto next =
        generate_function{[inner](model_request r) { return inner->complete(std::move(r)); }};
    auto asking = middleware->wrap_generate(std::move(asked), std::move(*request), std::move(next));
    auto answer = co_await asking;
    co_return answer;
  }
  static task<result<message>> stream(chat_model_ptr inner, model_middleware_ptr middleware,
                                      model_request asked, protocol_event_handler on_event) {
    auto request = middleware->transform(asked);
    if (!request)
      co_return request.error();
    auto next = stream_function{[inner](model_request r, protocol_event_handler handler) {
      return stream_of(inner, std::move(r), std::move(handler));
    }};
    auto asking = middleware->wrap_stream(std::move(asked), std::move(*request), std::move(next),
                                          std::move(on_event));
    auto answer = co_await asking;
    co_return answer;
  }

  chat_model_ptr inner_;
  model_middleware_ptr middleware_;
};

class no_middleware final : public model_middleware {};

} // namespace

task<result<message>> model_middleware::wrap_generate(model_request, model_request request,
                                                      generate_function next) const {
  return next(std::move(request));
}

task<result<message>> model_middleware::wrap_stream(model_request, model_request request,
                                                    stream_function next,
                                                    protocol_event_handler on_event) const {
  return next(std::move(request), std::move(on_event));
}

streaming_chat_model_ptr wrap_model(chat_model_ptr model,
                                    std::vector<model_middleware_ptr> middleware) {
  SUPERSTEP_ASSERT(model != nullptr);
  if (middleware.empty())
    middleware.push_back(std::make_shared<const no_middleware>());
  auto out = streaming_chat_model_ptr{};
  for (auto i = middleware.rbegin(); i != middleware.rend(); ++i)
    model = out = std::make_shared<const wrapped_model>(model, *i);
  return out;
}

namespace {

class defaults_middleware final : public model_middleware {
public:
  explicit defaults_middleware(json::object parameters) : parameters_{std::move(parameters)} {}

  std::string fingerprint() const override {
    return to_canonical_text(json::value{{"defaults", parameters_}});
  }
  result<model_request> transform(model_request request) const override {
    for (const auto& [key, value] : parameters_)
      request.parameters.emplace(key, value); // keeps the request's value if the key is present
    return request;
  }

private:
  json::object parameters_;
};

class logging_middleware final : public model_middleware {
public:
  explicit logging_middleware(std::function<void(const model_call_record&)> on_call)
      : on_call_{std::move(on_call)} {
    SUPERSTEP_ASSERT(on_call_ != nullptr);
  }

  task<result<message>> wrap_generate(model_request, model_request request,
                                      generate_function next) const override {
    auto record = record_of(request, false);
    auto asking = next(std::move(request));
    auto answer = co_await asking;
    report(std::move(record), answer);
    co_return answer;
  }
  task<result<message>> wrap_stream(model_request, model_request request, stream_function next,
                                    protocol_event_handler on_event) const override {
    auto record = record_of(request, true);
    auto asking = next(std::move(request), std::move(on_event));
    auto answer = co_await asking;
    report(std::move(record), answer);
    co_return answer;
  }

private:
  static model_call_record record_of(const model_request& request, bool is_stream) {
    auto out = model_call_record{};
    out.run_key = request.run_key;
    out.turn = request.turn;
    out.messages = request.messages.size();
    out.tools = request.tools ? request.tools->size() : 0;
    out.is_stream = is_stream;
    return out;
  }
  void report(model_call_record record, const result<message>& answer) const {
    if (answer) {
      record.usage = answer->usage;
      record.tool_calls = answer->tool_calls.size();
    } else {
      record.error = answer.error().text;
    }
    on_call_(record);
  }

  std::function<void(const model_call_record&)> on_call_;
};

/// Returns all members of a required format as JSON.
json::object form_of(const answer_schema& format) {
  auto out = json::object{};
  out["name"] = format.name;
  out["description"] = format.description;
  out["schema"] = format.schema;
  out["mode"] = static_cast<int>(format.mode);
  out["strict"] = format.is_strict;
  return out;
}

/// Returns a text that is the same for equal requests. The run key and the turn are not part of it,
/// so different runs share stored answers.
std::string cache_key(const model_request& request) {
  auto key = json::object{};
  if (request.system)
    key["system"] = to_json(*request.system);
  auto messages = json::array{};
  for (const auto& m : request.messages) {
    // Ids differ between runs and have no meaning for a model.
    auto one = m;
    one.id.clear();
    messages.push_back(to_json(one));
  }
  key["messages"] = std::move(messages);
  // Without tools, a model offers those of bind_tools(). With an empty list it offers none.
  if (request.tools) {
    auto& tools = key["tools"].emplace_array();
    for (const auto& tool : *request.tools)
      tools.push_back({tool.name, tool.description, tool.parameters});
  }
  key["parameters"] = request.parameters;
  if (request.format)
    key["format"] = form_of(*request.format);
  return to_canonical_text(json::value(std::move(key)));
}

class caching_middleware final : public model_middleware {
public:
  explicit caching_middleware(std::size_t answers_max) : answers_max_{answers_max} {
    SUPERSTEP_ASSERT(answers_max_ > 0);
  }

  task<result<message>> wrap_generate(model_request, model_request request,
                                      generate_function next) const override {
    auto key = cache_key(request);
    if (auto known = find(key))
      co_return std::move(*known);
    auto asking = next(std::move(request));
    auto answer = co_await asking;
    if (answer)
      keep(std::move(key), *answer);
    co_return answer;
  }

private:
  using entry = std::pair<std::string, message>;

  std::optional<message> find(const std::string& key) const {
    const auto lock = std::scoped_lock{mutex_};
    const auto found = places_.find(key);
    if (found == places_.end())
      return {};
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
  }
  void keep(std::string key, const message& answer) const {
    const auto lock = std::scoped_lock{mutex_};
    if (places_.contains(key))
      return; // a concurrent equal request has stored its answer first
    entries_.emplace_front(std::move(key), answer);
    places_[entries_.front().first] = entries_.begin();
    if (entries_.size() > answers_max_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
  }

  const std::size_t answers_max_;
  mutable std::mutex mutex_;
  mutable std::list<entry> entries_; // most recently used first; guarded by mutex_
  mutable std::map<std::string_view, std::list<entry>::iterator>
      places_; // by key; guarded by mutex_
};

const tool_definition* definition_of(const model_request& request, std::string_view name) {
  if (!request.tools)
    return nullptr;
  const auto found = std::ranges::find(*request.tools, name, &tool_definition::name);
  return found == request.tools->end() ? nullptr : &*found;
}

class repair_middleware final : public model_middleware {
public:
  std::string fingerprint() const override { return R"({"repair":true})"; }

  task<result<message>> wrap_generate(model_request, model_request request,
                                      generate_function next) const override {
    auto asking = next(request);
    auto answer = co_await asking;
    if (answer)
      repair(*answer, request);
    co_return answer;
  }
  task<result<message>> wrap_stream(model_request, model_request request, stream_function next,
                                    protocol_event_handler on_event) const override {
    auto numbers = std::size_t{0};
    auto asking = next(request, [&](const protocol_event& e) {
      // The pieces of a call are not reported, because the repaired arguments may differ from them.
      if (std::holds_alternative<stream_text>(e)) {
        on_event(e);
      } else if (const auto* call = std::get_if<stream_call>(&e)) {
        auto parsed = call->parsed;
        if (auto args = parse_json(parsed.arguments); args && args->is_object())
          parsed.arguments =
              to_text(converted(std::move(args->get_object()), parsed.name, request));
        report_call(numbers++, std::move(parsed), on_event);
      }
    });
    auto answer = co_await asking;
    if (!answer)
      co_return answer;
    const auto valid = answer->tool_calls.size();
    repair(*answer, request);
    // Valid calls were reported when they arrived; repair() has appended the others.
    for (auto i = valid; i < answer->tool_calls.size(); ++i) {
      const auto& call = answer->tool_calls[i];
      report_call(numbers++, {call.name, to_text(call.args)}, on_event);
    }
    co_return answer;
  }

private:
  /// Returns the arguments of a call in the types of its tool's schema. Calls of unknown tools are
  /// not changed.
  static json::object converted(json::object args, std::string_view name,
                                const model_request& request) {
    const auto* tool = definition_of(request, name);
    if (tool == nullptr)
      return args;
    auto bent = coerce(json::value(args), json::value(tool->parameters));
    if (auto* object = bent.if_object())
      args = std::move(*object);
    return args;
  }
  static void repair(message& answer, const model_request& request) {
    auto broken = std::vector<invalid_tool_call>{};
    for (auto& call : answer.invalid_tool_calls) {
      auto arguments = parse_relaxed_json(call.args);
      if (arguments && arguments->is_object())
        answer.tool_calls.push_back(
            {std::move(call.id), std::move(call.name), std::move(arguments->get_object())});
      else
        broken.push_back(std::move(call));
    }
    answer.invalid_tool_calls = std::move(broken);
    for (auto& call : answer.tool_calls)
      call.args = converted(std::move(call.args), call.name, request);
  }
};

} // namespace

model_middleware_ptr make_defaults_middleware(json::object parameters) {
  return std::make_shared<const defaults_middleware>(std::move(parameters));
}

model_middleware_ptr
make_logging_middleware(std::function<void(const model_call_record&)> on_call) {
  return std::make_shared<const logging_middleware>(std::move(on_call));
}

model_middleware_ptr make_caching_middleware(std::size_t answers_max) {
  return std::make_shared<const caching_middleware>(answers_max);
}

model_middleware_ptr make_repair_middleware() {
  return std::make_shared<const repair_middleware>();
}

} // namespace superstep
