// SPDX-License-Identifier: Apache-2.0
// Calls that the model did not finish writing never run: streams and answers of every provider, cut
// at every byte, go through agents with a tool that records its arguments.
#include "models/http/answer_stream.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/models/chat_model.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(cut_calls)

namespace {

namespace data = boost::unit_test::data;

constexpr auto arguments = std::string_view{R"({"path":"/tmp/old-2","at":{"x":[1,12]},"n":12})"};

std::string quoted(std::string_view text) {
  auto out = std::string{};
  append_quoted(out, text);
  return out;
}

/// One provider: a streamed answer with one call whose argument text is `args`, in two pieces, and
/// the complete answer as one response.
struct wire {
  provider_api api;
  std::string_view cut; ///< its finish reason for an answer cut at the token limit
  std::string_view done;
  std::string (*stream)(std::string_view args, std::string_view reason);
  std::string (*whole)(std::string_view args, std::string_view reason);
};
std::ostream& operator<<(std::ostream& out, const wire& w) {
  return out << w.cut;
}

std::string data_line(const std::string& text) {
  return "data: " + text + "\n\n";
}

std::string chat_stream(std::string_view args, std::string_view reason) {
  const auto half = args.size() / 2;
  const auto piece = [](std::string_view text, std::string_view head) {
    return data_line(R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,)" +
                     std::string{head} + R"("arguments":)" + quoted(text) + "}}]}}]}");
  };
  return data_line(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]})") +
         piece("", R"("id":"c1","type":"function","function":{"name":"remove",)") +
         piece(args.substr(0, half), R"("function":{)") +
         piece(args.substr(half), R"("function":{)") +
         data_line(R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + std::string{reason} +
                   "\"}]}") +
         data_line("[DONE]");
}

std::string chat_whole(std::string_view args, std::string_view reason) {
  return R"({"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1",)"
         R"("type":"function","function":{"name":"remove","arguments":)" +
         quoted(args) + R"(}}]},"finish_reason":")" + std::string{reason} + "\"}]}";
}

std::string anthropic_stream(std::string_view args, std::string_view reason) {
  const auto half = args.size() / 2;
  const auto piece = [](std::string_view text) {
    return data_line(R"({"type":"content_block_delta","index":0,"delta":{"type":)"
                     R"("input_json_delta","partial_json":)" +
                     quoted(text) + "}}");
  };
  return data_line(R"({"type":"message_start","message":{"id":"m1","role":"assistant",)"
                   R"("content":[],"model":"m","usage":{"input_tokens":1,"output_tokens":1}}})") +
         data_line(R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use",)"
                   R"("id":"c1","name":"remove","input":{}}})") +
         piece(args.substr(0, half)) + piece(args.substr(half)) +
         data_line(R"({"type":"content_block_stop","index":0})") +
         data_line(R"({"type":"message_delta","delta":{"stop_reason":")" + std::string{reason} +
                   R"("},"usage":{"output_tokens":9}})") +
         data_line(R"({"type":"message_stop"})");
}

/// Closes truncated arguments, like a server that parses them.
std::string closed(std::string_view args) {
  const auto read = parse_json(args);
  return read && read->is_object() ? std::string{args}
                                   : R"({"path":)" + quoted(args.substr(0, 9)) + '}';
}

std::string anthropic_whole(std::string_view args, std::string_view reason) {
  return R"({"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c1",)"
         R"("name":"remove","input":)" +
         closed(args) + R"(}],"stop_reason":")" + std::string{reason} + "\"}";
}

std::string responses_end(std::string_view reason, const std::string& output) {
  const auto is_whole = reason == "completed";
  return R"({"id":"r1","status":")" + std::string{is_whole ? "completed" : "incomplete"} +
         R"(","incomplete_details":)" +
         (is_whole ? "null" : R"({"reason":")" + std::string{reason} + "\"}") + R"(,"output":)" +
         output + "}";
}

std::string responses_item(std::string_view args) {
  return R"({"type":"function_call","id":"f1","call_id":"c1","name":"remove","arguments":)" +
         quoted(args) + "}";
}

std::string responses_stream(std::string_view args, std::string_view reason) {
  const auto half = args.size() / 2;
  const auto piece = [](std::string_view text) {
    return data_line(R"({"type":"response.function_call_arguments.delta","item_id":"f1",)"
                     R"("output_index":0,"delta":)" +
                     quoted(text) + "}");
  };
  return data_line(R"({"type":"response.created","response":{"id":"r1"}})") +
         data_line(R"({"type":"response.output_item.added","output_index":0,"item":)" +
                   responses_item("") + "}") +
         piece(args.substr(0, half)) + piece(args.substr(half)) +
         data_line(R"({"type":"response.output_item.done","output_index":0,"item":)" +
                   responses_item(args) + "}") +
         data_line(R"({"type":"response.)" +
                   std::string{reason == "completed" ? "completed" : "incomplete"} +
                   R"(","response":)" + responses_end(reason, "[]") + "}");
}

std::string responses_whole(std::string_view args, std::string_view reason) {
  return responses_end(reason, '[' + responses_item(args) + ']');
}

std::string ollama_stream(std::string_view args, std::string_view reason) {
  return R"({"created_at":"t","message":{"role":"assistant","content":"","tool_calls":[{"function":)"
         R"({"name":"remove","arguments":)" +
         closed(args) + "}}]},\"done\":false}\n" +
         R"({"created_at":"t","message":{"role":"assistant","content":""},"done":true,)"
         R"("done_reason":")" +
         std::string{reason} + "\"}\n";
}

std::string ollama_whole(std::string_view args, std::string_view reason) {
  return R"({"created_at":"t","message":{"role":"assistant","content":"","tool_calls":[{"function":)"
         R"({"name":"remove","arguments":)" +
         closed(args) + R"(}}]},"done":true,"done_reason":")" + std::string{reason} + "\"}";
}

const auto wires = std::vector<wire>{
    {provider_api::openai_chat, "length", "tool_calls", chat_stream, chat_whole},
    {provider_api::anthropic, "max_tokens", "tool_use", anthropic_stream, anthropic_whole},
    {provider_api::openai_responses, "max_output_tokens", "completed", responses_stream,
     responses_whole},
    {provider_api::ollama, "length", "stop", ollama_stream, ollama_whole},
};

/// Parses its first answer like a provider's client; later answers are "done".
class wire_model final : public chat_model {
public:
  enum class form : std::uint8_t { streamed, whole };

  wire_model(provider_api api, form is, std::string body)
      : api_{api}, is_{is}, body_{std::move(body)} {}

  task<result<message>> complete(model_request request) const override {
    if (request.turn > 0)
      co_return ai_message("done");
    co_return is_ == form::whole ? models::read_answer(api_, body_) : read_stream(request);
  }
  std::string fingerprint() const override { return "wire"; }

private:
  [[nodiscard]] result<message> read_stream(const model_request& request) const {
    auto answer = models::answer_stream{
        api_, models::wire_request{}, output_version::v0, request.on_chunk, {}};
    auto wrong = answer.feed(body_);
    if (!wrong)
      wrong = answer.end();
    if (wrong || !answer.is_whole())
      return error{model_errc::unreachable, wrong ? wrong->text : "it broke off"};
    return answer.finish();
  }

  provider_api api_;
  form is_;
  std::string body_;
};

class recording_tool final : public tool {
public:
  recording_tool() {
    definition_.name = "remove";
    definition_.parameters["type"] = "object";
  }
  const tool_definition& definition() const noexcept override { return definition_; }
  task<tool_output> run(const tool_call& call, const tool_context&) const override {
    {
      const auto lock = std::scoped_lock{mutex_};
      ran_.push_back(to_text(call.args));
    }
    auto out = tool_output{};
    out.content = "removed";
    co_return out;
  }
  [[nodiscard]] std::vector<std::string> take() const {
    const auto lock = std::scoped_lock{mutex_};
    return std::exchange(ran_, {});
  }

private:
  tool_definition definition_;
  mutable std::mutex mutex_;
  mutable std::vector<std::string> ran_;
};

struct ending {
  std::vector<std::string> ran;
  message_list messages; ///< empty if the run failed
};

/// Runs agents of each kind over one answer.
class agents {
public:
  ending react(chat_model_ptr model, bool is_early) {
    auto options = react_agent_options<chat_state>{};
    options.answer_invalid_calls = true;
    options.tools = {tool_};
    options.model = std::move(model);
    if (is_early)
      options.early_tools = {"remove"};
    return run<chat_state>(create_react_agent(std::move(options)));
  }
  ending graph(chat_model_ptr model, bool is_early) {
    auto options = react_agent_options<messages_state>{};
    options.tools = {tool_};
    options.model = std::move(model);
    options.answer_invalid_calls = true;
    if (is_early)
      options.early_tools = {"remove"};
    return run<messages_state>(create_react_agent(std::move(options)));
  }

private:
  template <class State, class Graph>
  ending run(const Graph& graph) {
    auto begin = State{};
    begin.messages.push_back(human_message("tidy up"));
    auto ended = engine_.try_invoke(graph, std::move(begin));
    auto out = ending{tool_->take(), {}};
    out.messages = ended.state.messages;
    return out;
  }

  engine engine_;
  std::shared_ptr<const recording_tool> tool_ = std::make_shared<const recording_tool>();
};

/// Whether the model received a result for its call and was called again.
bool was_told(const message_list& messages) {
  const auto is_fault = [](const message& m) {
    return m.type == message_type::tool && m.is_error && m.tool_call_id != "";
  };
  return std::ranges::any_of(messages, is_fault) && messages[messages.size() - 1].content == "done";
}

bool is_whole_run(const std::vector<std::string>& ran) {
  return ran == std::vector<std::string>{std::string{arguments}};
}

using form = wire_model::form;
const auto forms = std::vector<form>{form::streamed, form::whole};

} // namespace

/// Object arguments of an answer cut at the token limit never run, because the server may have
/// closed them. Argument text that is complete arrived before the cut.
BOOST_DATA_TEST_CASE(call_with_truncated_arguments_never_runs,
                     data::make(wires) * data::make({0, 1}), w, at) {
  const auto is = forms[static_cast<std::size_t>(at)];
  const auto has_objects =
      w.api == provider_api::ollama || (w.api == provider_api::anthropic && is == form::whole);
  auto all = agents{};
  for (auto size = std::size_t{0}; size <= arguments.size(); ++size) {
    const auto args = arguments.substr(0, size);
    const auto body = (is == form::streamed ? w.stream : w.whole)(args, w.cut);
    const auto model = std::make_shared<const wire_model>(w.api, is, body);
    const auto may_run = size == arguments.size() && !has_objects;
    for (const auto early : {false, true})
      for (const auto& end : {all.react(model, early), all.graph(model, early)}) {
        BOOST_TEST(is_whole_run(end.ran) == may_run, body);
        BOOST_TEST(end.ran.empty() != may_run, body);
        BOOST_TEST(was_told(end.messages) != may_run, body);
      }
  }
}

/// The server cuts arguments without reporting it in the finish reason.
BOOST_DATA_TEST_CASE(truncated_call_never_runs_despite_normal_finish_reason, data::make(wires), w) {
  if (w.api == provider_api::ollama)
    return; // its arguments are objects
  auto all = agents{};
  for (auto size = std::size_t{1}; size < arguments.size(); ++size) {
    const auto body = w.stream(arguments.substr(0, size), w.done);
    const auto end =
        all.react(std::make_shared<const wire_model>(w.api, form::streamed, body), true);
    BOOST_TEST(end.ran.empty(), body);
    BOOST_TEST(was_told(end.messages), body);
  }
}

BOOST_DATA_TEST_CASE(stream_cut_anywhere_runs_only_complete_calls, data::make(wires), w) {
  auto all = agents{};
  const auto whole = w.stream(arguments, w.done);
  for (auto size = std::size_t{0}; size <= whole.size(); ++size) {
    const auto model =
        std::make_shared<const wire_model>(w.api, form::streamed, whole.substr(0, size));
    for (const auto early : {false, true}) {
      const auto end = all.react(model, early);
      BOOST_TEST((end.ran.empty() || is_whole_run(end.ran)), whole.substr(0, size));
    }
  }
  BOOST_TEST(is_whole_run(
      all.react(std::make_shared<const wire_model>(w.api, form::streamed, whole), true).ran));
}

BOOST_DATA_TEST_CASE(call_without_valid_arguments_object_never_runs, data::make(wires), w) {
  if (w.api == provider_api::ollama)
    return;
  auto all = agents{};
  for (const auto* args : {R"({"expression":"6*7"}{"expression":"10/4"}{})", R"({"n":1} {"n":1})",
                           R"({"n":1}])", R"({}{})", R"([{"n":1}])", R"("{}")", "7",
                           R"({"n":123456789012345678901})", R"({"n":"\ud83d"})"}) {
    for (const auto early : {false, true}) {
      const auto end = all.react(
          std::make_shared<const wire_model>(w.api, form::streamed, w.stream(args, w.done)), early);
      BOOST_TEST(end.ran.empty(), args);
      BOOST_TEST(was_told(end.messages), args);
    }
    if (w.api == provider_api::anthropic)
      continue;
    const auto model =
        std::make_shared<const wire_model>(w.api, form::whole, w.whole(args, w.done));
    const auto end = all.react(model, false);
    BOOST_TEST(end.ran.empty(), args);
    BOOST_TEST(was_told(end.messages), args);
  }
}

BOOST_DATA_TEST_CASE(empty_argument_text_means_no_arguments, data::make(wires), w) {
  if (w.api == provider_api::ollama)
    return;
  const auto end = agents{}.react(
      std::make_shared<const wire_model>(w.api, form::streamed, w.stream("", w.done)), true);
  BOOST_TEST((end.ran == std::vector<std::string>{"{}"}));
}

BOOST_AUTO_TEST_CASE(call_without_arguments_and_finish_reason_never_runs) {
  auto body = chat_stream("", "stop");
  const auto at = body.find(R"(,"finish_reason":"stop")");
  body.erase(at, std::string_view{R"(,"finish_reason":"stop")"}.size());
  const auto end = agents{}.react(
      std::make_shared<const wire_model>(provider_api::openai_chat, form::streamed, body), true);
  BOOST_TEST(end.ran.empty());
  BOOST_TEST(was_told(end.messages));
}

BOOST_AUTO_TEST_SUITE_END()
