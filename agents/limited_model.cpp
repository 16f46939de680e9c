// SPDX-License-Identifier: Apache-2.0
// Applies the limits of an agent file to recorded, replayed and scripted models. Provider models
// (models/http) apply the same limits themselves.
#include "agents/limited_model.hpp"

#include <superstep/models/chat_model.hpp>

#include <fmt/format.h>

#include <utility>

namespace superstep::detail {

namespace {

// An estimate; settle() corrects it by the reported usage.
constexpr auto bytes_per_token = std::size_t{4};

std::int64_t estimated_tokens(const model_request& request) {
  auto bytes = request.system ? request.system->content.size() : std::size_t{0};
  for (const auto& m : request.messages)
    bytes += m.content.size();
  return static_cast<std::int64_t>(bytes / bytes_per_token);
}

class limited_model final : public chat_model {
public:
  limited_model(chat_model_ptr model, model_limits_options options, std::size_t calls_max)
      : inner_{std::move(model)}, limits_{std::make_shared<model_limits>(options)},
        counts_tokens_{options.tokens_per_minute.has_value()},
        has_rate_{counts_tokens_ || options.requests_per_minute.has_value()},
        calls_max_{calls_max} {}

  task<result<message>> complete(model_request request) const override {
    return ask(inner_, limits_, std::move(request), counts_tokens_, has_rate_, calls_max_);
  }
  std::string fingerprint() const override { return inner_->fingerprint(); }

private:
  static task<result<message>> ask(chat_model_ptr inner, std::shared_ptr<model_limits> limits,
                                   model_request request, bool counts_tokens, bool has_rate,
                                   std::size_t calls_max) {
    auto permit = co_await limits->calls().acquire();
    // The estimate reads the whole conversation, so it is made only if there is a token limit.
    const auto reserved = counts_tokens ? estimated_tokens(request) : std::int64_t{0};
    if (has_rate)
      co_await limits->rate().reserve(reserved);
    auto asking = inner->complete(std::move(request));
    auto reply = co_await asking;
    if (counts_tokens && reply && reply->usage)
      limits->rate().settle(reserved, reply->usage->total_tokens);
    if (reply && calls_max != 0 && reply->tool_calls.size() > calls_max)
      reply = error{model_errc::bad_answer,
                    fmt::format("the answer has {} tool calls; the maximum is {} "
                                "(limits.calls_per_answer)",
                                reply->tool_calls.size(), calls_max)};
    co_return reply;
  }

  chat_model_ptr inner_;
  std::shared_ptr<model_limits> limits_;
  bool counts_tokens_;
  bool has_rate_;
  std::size_t calls_max_;
};

} // namespace

chat_model_ptr limit_model(chat_model_ptr model, model_limits_options options,
                           std::size_t calls_max) {
  return std::make_shared<const limited_model>(std::move(model), options, calls_max);
}

} // namespace superstep::detail
