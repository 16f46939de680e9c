// SPDX-License-Identifier: Apache-2.0
#include <superstep/base/assert.hpp>
#include <superstep/protocols/model_middleware.hpp>

#include <utility>

namespace superstep {

namespace {

/// Tells a whole answer as a stream would have told it.
void tell(const message& answer, const protocol_event_handler& on_event) {
  if (auto text = text_of(answer); !text.empty())
    on_event(stream_text{std::move(text)});
  auto number = std::size_t{0};
  for (const auto& call : answer.tool_calls) {
    const auto arguments = to_text(call.args);
    on_event(tool_input_start{number, call.name});
    on_event(tool_input_delta{number, arguments});
    on_event(tool_input_end{number});
    on_event(stream_call{number++, {call.name, arguments}});
  }
}

task<result<message>> complete_and_tell(chat_model_ptr model, model_request request,
                                        protocol_event_handler on_event) {
  auto asking = model->complete(std::move(request));
  auto answer = co_await asking;
  if (answer)
    tell(*answer, on_event);
  co_return answer;
}

task<result<message>> stream_of(const chat_model_ptr& model, model_request request,
                                protocol_event_handler on_event) {
  if (const auto* streaming = dynamic_cast<const streaming_chat_model*>(model.get()))
    return streaming->stream(std::move(request), std::move(on_event));
  return complete_and_tell(model, std::move(request), std::move(on_event));
}

/// A model behind one middleware. The frames hold both, because callers only hold the task.
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

} // namespace superstep
