// SPDX-License-Identifier: Apache-2.0
// Calls of real questions with real schemas (BFCL), written in each protocol and read back, whole
// and streamed. Skipped without the data of SUPERSTEP_SHARED.
#include "goldens/protocol_stream_cases.hpp"
#include "goldens/written_call.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/relaxed_json.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>

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

/// Form in which calls are written: as in histories or as models write them.
enum class call_form { history, model };

/// Questions whose calls change in a round trip, whole and streamed; all others come back
/// unchanged. docs/differences.md explains why the protocol cannot represent each of them.
struct expectation {
  std::string protocol;
  call_form form;
  std::set<std::string> lost_whole;
  std::set<std::string> lost_streamed;
};
std::ostream& operator<<(std::ostream& out, const expectation& e) {
  return out << e.protocol << (e.form == call_form::history ? " in histories" : " of models");
}

using ids = std::set<std::string>;
// XML in histories cannot represent an empty list or a list of one text.
const auto lost_lists = ids{"multiple_50",          "parallel_26",          "parallel_152",
                            "parallel_multiple_21", "parallel_multiple_26", "parallel_multiple_52",
                            "parallel_multiple_179"};
const auto lost_in_hermes = ids{"parallel_152", "parallel_multiple_21", "parallel_multiple_94"};
// Without tags, the hermes parser searches complete answers for JSON, but not streams. The calls of
// one more question are therefore lost in streams.
const auto lost_in_hermes_streams = [] {
  auto out = lost_in_hermes;
  out.insert("multiple_119");
  return out;
}();
const auto lost_in_morph_xml_histories = [] {
  auto out = lost_lists;
  out.insert("multiple_119");
  return out;
}();
const auto lost_in_xml = ids{"parallel_152", "parallel_multiple_21"};
const auto lost_in_yaml = ids{"parallel_multiple_21"};

const auto expectations = std::vector<expectation>{
    {"hermes", call_form::history, lost_in_hermes, lost_in_hermes_streams},
    {"morph_xml", call_form::history, lost_in_morph_xml_histories, lost_in_morph_xml_histories},
    {"yaml_xml", call_form::history, lost_in_yaml, lost_in_yaml},
    {"qwen3_coder", call_form::history, lost_lists, lost_lists},
    {"hermes", call_form::model, lost_in_hermes, lost_in_hermes_streams},
    {"morph_xml", call_form::model, lost_in_xml, lost_in_xml},
    {"yaml_xml", call_form::model, lost_in_yaml, lost_in_yaml},
    {"qwen3_coder", call_form::model, lost_in_xml, lost_in_xml}};

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

std::string write(const tool_protocol& protocol, const parsed_call& call, call_form form) {
  if (form == call_form::history)
    return protocol.format_call(call.name, call.arguments);
  return conformance::written_call(protocol, call.name,
                                   parse_lenient_json(call.arguments).value().as_object());
}

} // namespace

BOOST_DATA_TEST_CASE(bfcl_calls_survive_writing_and_parsing_back, expectations, expected) {
  const auto protocol = make_protocol(expected.protocol).value();
  const auto all = questions();
  if (all.empty()) {
    BOOST_TEST_MESSAGE("no data; set SUPERSTEP_SHARED");
    return;
  }
  auto lost_whole = ids{};
  auto lost_streamed = ids{};
  for (const auto& q : all) {
    auto text = std::string{"I will call what is needed.\n"};
    for (const auto& call : q.calls)
      text += write(*protocol, call, expected.form) + '\n';
    const auto calls = read_whole(*protocol, text, q.tools);
    if (!same_calls(calls, q.calls)) {
      lost_whole.insert(q.id);
      BOOST_TEST_MESSAGE(q.id << "\n" << shown(q.calls) << "was read as\n" << shown(calls));
    }
    if (!same_calls(read_streamed(*protocol, text, q.tools), q.calls))
      lost_streamed.insert(q.id);
  }
  BOOST_TEST(all.size() == 600U);
  BOOST_TEST(lost_whole == expected.lost_whole, boost::test_tools::per_element());
  BOOST_TEST(lost_streamed == expected.lost_streamed, boost::test_tools::per_element());
}
