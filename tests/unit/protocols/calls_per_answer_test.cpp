// SPDX-License-Identifier: Apache-2.0
// An answer with more calls than protocol_options::calls_max is an error, whole and streamed.
#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <utility>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(calls_per_answer)

namespace {

/// Answers with one message; streams its text in pieces of seven bytes.
class fixed_model final : public streaming_chat_model {
public:
  explicit fixed_model(message answer) : answer_{std::move(answer)} {}
  task<result<message>> complete(model_request) const override {
    auto answer = answer_;
    co_return answer;
  }
  task<result<message>> stream(model_request, protocol_event_handler on_event) const override {
    for (auto rest = std::string_view{answer_.content}; !rest.empty();) {
      on_event(stream_text{std::string{rest.substr(0, 7)}});
      rest.remove_prefix(std::min(rest.size(), std::size_t{7}));
    }
    auto answer = answer_;
    co_return answer;
  }
  std::string fingerprint() const override { return "fixed"; }

private:
  message answer_;
};

struct reading {
  result<message> answer;
  std::size_t told = 0; ///< finished calls that the stream reported
};

reading read(std::string_view protocol, message answer, bool is_streamed,
             std::optional<std::size_t> calls_max) {
  auto request = model_request{};
  request.tools = std::make_shared<const std::vector<tool_definition>>(
      std::vector{tool_definition{"add", "Adds", json::parse(R"({"type":"object"})").as_object()}});
  request.messages.push_back(human_message("Go."));
  auto options = protocol_options{};
  options.protocol = make_protocol(protocol).value();
  options.calls_max = calls_max;
  const auto model = wrap_model(std::make_shared<const fixed_model>(std::move(answer)),
                                {make_protocol_middleware(std::move(options))});
  auto told = std::size_t{0};
  const auto count = [&](const protocol_event& e) {
    told += std::holds_alternative<stream_call>(e);
  };
  auto out = is_streamed ? sync_wait(model->stream(std::move(request), count))
                         : sync_wait(model->complete(std::move(request)));
  return {std::move(out), told};
}

message calls_in_text(std::string_view protocol, std::size_t count) {
  const auto form = make_protocol(protocol).value();
  auto text = std::string{"I add.\n"};
  for (auto i = std::size_t{0}; i < count; ++i)
    text += form->format_call("add", R"({"n":)" + std::to_string(i) + "}") + "\n";
  return ai_message(std::move(text));
}

message native_calls(std::size_t count) {
  auto out = ai_message("I add.");
  for (auto i = std::size_t{0}; i < count; ++i)
    out.tool_calls.push_back({"id" + std::to_string(i), "add", json::object{}});
  return out;
}

const auto protocols = std::vector<std::string>{"hermes", "morph_xml", "yaml_xml", "qwen3_coder"};
const auto ways = std::vector<bool>{false, true}; // whole, streamed

} // namespace

BOOST_DATA_TEST_CASE(answer_with_maximum_number_of_calls_is_accepted,
                     boost::unit_test::data::make(protocols) * boost::unit_test::data::make(ways),
                     protocol, is_streamed) {
  for (const auto calls_max : {std::optional<std::size_t>{}, std::optional{std::size_t{5}},
                               std::optional{std::size_t{6}}}) {
    const auto got = read(protocol, calls_in_text(protocol, 5), is_streamed, calls_max);
    BOOST_TEST_REQUIRE(got.answer.has_value());
    BOOST_TEST(got.answer->tool_calls.size() == 5U);
  }
}

BOOST_DATA_TEST_CASE(answer_with_one_call_above_limit_is_rejected,
                     boost::unit_test::data::make(protocols) * boost::unit_test::data::make(ways),
                     protocol, is_streamed) {
  for (const auto calls_max : {1U, 4U}) {
    const auto got = read(protocol, calls_in_text(protocol, calls_max + 1), is_streamed, calls_max);
    BOOST_TEST_REQUIRE(!got.answer.has_value());
    BOOST_TEST((got.answer.error().code == model_errc::bad_answer));
    BOOST_TEST(got.answer.error().text ==
               "the answer has more than " + std::to_string(calls_max) +
                   " tool calls; raise calls_max (limits.calls_per_answer)");
    BOOST_TEST(got.told <= calls_max);
  }
}

BOOST_DATA_TEST_CASE(answer_with_12000_calls_is_rejected_by_default,
                     boost::unit_test::data::make(protocols) * boost::unit_test::data::make(ways),
                     protocol, is_streamed) {
  const auto got =
      read(protocol, calls_in_text(protocol, 12'000), is_streamed, protocol_options{}.calls_max);
  BOOST_TEST(!got.answer.has_value());
  BOOST_TEST(got.told <= 1'000U);
}

BOOST_DATA_TEST_CASE(limit_counts_invalid_and_native_calls,
                     boost::unit_test::data::make(protocols) * boost::unit_test::data::make(ways),
                     protocol, is_streamed) {
  BOOST_TEST(!read(protocol, native_calls(3), is_streamed, 2).answer.has_value());
  BOOST_TEST(read(protocol, native_calls(3), is_streamed, 3).answer.has_value());
  auto invalid = native_calls(1);
  for (auto i = 0; i < 3; ++i)
    invalid.invalid_tool_calls.push_back({"bad" + std::to_string(i), "add", "{", "not JSON"});
  BOOST_TEST(!read(protocol, invalid, is_streamed, 3).answer.has_value());
  BOOST_TEST(read(protocol, invalid, is_streamed, 4).answer.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
