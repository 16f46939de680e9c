// SPDX-License-Identifier: Apache-2.0
// An agent whose model writes calls as text behaves like one with native calls.
#include "agents/fake_model.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/base/await.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <latch>

#include <unistd.h>

using namespace superstep;

namespace protocol_agent_test {

namespace {

agent_reading read(const std::string& model) {
  return read_agent_text("model: " + model + "\n", "a.yaml", "/agents");
}

/// Returns the conversation of an agent with a calculator whose model gives these answers.
std::vector<std::string> conversation(std::vector<message> answers, const std::string& protocol,
                                      const std::string& version) {
  auto model =
      chat_model_ptr{std::make_shared<const superstep::testing::fake_model>(std::move(answers))};
  if (!protocol.empty()) {
    auto options = protocol_options{};
    options.protocol = make_protocol(protocol).value();
    model = wrap_model(model, {make_protocol_middleware(std::move(options))});
  }
  auto options = react_agent_options<chat_state>{};
  options.model = std::move(model);
  options.tools = {make_calculator()};
  options.version = version == "v1" ? react_version::v1 : react_version::v2;
  auto state = chat_state{};
  state.messages = {human_message("question")};
  auto lanes = engine{engine_options{.workers = 2}};
  auto done = std::latch{1};
  auto ended = run_result<chat_state>{};
  const auto graph = create_react_agent(std::move(options));
  lanes.submit<chat_state>(graph, std::move(state), run_config{}, [&](run_result<chat_state> r) {
    ended = std::move(r);
    done.count_down();
  });
  done.wait();
  BOOST_TEST_REQUIRE(!ended.error);
  auto out = std::vector<std::string>{};
  for (const auto& m : ended.state.messages) {
    out.push_back(text_of(m) + (m.is_error ? " (error)" : ""));
    for (const auto& call : m.tool_calls)
      out.push_back(call.name + ' ' + to_text(call.args));
  }
  return out;
}

const auto protocols = std::vector<std::string>{"hermes", "morph_xml", "yaml_xml", "qwen3_coder"};
const auto versions = std::vector<std::string>{"v1", "v2"};

} // namespace

BOOST_DATA_TEST_CASE(tool_calls_in_text_run_like_native_calls,
                     boost::unit_test::data::make(protocols) *
                         boost::unit_test::data::make(versions),
                     protocol, version) {
  const auto one = R"({"expression":"2 + 3"})";
  const auto two = R"({"expression":"7 / 0"})";
  const auto form = make_protocol(protocol).value();
  const auto text = "I add.\n" + form->format_call("calculator", one) + "\n" +
                    form->format_call("calculator", two);
  auto got = conversation({ai_message(text), ai_message("It is 5.")}, protocol, version);
  const auto want =
      conversation({ai_message("I add.\n", {{"a", "calculator", json::parse(one).as_object()},
                                            {"b", "calculator", json::parse(two).as_object()}}),
                    ai_message("It is 5.")},
                   "", version);
  // Some protocols treat white space between calls as text.
  got[1] = got[1].substr(0, want[1].size());
  BOOST_TEST(got == want, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(agent_file_selects_tool_call_protocol_and_retries,
                     (std::vector<std::string>{"hermes", "morph_xml", "yaml_xml", "qwen3_coder",
                                               "morphXml", "yamlXml", "qwen3coder"})) {
  const auto got =
      read("{provider: openai, model: m, protocol: " + sample + ", protocol_retries: 3}");
  BOOST_TEST(to_text(got.faults) == "");
  BOOST_TEST(got.spec.protocol == sample);
  BOOST_TEST(got.spec.protocol_retries == 3U);
}

BOOST_AUTO_TEST_CASE(agent_file_selects_policy_for_unclosed_calls) {
  const auto unclosed = [](const std::string& more) {
    const auto got = read("{provider: openai, model: m, protocol: hermes" + more + "}");
    return got.faults.empty()
               ? std::string{got.spec.protocol_unclosed == unclosed_calls::refuse ? "refuse"
                                                                                  : "complete"}
               : to_text(got.faults);
  };
  BOOST_TEST(unclosed("") == "complete");
  BOOST_TEST(unclosed(", protocol_unclosed: complete") == "complete");
  BOOST_TEST(unclosed(", protocol_unclosed: refuse") == "refuse");
  BOOST_TEST(unclosed(", protocol_unclosed: never") ==
             "a.yaml:1: model.protocol_unclosed: 'never' is not one of: complete, refuse");
}

BOOST_AUTO_TEST_CASE(unknown_tool_call_protocol_is_rejected) {
  const auto got = read("{provider: recorded, path: a, protocol: xml}");
  BOOST_TEST(
      to_text(got.faults) ==
      "a.yaml:1: model.protocol: unknown tool-call protocol \"xml\"; known protocols: hermes, "
      "morph_xml, yaml_xml, qwen3_coder");
}

BOOST_AUTO_TEST_CASE(model_fingerprint_changes_with_tool_call_protocol) {
  auto name = (std::filesystem::temp_directory_path() / "superstep-XXXXXX").string();
  BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
  std::ofstream{name + "/rules.yaml"} << "default: {text: hi}\n";
  const auto fingerprint = [&](const std::string& more) {
    const auto text = "model: {provider: scripted, path: rules.yaml" + more + "}\n";
    auto built = build_agent(read_agent_text(text, "a.yaml", name), std::make_shared<io_runtime>());
    BOOST_TEST_REQUIRE(to_text(built.faults) == "");
    return built.agent->model()->fingerprint();
  };
  const auto native = fingerprint("");
  const auto hermes = fingerprint(", protocol: hermes");
  const auto refusing = fingerprint(", protocol: hermes, protocol_unclosed: refuse");
  std::filesystem::remove_all(name);
  BOOST_TEST(native != hermes);
  BOOST_TEST(refusing != hermes);
  BOOST_TEST(hermes.ends_with(native));
}

BOOST_DATA_TEST_CASE(answer_exceeding_calls_per_answer_limit_is_rejected,
                     boost::unit_test::data::make(protocols) *
                         boost::unit_test::data::make(std::vector<std::size_t>{1, 2}),
                     protocol, calls_max) {
  auto name = (std::filesystem::temp_directory_path() / "superstep-XXXXXX").string();
  BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
  const auto call =
      make_protocol(protocol).value()->format_call("calculator", R"({"expression":"2 + 3"})");
  std::ofstream{name + "/rules.yaml"}
      << "default: {text: " << json::serialize(json::string(call + "\n" + call)) << "}\n";
  const auto text =
      "model: {provider: scripted, path: rules.yaml, protocol: " + protocol +
      "}\ntools: [calculator]\nlimits: {calls_per_answer: " + std::to_string(calls_max) + "}\n";
  auto built = build_agent(read_agent_text(text, "a.yaml", name), std::make_shared<io_runtime>());
  std::filesystem::remove_all(name);
  BOOST_TEST_REQUIRE(to_text(built.faults) == "");
  auto request = model_request{};
  request.messages.push_back(human_message("Go."));
  request.tools = std::make_shared<const std::vector<tool_definition>>(
      std::vector{make_calculator()->definition()});
  const auto answer = sync_wait(built.agent->model()->complete(request));
  BOOST_TEST(answer.has_value() == (calls_max == 2));
  if (answer)
    BOOST_TEST(answer->tool_calls.size() == 2U);
  else
    BOOST_TEST(answer.error().text.ends_with("(limits.calls_per_answer)"));
}

} // namespace protocol_agent_test
