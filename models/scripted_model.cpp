// SPDX-License-Identifier: Apache-2.0
// The scripted model: answers by the rules of a file, with the timing that the file configures.
// script_reader.cpp reads the file, script_rule.cpp evaluates the rules.
#include "models/hash.hpp"
#include "models/read_text_file.hpp"
#include "models/script_pieces.hpp"
#include "models/script_reader.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/scripted_model.hpp>

#include <utility>

namespace superstep {

namespace {

class scripted_model final : public chat_model {
public:
  scripted_model(models::script script, std::size_t calls_max, std::string content_hash)
      : script_{std::move(script)}, calls_max_{calls_max}, content_hash_{std::move(content_hash)} {}

  [[nodiscard]] task<result<message>> complete(model_request request) const override {
    // The numbers depend only on run, script and turn, so repeated runs get equal answers, times
    // and faults.
    auto random = models::seeded_random{request.run_key, script_.seed, request.turn};
    const auto draw = random.unit();
    const auto spread = std::pair{random.unit(), random.unit()};
    auto out = answer(request, draw);
    const auto time = models::answer_time(script_, out ? out->content.size() : 0, spread);
    if (out && request.on_chunk) {
      const auto before_text = models::answer_time(script_, 0, spread);
      auto streaming = stream(*out, std::move(request.on_chunk), before_text, time - before_text);
      co_await streaming;
    } else if (time.count() > 0) {
      auto rest = sleep_for{time};
      co_await rest;
    }
    co_return out;
  }

  [[nodiscard]] std::string fingerprint() const override { return "scripted " + content_hash_; }

private:
  /// Streams an answer: waits for `waiting`, passes the pieces of the text at equal intervals
  /// during `writing`, and then the pieces of the calls without delay.
  static task<void> stream(const message& answer, chunk_handler on_chunk,
                           std::chrono::nanoseconds waiting, std::chrono::nanoseconds writing) {
    auto& at = co_await this_context{};
    const auto begin = at.where->now() + waiting;
    const auto pieces = models::text_pieces(answer.content);
    for (auto i = std::size_t{0}; i < pieces.size(); ++i) {
      const auto due = begin + writing * static_cast<std::int64_t>(i + 1) /
                                   static_cast<std::int64_t>(pieces.size());
      if (due > at.where->now()) {
        auto rest = sleep_until{due};
        co_await rest;
      }
      on_chunk(models::text_chunk(pieces[i]));
    }
    if (begin > at.where->now()) { // the answer has no text, so the loop did not wait
      auto rest = sleep_until{begin};
      co_await rest;
    }
    for (const auto& piece : models::call_chunks(answer))
      on_chunk(piece);
    on_chunk(models::last_chunk_of(answer));
  }

  /// Returns an injected fault, the answer of the first rule that matches, or the default answer.
  [[nodiscard]] result<message> answer(const model_request& request, double draw) const {
    // Each fault has a range of [0, 1) as wide as its probability. `draw` is in at most one range.
    for (const auto& [kind, chance] : script_.faults) {
      if (draw < chance)
        return error{kind, "fault injected by the script"};
      draw -= chance;
    }
    if (request.messages.empty() && !request.system)
      return error{model_errc::bad_request, "the request has no message to answer"};
    const auto& last = request.messages.empty() ? *request.system : request.messages.back();
    const auto text = text_of(last);
    for (const auto& rule : script_.rules)
      if (const auto found = rule.fits(last, text, request.turn))
        return make_answer(rule.answer, *found, text, request.turn);
    if (!script_.default_answer)
      return error{
          model_errc::bad_answer,
          "no rule of the script matches turn " + std::to_string(request.turn) +
              ", and there is no default; the last message begins: " + text.substr(0, 200)};
    auto whole = models::captures{};
    whole[0] = text;
    return make_answer(*script_.default_answer, whole, text, request.turn);
  }

  /// Builds an answer.
  /// @param found the captures of the rule
  /// @param text the text in which `for_each` searches
  [[nodiscard]] result<message> make_answer(const models::script_answer& from,
                                            const models::captures& found, std::string_view text,
                                            std::uint32_t turn) const {
    auto out = ai_message(models::substitute(from.text, found));
    out.usage = from.usage;
    const auto add = [&](const models::script_call& call, const models::captures& with) {
      auto made = tool_call{};
      made.id = fmt::format("call_{}_{}", turn, out.tool_calls.size());
      made.name = call.name;
      made.args = models::substitute(call.args, with);
      out.tool_calls.push_back(std::move(made));
    };
    for (const auto& call : from.calls) {
      if (!call.for_each)
        add(call, found);
      else
        for (const auto& place : models::find_all(*call.for_each, text, calls_max_ + 1))
          add(call, place);
      if (out.tool_calls.size() > calls_max_)
        return error{model_errc::bad_answer,
                     fmt::format("the script makes more than {} calls in one answer; raise "
                                 "calls_max",
                                 calls_max_)};
    }
    return out;
  }

  models::script script_;
  std::size_t calls_max_;
  std::string content_hash_;
};

} // namespace

result<chat_model_ptr> make_scripted_model(scripted_model_options options) {
  auto text = std::move(options.text);
  if (!options.path.empty()) {
    auto read = models::read_text_file(options.path, options.file_bytes_max);
    if (!read)
      return read.error();
    text = std::move(*read);
  }
  auto rules = models::read_script(text, options.path.empty() ? "script" : options.path);
  if (!rules)
    return rules.error();
  return std::make_shared<const scripted_model>(std::move(*rules), options.calls_max,
                                                models::hash_text(text));
}

} // namespace superstep
