// SPDX-License-Identifier: Apache-2.0
// Structured responses that are requested in the answers of the model, and the repetition of
// requests after invalid answers.
#include "agents/fake_model.hpp"
#include "base/utf8.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/detail/response_reader.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace superstep;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(response_suite)

namespace {

using fake = std::shared_ptr<const testing::fake_model>;

message with_usage(message answer, std::int64_t tokens, const char* reason = "stop") {
  auto usage = token_usage{};
  usage.input_tokens = tokens;
  usage.total_tokens = tokens;
  answer.usage = std::move(usage);
  answer.response_metadata["finish_reason"] = reason;
  return answer;
}

message answering(std::string text, const char* reason = "stop") {
  return with_usage(ai_message(std::move(text)), 10, reason);
}

message calling(std::string name, json::object args) {
  auto call = tool_call{};
  call.id = "c1";
  call.name = std::move(name);
  call.args = std::move(args);
  auto out = ai_message({});
  out.tool_calls.push_back(std::move(call));
  return with_usage(std::move(out), 10);
}

fake scripted(std::vector<message> answers) {
  return std::make_shared<const testing::fake_model>(std::move(answers));
}

constexpr auto label_agent = R"(
model: {provider: scripted, path: unused.yaml}
prompt: Label the text.
response:
  title: label
  type: object
  properties: {label: {type: string, enum: [good, bad]}, why: {type: string}}
  required: [label]
)";

agent_spec spec_of(const std::string& more = {}) {
  auto reading = read_agent_text(label_agent + more, "agent.yaml", ".");
  BOOST_REQUIRE_MESSAGE(reading.faults.empty(), to_text(reading.faults));
  return std::move(reading.spec);
}

struct outcome {
  chat_state state;
  std::string error;
  std::error_code code;
  std::uint32_t failed_answers = 0; ///< model_error::answers()
  std::int64_t failed_tokens = 0;   ///< of model_error::usage()
  std::string failed_text;          ///< react::invalid_response::answer()
};

outcome run(const agent_spec& spec, const chat_model_ptr& model, tool_list tools = {}) {
  auto e = engine{{.workers = 1}};
  const auto made = agent{spec, model, std::move(tools)};
  auto out = outcome{};
  try {
    out.state = e.invoke(made.graph(), "nice").state;
  } catch (const graph_error& error) {
    out.error = error.what();
    try {
      std::rethrow_if_nested(error);
    } catch (const model_error& cause) {
      out.code = cause.code();
      out.failed_answers = cause.answers();
      out.failed_tokens = cause.usage() != nullptr ? cause.usage()->total_tokens : 0;
      if (const auto* invalid = dynamic_cast<const react::invalid_response*>(&cause))
        out.failed_text = invalid->answer();
    }
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(agent_without_tools_makes_one_call) {
  const auto model = scripted({answering(R"({"label":"good","why":null})")});
  const auto got = run(spec_of(), model);
  BOOST_TEST(got.error == "");
  BOOST_TEST(to_text(got.state.structured_response) == R"({"label":"good"})");
  BOOST_TEST(got.state.model_calls == 1U);
  BOOST_TEST(got.state.messages.size() == 2U);
  const auto asked = model->asked();
  BOOST_REQUIRE(asked.size() == 1U);
  BOOST_TEST(asked[0].system->content == "Label the text.");
  BOOST_REQUIRE(asked[0].format);
  BOOST_TEST(asked[0].format->name == "label");
  BOOST_TEST(asked[0].format->is_strict);
}

struct bad_answer {
  const char* text;
  const char* reason;
  const char* fault; ///< a part of the text that the model reads
};
std::ostream& operator<<(std::ostream& out, const bad_answer& one) {
  return out << one.text << ' ' << one.reason;
}
const auto long_answer = std::string(199, 'a') + "éé"; // the excerpt would end inside an é
const auto bad_answers = std::vector<bad_answer>{
    {"It is good.", "stop", "not valid JSON"},
    {long_answer.c_str(), "stop", "it begins: aaa"},
    {R"({"label":"fine"})", "stop", "does not match the schema"},
    {R"(["good"])", "stop", "not a JSON object"},
    {R"({"label":"go)", "length", "the answer was cut (length)"},
    {R"({"label":"good"})", "length", "the answer was cut (length)"},
    {"", "stop", "the answer is empty"},
};

BOOST_DATA_TEST_CASE(invalid_answer_is_requested_again_with_error, data::make(bad_answers), bad) {
  const auto model =
      scripted({answering(bad.text, bad.reason), answering("```json\n{\"label\":\"bad\"}\n```")});
  const auto got = run(spec_of(), model);
  BOOST_TEST(got.error == "");
  BOOST_TEST(to_text(got.state.structured_response) == R"({"label":"bad"})");
  BOOST_TEST(got.state.model_calls == 2U);
  BOOST_TEST(got.state.usage.total_tokens == 20);
  BOOST_TEST(got.state.messages.size() == 2U); // the invalid answer is not part of the state
  const auto asked = model->asked();
  BOOST_REQUIRE(asked.size() == 2U);
  BOOST_TEST(asked[1].turn == 1U);
  const auto& said = asked[1].messages[asked[1].messages.size() - 1];
  BOOST_TEST((said.type == message_type::human));
  BOOST_TEST(said.content.find(bad.fault) != std::string::npos, said.content);
  BOOST_TEST(is_utf8(said.content));
  // An empty answer, and the text of an answer that was cut, are not sent back.
  const auto is_sent = *bad.text != '\0' && std::string_view{bad.reason} == "stop";
  BOOST_TEST(asked[1].messages.size() == (is_sent ? 3U : 2U));
}

BOOST_AUTO_TEST_CASE(row_fails_after_last_retry) {
  for (const auto retries : {0U, 1U, 2U}) {
    const auto model = scripted({answering("no")});
    const auto got = run(spec_of("  retries: " + std::to_string(retries) + "\n"), model);
    BOOST_TEST(model->asked().size() == retries + 1);
    BOOST_TEST((got.code == model_errc::invalid_response));
    BOOST_TEST(got.error.find("not valid JSON") != std::string::npos, got.error);
    BOOST_TEST(got.failed_answers == retries + 1);
    BOOST_TEST(got.failed_tokens == 10 * (retries + 1));
    BOOST_TEST(got.failed_text == "no");
  }
}

BOOST_AUTO_TEST_CASE(error_contains_the_text_of_a_cut_answer) {
  const auto got = run(spec_of("  retries: 0\n"),
                       scripted({answering(R"({"label":"good","why":"bec)", "length")}));
  BOOST_TEST((got.code == model_errc::invalid_response));
  BOOST_TEST(got.failed_text == R"({"label":"good","why":"bec)");
}

BOOST_AUTO_TEST_CASE(refusal_of_the_model_is_the_error) {
  auto of_chat = answering("");
  of_chat.additional_kwargs["refusal"] = "I cannot help.";
  auto of_responses = answering("");
  of_responses.blocks.emplace().push_back({{"type", "refusal"}, {"refusal", "I cannot help."}});
  auto standard = answering("");
  standard.blocks.emplace().push_back(
      {{"type", "non_standard"}, {"value", of_responses.blocks->at(0)}});
  for (const auto& refused : {of_chat, of_responses, standard})
    for (const auto* method : {"json_schema", "tool_call"}) {
      const auto model = scripted({refused});
      const auto got =
          run(spec_of("  retries: 1\nresponse_method: " + std::string{method} + "\n"), model);
      BOOST_TEST((got.code == model_errc::invalid_response));
      BOOST_TEST(got.error.find("the model refused to answer: I cannot help.") != std::string::npos,
                 got.error);
      BOOST_TEST(got.failed_text == "I cannot help.");
      const auto asked = model->asked();
      BOOST_REQUIRE(asked.size() == 2U);
      BOOST_TEST(asked[1].messages[1].content == "I cannot help.");
    }
}

BOOST_AUTO_TEST_CASE(stop_reason_of_a_refusal_is_the_error) {
  for (const auto* text : {"", "I will not."}) {
    auto refused = answering(text);
    refused.response_metadata = {{"stop_reason", "refusal"}};
    const auto model = scripted({refused});
    const auto got = run(spec_of("  retries: 1\n"), model);
    const auto why = std::string{"the model refused to answer"} +
                     (*text == '\0' ? "" : ": " + std::string{text});
    BOOST_TEST(got.error.find(why) != std::string::npos, got.error);
    const auto asked = model->asked();
    BOOST_REQUIRE(asked.size() == 2U);
    BOOST_TEST(asked[1].messages.back().content.find(why + ". Answer again with one") !=
               std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(model_error_after_invalid_answer_counts_that_answer) {
  // Gives an invalid answer first and then fails.
  class breaking_model final : public chat_model {
  public:
    task<result<message>> complete(model_request request) const override {
      if (request.turn == 0)
        co_return answering("no");
      co_return error{model_errc::server_error, "the server is on fire"};
    }
    std::string fingerprint() const override { return "breaking"; }
  };
  const auto got = run(spec_of(), std::make_shared<const breaking_model>());
  BOOST_TEST((got.code == model_errc::server_error));
  BOOST_TEST(got.failed_answers == 1U);
  BOOST_TEST(got.failed_tokens == 10);
}

BOOST_AUTO_TEST_CASE(response_by_tool_call_costs_one_call) {
  const auto model = scripted({calling("label", {{"label", "good"}})});
  const auto got = run(spec_of("response_method: tool_call\n"), model);
  BOOST_TEST(got.error == "");
  BOOST_TEST(to_text(got.state.structured_response) == R"({"label":"good"})");
  BOOST_TEST(got.state.model_calls == 1U);
  const auto& last = got.state.messages[1];
  BOOST_TEST(last.content == R"({"label":"good"})");
  BOOST_TEST(last.tool_calls.empty());
  const auto asked = model->asked();
  BOOST_REQUIRE(asked[0].tools);
  BOOST_TEST(asked[0].tools->at(0).name == "label");
  BOOST_TEST(asked[0].parameters.at("tool_choice") == "label");
  BOOST_TEST(asked[0].parameters.at("strict").as_bool());
}

BOOST_AUTO_TEST_CASE(json_mode_adds_schema_to_prompt) {
  const auto model = scripted({answering(R"({"label":"good"})")});
  const auto got = run(spec_of("response_method: json_object\n"), model);
  BOOST_TEST(got.error == "");
  const auto asked = model->asked();
  BOOST_REQUIRE(asked.size() == 1U);
  BOOST_TEST(asked[0].system->content.starts_with("Label the text.\n\n"));
  BOOST_TEST(asked[0].system->content.find(R"("enum":["good","bad"])") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(separate_call_contains_the_prompt) {
  const auto model = scripted({answering("It is good."), answering(R"({"label":"good"})")});
  const auto got = run(spec_of("  request: separate\n"), model);
  BOOST_TEST(got.error == "");
  BOOST_TEST(got.state.model_calls == 2U);
  const auto asked = model->asked();
  BOOST_REQUIRE(asked.size() == 2U);
  BOOST_TEST(!asked[0].format);
  BOOST_TEST(asked[1].system->content == "Label the text.");
  BOOST_TEST(asked[1].format != nullptr);
}

BOOST_AUTO_TEST_CASE(schema_off_the_strict_subset_is_sent_unchanged) {
  for (const auto* more : {"  minProperties: 1\n", "  strict: off\n"}) {
    const auto spec = spec_of(more);
    BOOST_TEST(!spec.response->contains("strict"));
    const auto model = scripted({answering(R"({"label":"good"})")});
    BOOST_TEST(run(spec, model).error == "");
    BOOST_TEST(to_text(model->asked()[0].format->schema) == to_text(*spec.response));
  }
}

BOOST_AUTO_TEST_CASE(impossible_strict_schema_is_a_fault_of_file) {
  const auto reading = read_agent_text(std::string{label_agent} + "  minProperties: 1\n",
                                       "agent.yaml", ".", {"response.strict=on"});
  BOOST_REQUIRE(reading.faults.size() == 1U);
  BOOST_TEST(reading.faults[0].text.find("'minProperties'") != std::string::npos,
             reading.faults[0].text);
  BOOST_TEST(
      read_agent_text(label_agent, "agent.yaml", ".", {"response.strict=on"}).faults.empty());
}

BOOST_AUTO_TEST_CASE(unknown_options_of_response_are_rejected) {
  for (const auto* option : {"response.strict=yes", "response.retries=-1", "response.retries=11",
                             "response.request=later"})
    BOOST_TEST(read_agent_text(label_agent, "agent.yaml", ".", {option}).faults.size() == 1U,
               option);
}

BOOST_AUTO_TEST_SUITE_END()
