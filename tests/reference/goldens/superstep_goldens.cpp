// SPDX-License-Identifier: Apache-2.0
// Answers recorded cases: reads {"id","kind","input"} lines from FILE.jsonl and prints
// {"id","output"} lines.
#include "cases.hpp"
#include "protocols/relaxed_json.hpp"

#include <superstep/base/json.hpp>

#include <exception>
#include <fstream>
#include <iostream>
#include <string>

namespace {

using namespace superstep;

json::value answer(const conformance::case_table& table, const json::object& recorded) {
  const auto kind = std::string{recorded.at("kind").as_string()};
  const auto found = table.find(kind);
  if (found == table.end())
    return {{"error", "unsupported"}};
  // A case that throws must not stop the others.
  try {
    return found->second(recorded.at("input").as_object());
  } catch (const std::exception& e) {
    return {{"error", e.what()}};
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: superstep-goldens FILE.jsonl\n";
    return 2;
  }
  auto file = std::ifstream{argv[1]};
  if (!file) {
    std::cerr << "cannot read " << argv[1] << '\n';
    return 2;
  }
  auto table = conformance::case_table{};
  conformance::add_protocol_cases(table);
  conformance::add_message_cases(table);
  conformance::add_message_list_cases(table);
  conformance::add_message_provider_cases(table);
  conformance::add_prebuilt_cases(table);
  conformance::add_store_cases(table);
  conformance::add_tool_node_cases(table);
  conformance::add_agent_cases(table);
  conformance::add_agent_graph_cases(table);
  auto line = std::string{};
  while (std::getline(file, line)) {
    if (line.empty())
      continue;
    auto recorded = parse_json(line); // exact numbers
    if (!recorded)
      recorded = parse_lenient_json(line); // lone surrogates and repeated keys
    if (!recorded || !recorded->is_object() || !recorded->get_object().contains("id")) {
      std::cerr << "not a case: " << line.substr(0, 200) << '\n';
      return 1;
    }
    const auto& object = recorded->get_object();
    auto out = json::object{{"id", object.at("id")}};
    out["output"] = answer(table, object);
    std::cout << to_text(out) << '\n';
  }
  return 0;
}
