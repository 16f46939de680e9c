// SPDX-License-Identifier: Apache-2.0
// Middleware that edits messages: summaries, context editing, personal data, and to-do lists.
#include "agents/agent_desk.hpp"

#include <superstep/agents/prebuilt_middleware.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <new>
#include <ostream>
#include <stdexcept>
#include <tuple>

using namespace superstep;
using namespace superstep::testing;

namespace middleware_messages_test {

namespace {

namespace data = boost::unit_test::data;

agent_options<desk> with(chat_model_ptr model, message_middleware m) {
  auto options = design(std::move(model));
  options.middleware = {std::move(m)};
  return options;
}

summarisation_options summary_by(chat_model_ptr model, std::size_t messages_max, std::size_t keep) {
  auto out = summarisation_options{};
  out.model = std::move(model);
  out.messages_max = messages_max;
  out.messages_to_keep = keep;
  return out;
}

/// An agent that continues this conversation after the question of a user.
agent_options<desk> continuing(message_list messages, chat_model_ptr model, message_middleware m) {
  auto first = middleware<desk>{};
  first.name = "continues";
  first.before_agent = [messages = std::move(messages)](const desk&, runtime) {
    return update{set<&desk::messages>(messages)};
  };
  auto out = with(std::move(model), std::move(m));
  out.middleware.insert(out.middleware.begin(), std::move(first));
  return out;
}

struct lost : std::runtime_error {
  lost() : std::runtime_error{"lost"} {}
};

/// A model whose calls throw.
template <class Failure>
class broken_model final : public chat_model {
public:
  task<result<message>> complete(model_request) const override {
    throw Failure{};
    co_return error{model_errc::server_error, "not reached"};
  }
  std::string fingerprint() const override { return "broken"; }
};

} // namespace

BOOST_AUTO_TEST_SUITE(long_conversations)

BOOST_AUTO_TEST_CASE(older_messages_are_summarised_and_newest_kept) {
  const auto writer = scripted({ai_message("all about Oslo")});
  const auto model = scripted({ai_message("hi")});
  auto talk = conversation{with(model, summarisation(summary_by(writer, 5, 2)))};
  static_cast<void>(talk.say("one"));
  static_cast<void>(talk.say("two"));
  const auto ended = talk.say("three");
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) ==
             "Here is a summary of the conversation to date:\n\nall about Oslo\nhi\nthree\nhi");
  BOOST_TEST(model->asked()[2].messages.size() == 3U);
  const auto read = writer->asked()[0].messages[0].content;
  BOOST_TEST(read.find("one") != std::string::npos);
  BOOST_TEST(read.find("three") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(summary_request_omits_tools_bound_to_model) {
  const auto writer = scripted({ai_message("all about Oslo")});
  auto tool = tool_definition{};
  tool.name = "search";
  const auto bound =
      bind_tools(writer, std::make_shared<const std::vector<tool_definition>>(1, tool)).value();
  auto talk =
      conversation{with(scripted({ai_message("hi")}), summarisation(summary_by(bound, 5, 2)))};
  for (const auto* text : {"one", "two", "three"})
    static_cast<void>(talk.say(text));
  BOOST_TEST_REQUIRE(writer->asked().size() == 1U);
  BOOST_TEST((writer->asked()[0].tools && writer->asked()[0].tools->empty()));
}

BOOST_AUTO_TEST_CASE(summarisation_does_not_separate_calls_from_answers) {
  const auto writer = scripted({ai_message("short")});
  auto both = calling("echo", "c1");
  both.tool_calls.push_back(calling("echo", "c2").tool_calls[0]);
  const auto model = scripted({both, ai_message("done")});
  const auto ended = run(with(model, summarisation(summary_by(writer, 4, 1))));
  BOOST_TEST(why(ended) == "");
  // The newest message answers the call, so the call and both answers stay.
  const auto asked = model->asked();
  BOOST_REQUIRE(asked.size() == 2U || asked.size() == 3U);
  const auto& read = asked.back().messages;
  BOOST_REQUIRE(read.size() == 4U);
  BOOST_TEST(read[1].tool_calls.size() == 2U);
}

BOOST_AUTO_TEST_CASE(summarisation_keeps_calls_with_late_answers) {
  auto both = calling("echo", "c1");
  both.tool_calls.push_back(calling("echo", "c2").tool_calls[0]);
  const auto history = message_list{
      calling("echo", "c2"), tool_message("x", "c2", "echo"), both, tool_message("x", "c1", "echo"),
      human_message("wait"), tool_message("x", "c2", "echo")};
  for (const auto keep : {1U, 2U, 3U, 4U}) {
    const auto model = scripted({ai_message("done")});
    const auto ended = run(continuing(
        history, model, summarisation(summary_by(scripted({ai_message("short")}), 7, keep))));
    BOOST_TEST(why(ended) == "");
    BOOST_TEST(said(ended) == "Here is a summary of the conversation to date:\n\nshort\n"
                              "\nx\nwait\nx\ndone");
  }
}

BOOST_AUTO_TEST_CASE(summarisation_starts_above_token_limit) {
  const auto writer = scripted({ai_message("short")});
  auto options = summary_by(writer, 1000, 1);
  options.tokens_max = 3;
  options.count = [](const message&) { return 1; };
  auto talk = conversation{with(scripted({ai_message("hi")}), summarisation(std::move(options)))};
  static_cast<void>(talk.say("one"));
  BOOST_TEST(writer->asked().empty());
  static_cast<void>(talk.say("two"));
  BOOST_TEST(writer->asked().size() == 1U);
}

BOOST_AUTO_TEST_CASE(failed_summary_keeps_all_messages) {
  auto talk = conversation{
      with(scripted({ai_message("hi")}), summarisation(summary_by(scripted({}), 2, 1)))};
  static_cast<void>(talk.say("one"));
  const auto ended = talk.say("two");
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "one\nhi\ntwo\nhi");
  BOOST_CHECK_THROW(static_cast<void>(summarisation({})), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(unusable_summary_keeps_all_messages) {
  auto cut = ai_message("They talked ab");
  cut.response_metadata["finish_reason"] = "length";
  const auto keeps_all = [](chat_model_ptr writer) {
    auto talk = conversation{
        with(scripted({ai_message("hi")}), summarisation(summary_by(std::move(writer), 2, 1)))};
    static_cast<void>(talk.say("one"));
    const auto ended = talk.say("two");
    return why(ended) + said(ended);
  };
  for (const auto& answer : {cut, ai_message(""), ai_message(" \n\t"), calling("echo", "c1")})
    BOOST_TEST(keeps_all(scripted({answer})) == "one\nhi\ntwo\nhi");
  BOOST_TEST(keeps_all(std::make_shared<const broken_model<lost>>()) == "one\nhi\ntwo\nhi");
  BOOST_TEST(keeps_all(std::make_shared<const broken_model<std::bad_alloc>>()) != // the machine
             "one\nhi\ntwo\nhi");
}

BOOST_AUTO_TEST_CASE(large_message_is_summarised_in_part) {
  const auto read_of = [](std::string text, std::int64_t tokens_max) {
    const auto writer = scripted({ai_message("short")});
    auto options = summary_by(writer, 3, 1);
    options.summary_tokens_max = tokens_max;
    options.count = [](const message& m) { return static_cast<std::int64_t>(m.content.size()); };
    const auto ended =
        run(continuing({system_message("rules"), ai_message(std::move(text)), human_message("on")},
                       scripted({ai_message("done")}), summarisation(std::move(options))));
    BOOST_TEST(why(ended) == "");
    const auto asked = writer->asked();
    return asked.empty() ? "none" : asked[0].messages[0].content;
  };
  BOOST_TEST(read_of("first line\nlast", 9) == "AI: last");
  BOOST_TEST(read_of(std::string(1'000, 'x') + "last", 6) == "xxlast");
  BOOST_TEST(read_of(std::string(1'000, 'x') + "\xc3\xa4st", 3) == "st"); // no half character
  BOOST_TEST(read_of("text", 0) == "none");
}

BOOST_AUTO_TEST_CASE(old_tool_results_are_cleared_and_newest_kept) {
  auto messages = message_list{human_message("question")};
  for (const auto* tool : {"echo", "shout", "echo", "echo"}) {
    const auto id = "c" + std::to_string(messages.size());
    messages.push_back(calling(tool, id));
    messages.push_back(tool_message("long long", id, tool));
  }
  auto options = context_editing_options{};
  options.tokens_max = 8;
  options.keep = 1;
  options.exclude_tools = {"shout"};
  options.clear_inputs = true;
  options.count = [](const message&) { return 1; };
  const auto edited = clear_tool_results(messages, options);
  BOOST_TEST(edited[2].content == "[cleared]");
  BOOST_TEST(edited[1].tool_calls[0].args.empty());
  BOOST_TEST(edited[4].content == "long long"); // excluded by the options
  BOOST_TEST(edited[6].content == "[cleared]");
  BOOST_TEST(edited[8].content == "long long"); // the newest result is kept
  BOOST_TEST(messages[2].content == "long long");
  options.clear_at_least = 3;
  options.count = [](const message& m) { return static_cast<std::int64_t>(m.content.size()); };
  options.placeholder = "-";
  BOOST_TEST(clear_tool_results(messages, options)[6].content == "long long");
  options.tokens_max = 1000;
  BOOST_TEST((clear_tool_results(messages, options) == messages));
}

BOOST_AUTO_TEST_CASE(results_belong_to_the_nearest_call_with_their_id) {
  auto messages = message_list{};
  for (const auto* tool : {"echo", "echo", "shout"}) {
    messages.push_back(calling(tool, "call_0", "words"));
    messages.push_back(tool_message("long long", "call_0", "")); // without the name of the tool
  }
  auto options = context_editing_options{};
  options.tokens_max = 1;
  options.keep = 0;
  options.exclude_tools = {"shout"};
  options.clear_inputs = true;
  const auto edited = clear_tool_results(messages, options);
  for (const auto i : {0U, 2U}) {
    BOOST_TEST(edited[i].tool_calls[0].args.empty());
    BOOST_TEST(edited[i + 1].content == "[cleared]");
  }
  BOOST_TEST(!edited[4].tool_calls[0].args.empty());
  BOOST_TEST(edited[5].content == "long long");
  options.keep = 2;
  BOOST_TEST(!clear_tool_results(messages, options)[2].tool_calls[0].args.empty());
}

BOOST_AUTO_TEST_CASE(context_editing_changes_request_but_not_state) {
  auto options = context_editing_options{};
  options.tokens_max = 0;
  options.keep = 0;
  const auto model = scripted({calling("echo", "c1"), ai_message("done")});
  const auto ended = run(with(model, context_editing(std::move(options))));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(model->asked()[1].messages[2].content == "[cleared]");
  BOOST_TEST(ended.state.messages[2].content == "x");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(personal_data)

namespace {

struct pii_case {
  std::string_view kind;
  pii_strategy strategy;
  std::string_view text;
  std::string_view wanted;
};
std::ostream& operator<<(std::ostream& out, const pii_case& c) {
  return out << c.kind << ": " << c.text;
}

using enum pii_strategy;
const auto pii_cases = std::vector<pii_case>{
    {"email", redact, "write to kim@example.com.", "write to [REDACTED_EMAIL]."},
    {"email", mask, "kim@mail.example.com, lee@b.org", "kim@****.com, lee@****.org"},
    {"email", redact, "\xe8\x81\x94kim@example.com", "\xe8\x81\x94[REDACTED_EMAIL]"},
    {"email", redact, "kim at example.com", "kim at example.com"},
    {"email", hash, "a@b.co", "<email_hash:80305c9b>"},
    {"credit_card", mask, "4111111111111111", "************1111"},
    {"credit_card", mask, "4111-1111-1111-1111", "****-****-****-1111"},
    {"credit_card", mask, "4111 1111 1111 1111", "**** **** **** 1111"},
    {"credit_card", redact, "4111\u00a01111\u00a01111\u00a01111", "[REDACTED_CREDIT_CARD]"},
    {"credit_card", redact, "4111111111111112 fails the check", "4111111111111112 fails the check"},
    {"ip", redact, "from 10.0.0.255", "from [REDACTED_IP]"},
    {"ip", mask, "192.168.1.7", "*.*.*.7"},
    {"ip", redact, "256.1.1.1 and 01.1.1.1", "256.1.1.1 and 01.1.1.1"},
    {"mac_address", mask, "00:1A:2b:3c:4d:5E", "**:**:**:**:**:5E"},
    {"mac_address", redact, "00-1A-2b-3c-4d-5E.", "[REDACTED_MAC_ADDRESS]."},
    {"url", redact, "see https://a.b/c?d=e f", "see [REDACTED_URL] f"},
    {"url", mask, "www.example.com or example.com/x", "[MASKED_URL] or [MASKED_URL]"},
    {"url", redact, "example.com is prose", "example.com is prose"},
};

} // namespace

BOOST_DATA_TEST_CASE(personal_data_of_known_kinds_is_replaced, data::make(pii_cases), c) {
  BOOST_TEST(without_pii(c.text, std::string{c.kind}, detector_of(c.kind), c.strategy) == c.wanted);
}

BOOST_AUTO_TEST_CASE(mask_hides_values_of_unexpected_form) {
  const auto all = [](std::string_view text) { return std::vector{pii_match{0, text.size()}}; };
  for (const auto& [kind, value, wanted] :
       {std::tuple{"email", "kim at example.com", "****"},
        std::tuple{"email", "kim@lee@example.com", "****"},
        std::tuple{"email", "kim@host", "kim@****"}, std::tuple{"ip", "2001:db8::42", "****"},
        std::tuple{"ip", "10.1", "****"}, std::tuple{"ip", "::ffff:10.0.0.1.5", "****"},
        std::tuple{"mac_address", "001A2b3c4d5E", "**-**-**-**-**-5E"},
        std::tuple{"mac_address", "001A.2b3c.4d5E", "**-**-**-**-**-5E"},
        std::tuple{"mac_address", "00-1A", "**-**-**-**-**-1A"},
        std::tuple{"mac_address", "5E", "****"}, std::tuple{"mac_address", "5", "****"},
        std::tuple{"credit_card", "1234", "****"}, std::tuple{"key", "abcd", "****"},
        std::tuple{"key", "\xc3\xa4\xc3\xb6\xc3\xbc", "****"},
        std::tuple{"key", "k-\xc3\xa4\xc3\xb6\xc3\xbc", "****-\xc3\xa4\xc3\xb6\xc3\xbc"}})
    BOOST_TEST(without_pii(value, kind, all, mask) == wanted);
}

BOOST_AUTO_TEST_CASE(pattern_detector_finds_data_and_rejects_invalid_patterns) {
  const auto key = detector_by_pattern("sk-[a-z]{4}");
  BOOST_TEST(without_pii("sk-abcd!", "api_key", key, redact) == "[REDACTED_API_KEY]!");
  BOOST_TEST(without_pii("sk-abcd!", "api_key", key, mask) == "****abcd!");
  BOOST_CHECK_THROW(static_cast<void>(detector_by_pattern("(")), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(detector_of("shoe size")), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(personal_data_is_redacted_in_selected_messages) {
  auto options = pii_options{};
  options.kind = "email";
  options.output = true;
  options.tool_results = true;
  const auto model = scripted({calling("echo", "c1", "kim@a.org"), ai_message("lee@a.org")});
  auto talk = conversation{with(model, pii(options))};
  const auto ended = talk.say("I am max@a.org");
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(said(ended) == "I am [REDACTED_EMAIL]\n\n[REDACTED_EMAIL]\n[REDACTED_EMAIL]");
  BOOST_TEST(model->asked()[0].messages[0].content == "I am [REDACTED_EMAIL]");
  BOOST_TEST(model->asked()[1].messages[2].content == "[REDACTED_EMAIL]");
}

BOOST_AUTO_TEST_CASE(default_redaction_covers_input_blocks_but_not_answers) {
  auto options = pii_options{};
  options.kind = "email";
  auto with_blocks = message{};
  with_blocks.blocks = json::array{{{"type", "text"}, {"text", "kim@a.org"}}, "lee@a.org"};
  auto m = pii(options);
  BOOST_TEST(!m.after_model.run);
  auto agent = with(scripted({ai_message("max@a.org")}), std::move(m));
  auto first = middleware<desk>{};
  first.name = "asks";
  first.before_agent = [with_blocks](const desk&, runtime) {
    return update{set<&desk::messages>({with_blocks})};
  };
  agent.middleware.insert(agent.middleware.begin(), std::move(first));
  const auto ended = run(std::move(agent));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(text_of(ended.state.messages[1]) == "[REDACTED_EMAIL][REDACTED_EMAIL]");
  BOOST_TEST(ended.state.messages[2].content == "max@a.org");
}

BOOST_AUTO_TEST_CASE(block_strategy_fails_run_with_personal_data) {
  auto options = pii_options{};
  options.kind = "email";
  options.strategy = block;
  auto talk = conversation{with(scripted({ai_message("hi")}), pii(options))};
  BOOST_TEST(
      why(talk.say("a@b.co c@d.co")).find("Detected 2 instance(s) of email in text content") !=
      std::string::npos);
  BOOST_TEST(said(talk.say("hello")) == "a@b.co c@d.co\nhello\nhi"); // the thread keeps it
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(todo_lists)

namespace {

message planning(const std::string& id) {
  auto call = tool_call{id, "write_todos", {}};
  call.args["todos"] = json::array{{{"content", "look"}, {"status", "in_progress"}},
                                   {{"content", "buy"}, {"status", "pending"}}};
  return ai_message("", {std::move(call)});
}

} // namespace

BOOST_AUTO_TEST_CASE(model_writes_todos_into_state) {
  const auto model = scripted({planning("c1"), ai_message("done")});
  auto options = design(model);
  options.prompt = "Be brief.";
  options.middleware = {todo_list<&desk::todos>({"Plan first.", {}})};
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  const auto wanted = std::vector<todo>{{"look", "in_progress"}, {"buy", "pending"}};
  BOOST_TEST((ended.state.todos == wanted));
  BOOST_TEST(ended.state.messages[2].content ==
             "Updated todo list to [{'content': 'look', 'status': 'in_progress'}, {'content': "
             "'buy', 'status': 'pending'}]");
  BOOST_TEST(model->asked()[0].system->content == "Be brief.\n\nPlan first.");
  BOOST_TEST(model->asked()[0].tools->at(1).name == "write_todos");
}

BOOST_AUTO_TEST_CASE(several_todo_lists_in_one_answer_are_errors) {
  auto twice = planning("c1");
  twice.tool_calls.push_back(planning("c2").tool_calls[0]);
  auto options = design(scripted({twice, ai_message("done")}));
  options.middleware = {todo_list<&desk::todos>()};
  const auto ended = run(std::move(options));
  BOOST_TEST(why(ended) == "");
  BOOST_TEST(ended.state.todos.empty());
  BOOST_TEST(ended.state.messages.size() == 5U);
  BOOST_TEST(ended.state.messages[2].is_error);
  BOOST_TEST(ended.state.messages[3].content.starts_with(
      "Error: The `write_todos` tool should never be called multiple times in parallel."));
}

BOOST_AUTO_TEST_CASE(todo_lists_that_a_limit_refused_have_one_answer) {
  auto twice = planning("c1");
  twice.tool_calls.push_back(planning("c2").tool_calls[0]);
  for (const auto limit_is_first : {true, false}) { // hooks after the model run in reverse order
    auto options = design(scripted({twice, ai_message("done")}));
    options.middleware = {todo_list<&desk::todos>()};
    options.middleware.insert(
        limit_is_first ? options.middleware.end() : options.middleware.begin(),
        tool_call_limit<&desk::calls>({"write_todos", {}, 1, at_limit::proceed}));
    const auto ended = run(std::move(options));
    BOOST_TEST(why(ended) == "");
    BOOST_TEST(ended.state.messages.size() == 5U);
    BOOST_TEST(ended.state.todos.empty() != limit_is_first); // one list remains without a conflict
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace middleware_messages_test
