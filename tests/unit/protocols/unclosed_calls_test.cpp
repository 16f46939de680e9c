// SPDX-License-Identifier: Apache-2.0
// A call without its end does not run if the server cut the answer or if the options refuse such
// calls. An unreadable call of a stream becomes an invalid call.
#include <superstep/base/await.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <utility>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(unclosed_calls_of_protocols)

namespace {

/// Answers every request with one message; streams its text byte by byte.
class fixed_model final : public streaming_chat_model {
public:
  explicit fixed_model(message answer) : answer_{std::move(answer)} {}
  task<result<message>> complete(model_request) const override {
    auto answer = answer_;
    co_return answer;
  }
  task<result<message>> stream(model_request, protocol_event_handler on_event) const override {
    for (const auto c : answer_.content)
      on_event(stream_text{std::string(1, c)});
    auto answer = answer_;
    co_return answer;
  }
  std::string fingerprint() const override { return "fixed"; }

private:
  message answer_;
};

const auto protocol_names =
    std::vector<std::string>{"hermes", "morph_xml", "yaml_xml", "qwen3_coder"};
const auto ways = std::vector<bool>{false, true}; // whole, streamed
const auto path_arguments = R"({"path":"/data/tmp/old-2019-backup","reason":"it is old"})";

model_request delete_request() {
  auto tool = tool_definition{"delete_path", "Deletes a path", {}};
  tool.parameters =
      json::parse(
          R"({"type":"object","properties":{"path":{"type":"string"},"reason":{"type":"string"}}})")
          .as_object();
  auto request = model_request{};
  request.tools = std::make_shared<const std::vector<tool_definition>>(
      std::vector<tool_definition>{std::move(tool)});
  request.messages.push_back(human_message("Tidy up."));
  return request;
}

std::string call_text(std::string_view protocol) {
  return make_protocol(protocol).value()->format_call("delete_path", path_arguments);
}

message answer_of(std::string text, json::object metadata) {
  auto answer = ai_message(std::move(text));
  answer.response_metadata = std::move(metadata);
  return answer;
}

/// Returns an answer as the protocol parses it.
message read(std::string_view protocol, message answer, bool is_streamed,
             unclosed_calls unclosed = unclosed_calls::complete) {
  auto options = protocol_options{};
  options.protocol = make_protocol(protocol).value();
  options.unclosed = unclosed;
  const auto model = wrap_model(std::make_shared<const fixed_model>(std::move(answer)),
                                {make_protocol_middleware(std::move(options))});
  auto told = std::size_t{0};
  auto out = is_streamed ? sync_wait(model->stream(delete_request(),
                                                   [&](const protocol_event& e) {
                                                     told += std::holds_alternative<stream_call>(e);
                                                   }))
                         : sync_wait(model->complete(delete_request()));
  BOOST_TEST_REQUIRE(out.has_value());
  if (is_streamed)
    BOOST_TEST(told == out->tool_calls.size());
  return std::move(*out);
}

/// Returns the position after the end mark of the call.
std::size_t end_of_call(std::string_view protocol, std::string_view text) {
  constexpr auto function_end = std::string_view{"</function>"};
  return protocol == "qwen3_coder" ? text.find(function_end) + function_end.size() : text.size();
}

} // namespace

BOOST_DATA_TEST_CASE(call_cut_at_any_byte_runs_no_tool,
                     boost::unit_test::data::make(protocol_names) *
                         boost::unit_test::data::make(ways),
                     protocol, is_streamed) {
  const auto text = "I delete it.\n" + call_text(protocol);
  const auto end = end_of_call(protocol, text);
  for (auto size = std::size_t{0}; size < end; ++size) {
    const auto answer =
        read(protocol, answer_of(text.substr(0, size), {{"finish_reason", "length"}}), is_streamed);
    BOOST_TEST(answer.tool_calls.empty(), "cut at byte " << size << ": " << text.substr(0, size));
  }
  const auto whole = read(protocol, answer_of(text, {{"finish_reason", "length"}}), is_streamed);
  BOOST_TEST_REQUIRE(whole.tool_calls.size() == 1U);
  BOOST_TEST(to_text(whole.tool_calls[0].args) == path_arguments);
  BOOST_TEST(whole.invalid_tool_calls.empty());
}

BOOST_DATA_TEST_CASE(cut_call_becomes_an_invalid_call,
                     boost::unit_test::data::make(protocol_names) *
                         boost::unit_test::data::make(ways),
                     protocol, is_streamed) {
  const auto text = call_text(protocol);
  const auto cut = text.substr(0, text.find("backup"));
  const auto answer =
      read(protocol, answer_of(text + "\n" + cut, {{"finish_reason", "length"}}), is_streamed);
  BOOST_TEST_REQUIRE(answer.tool_calls.size() == 1U);
  BOOST_TEST_REQUIRE(answer.invalid_tool_calls.size() == 1U);
  const auto& invalid = answer.invalid_tool_calls[0];
  BOOST_TEST(invalid.name == "delete_path");
  BOOST_TEST(invalid.args.find("old-2019-") != std::string::npos);
  BOOST_TEST(invalid.error.find("length") != std::string::npos);
  BOOST_TEST(invalid.id != answer.tool_calls[0].id);
  BOOST_TEST(answer.content.find("old-2019-") == std::string::npos, "no text beside the call");
  BOOST_TEST(answer.response_metadata.at("finish_reason") == "length");
}

BOOST_DATA_TEST_CASE(every_finish_reason_of_truncated_answers_is_recognised, protocol_names) {
  const auto text = call_text(sample);
  const auto cut = text.substr(0, text.find("-backup"));
  for (const auto* metadata :
       {R"({"finish_reason":"length"})", R"({"stop_reason":"max_tokens"})",
        R"({"finish_reason":"MAX_TOKENS"})", R"({"done_reason":"length"})",
        R"({"finish_reason":"content_filter"})", R"({"finish_reason":"a word of tomorrow"})",
        R"({"status":"incomplete"})"})
    for (const auto is_streamed : ways) {
      const auto answer =
          read(sample, answer_of(cut, json::parse(metadata).as_object()), is_streamed);
      BOOST_TEST(answer.tool_calls.empty(), metadata);
      BOOST_TEST(answer.invalid_tool_calls.size() == 1U, metadata);
    }
}

BOOST_AUTO_TEST_CASE(unclosed_call_is_completed_unless_option_refuses_it) {
  // The model forgot the end mark, but all arguments are there: the server did not cut the answer.
  const auto texts = std::vector<std::pair<std::string, std::string>>{
      {"hermes", R"(<tool_call>{"name":"delete_path","arguments":{"path":"/a"}})"},
      {"morph_xml", "<delete_path><path>/a</path>"},
      {"yaml_xml", "<delete_path>\npath: /a\n"},
      {"qwen3_coder", "<tool_call><function=delete_path><parameter=path>/a</parameter>"}};
  for (const auto& [protocol, text] : texts)
    for (const auto* metadata : {R"({"finish_reason":"stop"})", R"({"stop_reason":"end_turn"})",
                                 R"({"status":"completed"})", "{}"}) {
      const auto given = answer_of(text, json::parse(metadata).as_object());
      const auto forgiven = read(protocol, given, true);
      BOOST_TEST_REQUIRE(forgiven.tool_calls.size() == 1U, protocol << ' ' << metadata);
      BOOST_TEST(forgiven.tool_calls[0].args == (json::object{{"path", "/a"}}));
      for (const auto is_streamed : ways) {
        const auto refused = read(protocol, given, is_streamed, unclosed_calls::refuse);
        BOOST_TEST(refused.tool_calls.empty(), protocol << ' ' << metadata);
        BOOST_TEST(refused.invalid_tool_calls.size() == 1U, protocol << ' ' << metadata);
      }
    }
}

BOOST_AUTO_TEST_CASE(text_before_a_cut_call_is_kept) {
  const auto cut = "Before.\n<delete_path>\n<path>/data/tm";
  const auto answer = read("morph_xml", answer_of(cut, {{"finish_reason", "length"}}), false);
  BOOST_TEST(answer.content == "Before.\n");
  // A call outside of any element has no detectable end.
  const auto line = "delete_path\n<path>/data/tmp/a</path>\n<rea";
  const auto unclosed = read("morph_xml", answer_of(line, {{"finish_reason", "length"}}), false);
  BOOST_TEST(unclosed.tool_calls.empty());
  BOOST_TEST(unclosed.content == line);
}

namespace {

struct broken_call {
  const char* protocol;
  const char* text;
  const char* name; // the part that can be read
};

// Closed elements that do not contain valid calls.
const auto broken_calls = std::vector<broken_call>{
    {"hermes", R"(<tool_call>{"name":"delete_path","arguments":{"path" "/a" "/b"}}</tool_call>)",
     "delete_path"},
    {"hermes", R"(<tool_call>delete the old folder</tool_call>)", ""},
    {"hermes", R"(<tool_call>{"arguments":{"path":"/a"}}</tool_call>)", ""},
    {"morph_xml", "<delete_path><path>/a</path><path>/b</path></delete_path>", "delete_path"},
    {"yaml_xml", "<delete_path>\npath: [/a\nreason: {b\n</delete_path>", "delete_path"},
    {"yaml_xml", "<delete_path>\n- /a\n- /b\n</delete_path>", "delete_path"},
    {"qwen3_coder", "<tool_call><parameter=path>/a</parameter></tool_call>", ""},
};

std::ostream& operator<<(std::ostream& out, const broken_call& c) {
  return out << c.protocol << ": " << c.text;
}

} // namespace

BOOST_AUTO_TEST_CASE(unreadable_call_of_a_stream_becomes_invalid) {
  for (const auto& c : broken_calls) {
    const auto answer = read(c.protocol, answer_of(c.text, {{"finish_reason", "stop"}}), true);
    BOOST_TEST_CONTEXT(c) {
      BOOST_TEST(answer.tool_calls.empty());
      BOOST_TEST(answer.content.empty());
      BOOST_TEST_REQUIRE(answer.invalid_tool_calls.size() == 1U);
      const auto& invalid = answer.invalid_tool_calls[0];
      BOOST_TEST(invalid.name == c.name);
      BOOST_TEST(invalid.args == c.text);
      BOOST_TEST(invalid.error.find("cannot be read") != std::string::npos);
      BOOST_TEST(!invalid.id.empty());
      BOOST_TEST(answer.response_metadata.at("finish_reason") == "tool_calls");
    }
  }
}

BOOST_AUTO_TEST_CASE(readable_calls_beside_unreadable_ones_are_kept) {
  for (const auto& c : broken_calls) {
    const auto text = call_text(c.protocol) + c.text + call_text(c.protocol);
    const auto answer = read(c.protocol, answer_of(text, {{"finish_reason", "stop"}}), true);
    BOOST_TEST(answer.tool_calls.size() == 2U, c);
    BOOST_TEST(answer.invalid_tool_calls.size() == 1U, c);
  }
}

BOOST_AUTO_TEST_CASE(unreadable_call_of_unstreamed_answer_stays_text) {
  for (const auto& c : broken_calls) {
    const auto answer = read(c.protocol, answer_of(c.text, {{"finish_reason", "stop"}}), false);
    BOOST_TEST(answer.content == c.text, c);
    BOOST_TEST(answer.invalid_tool_calls.empty(), c);
  }
}

BOOST_AUTO_TEST_CASE(emit_raw_on_error_keeps_unreadable_call_text) {
  for (const auto& c : broken_calls) {
    auto options = protocol_options{};
    options.protocol = make_protocol(c.protocol).value();
    options.stream.emit_raw_on_error = true;
    const auto model = wrap_model(std::make_shared<const fixed_model>(answer_of(c.text, {})),
                                  {make_protocol_middleware(std::move(options))});
    const auto answer = sync_wait(model->stream(delete_request(), [](const protocol_event&) {}));
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST(answer->content == c.text, c);
    BOOST_TEST(answer->invalid_tool_calls.empty(), c);
  }
}

BOOST_AUTO_TEST_CASE(unreadable_calls_above_100_are_only_counted) {
  auto text = std::string{};
  for (auto i = 0; i < 150; ++i)
    text += "<tool_call>x</tool_call>";
  const auto answer = read("hermes", answer_of(text, {}), true);
  BOOST_TEST_REQUIRE(answer.invalid_tool_calls.size() == 100U);
  BOOST_TEST(answer.invalid_tool_calls[98].error.find("50 further calls") == std::string::npos);
  BOOST_TEST(answer.invalid_tool_calls[99].error.find("50 further calls") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(next_request_contains_unreadable_call_as_written) {
  for (const auto& c : broken_calls) {
    auto request = delete_request();
    request.messages.push_back(read(c.protocol, answer_of(c.text, {}), true));
    auto options = protocol_options{};
    options.protocol = make_protocol(c.protocol).value();
    const auto told = make_protocol_middleware(std::move(options))->transform(std::move(request));
    BOOST_TEST_REQUIRE(told.has_value());
    BOOST_TEST(text_of(told->messages[1]) == c.text, c);
  }
}

BOOST_AUTO_TEST_SUITE_END()
