// SPDX-License-Identifier: Apache-2.0
// Calls of real questions with real schemas, written in each protocol and read back, whole and
// streamed. Skipped without the data of SUPERSTEP_SHARED.
#include "conformance/protocol_stream_cases.hpp"

#include <superstep/models/protocols/make_protocol.hpp>
#include <superstep/models/protocols/parse_answer.hpp>
#include <superstep/models/protocols/relaxed_json.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>

namespace {

using namespace superstep;

struct question {
  std::string id;
  std::vector<protocol_tool> tools;
  std::vector<parsed_call> calls;
};

std::vector<question> questions() {
  auto out = std::vector<question>{};
  const auto* shared = std::getenv("SUPERSTEP_SHARED");
  const auto folder = std::filesystem::path{shared != nullptr ? shared : "../shared"} / "data/bfcl";
  for (const auto* group : {"multiple", "parallel", "parallel_multiple"}) {
    auto in = std::ifstream{folder / ("bfcl_" + std::string{group} + ".jsonl")};
    for (auto line = std::string{}; std::getline(in, line);) {
      const auto row = parse_lenient_json(line).value().as_object();
      auto q = question{conformance::string_of(row, "id"), {}, {}};
      for (const auto& tool : row.at("tools").as_array()) {
        auto declaration = tool.at("function").as_object();
        declaration["inputSchema"] = declaration.at("parameters");
        q.tools.push_back(make_protocol_tool(declaration));
      }
      for (const auto& call : row.at("expected_calls").as_array())
        q.calls.push_back(
            {conformance::string_of(call.as_object(), "name"), to_text(call.at("args"))});
      out.push_back(std::move(q));
    }
  }
  return out;
}

bool same_arguments(const std::string& a, const std::string& b) {
  return parse_lenient_json(a).value() == parse_lenient_json(b).value();
}

std::string shown(const std::vector<parsed_call>& calls) {
  auto out = std::string{};
  for (const auto& call : calls)
    out += call.name + ' ' + call.arguments + '\n';
  return out;
}

bool same_calls(const std::vector<parsed_call>& a, const std::vector<parsed_call>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.name == y.name && same_arguments(x.arguments, y.arguments);
         });
}

/// Of 600. The rest cannot be written: two calls are not what their own schema asks for (hermes
/// refuses them, the others bend them), and XML as it stands in histories has no empty list, no
/// null, and no list of one number; docs/differences.md has them one by one.
struct expectation {
  std::string protocol;
  std::size_t whole_min;
};
std::ostream& operator<<(std::ostream& out, const expectation& e) {
  return out << e.protocol;
}
const auto expectations = std::vector<expectation>{
    {"hermes", 597}, {"morph_xml", 592}, {"yaml_xml", 599}, {"qwen3_coder", 593}};

std::vector<parsed_call> read_whole(const tool_protocol& protocol, std::string_view text,
                                    const std::vector<protocol_tool>& tools) {
  auto out = std::vector<parsed_call>{};
  for (const auto& part : parse_answer(protocol, text, tools, {}))
    if (const auto* call = std::get_if<parsed_call>(&part))
      out.push_back(*call);
  return out;
}

std::vector<parsed_call> read_streamed(const tool_protocol& protocol, std::string_view text,
                                       const std::vector<protocol_tool>& tools) {
  auto out = std::vector<parsed_call>{};
  const auto stream = protocol.stream(tools, {},
                                      [&](const protocol_event& e) {
                                        if (const auto* call = std::get_if<stream_call>(&e))
                                          out.push_back(call->parsed);
                                      },
                                      {});
  for (const auto& c : text)
    stream->write({&c, 1});
  stream->finish();
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(real_calls_are_read_as_they_were_written, expectations, expected) {
  const auto protocol = make_protocol(expected.protocol).value();
  auto whole = std::size_t{0};
  auto streamed = std::size_t{0};
  const auto all = questions();
  if (all.empty()) {
    BOOST_TEST_MESSAGE("no data; set SUPERSTEP_SHARED");
    return;
  }
  for (const auto& q : all) {
    auto text = std::string{"I will call what is needed.\n"};
    for (const auto& call : q.calls)
      text += protocol->format_call(call.name, call.arguments) + '\n';
    const auto calls = read_whole(*protocol, text, q.tools);
    whole += same_calls(calls, q.calls) ? 1U : 0U;
    if (!same_calls(calls, q.calls))
      BOOST_TEST_MESSAGE(q.id << "\n" << shown(q.calls) << "was read as\n" << shown(calls));
    streamed += same_calls(read_streamed(*protocol, text, q.tools), q.calls) ? 1U : 0U;
  }
  BOOST_TEST(all.size() == 600U);
  BOOST_TEST(whole >= expected.whole_min);
  // Streams do not look for JSON without tags, which finds one more that hermes has refused.
  BOOST_TEST(streamed + 1 >= expected.whole_min);
}
