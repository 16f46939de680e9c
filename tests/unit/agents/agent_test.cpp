// SPDX-License-Identifier: Apache-2.0
// Building of agents from their specification: models, tools, reviews, fingerprints and faults.
#include <superstep/agents/agent_file.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <set>

#include <unistd.h>

using namespace superstep;

namespace {

/// A temporary folder with one recorded conversation; removed by the destructor.
class folder {
public:
  folder() {
    auto name = (std::filesystem::temp_directory_path() / "superstep-XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
    std::ofstream{path_ / "turns.jsonl"}
        << R"({"id":"r","turns":[{"role":"assistant","content":"hi"}]})" << '\n';
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

agent_building build(const folder& in, const std::string& rest) {
  const auto text = "model: {provider: recorded, path: turns.jsonl}\n" + rest;
  return build_agent(read_agent_text(text, "a.yaml", in.path()), std::make_shared<io_runtime>());
}

} // namespace

BOOST_AUTO_TEST_CASE(agent_is_built_from_its_file) {
  const auto in = folder{};
  const auto got = build(in, "tools: [calculator, current_time, {simulated: {name: slow}}]\n");
  BOOST_TEST(to_text(got.faults) == "");
  BOOST_REQUIRE(got.agent.has_value());
  BOOST_TEST(got.agent->tools().size() == 3U);
  BOOST_TEST(got.agent->graph().mermaid().find("tools --> agent") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(invalid_parts_are_reported_with_lines) {
  const auto in = folder{};
  const auto got = build(in, "tools:\n  - simulated: {name: a}\n  - simulated: {name: a}\n"
                             "  - sqlite_query: {path: missing.db}\n");
  BOOST_TEST(!got.agent.has_value());
  BOOST_REQUIRE(got.faults.size() == 2U);
  BOOST_TEST(to_text(got.faults[0]) == "a.yaml:4: tools.1: the name 'a' is already used by "
                                       "tools.0");
  BOOST_TEST(got.faults[1].line == 5U);
  BOOST_TEST(got.faults[1].key == "tools.2");
}

BOOST_AUTO_TEST_CASE(early_tools_must_be_tools_of_the_file) {
  const auto in = folder{};
  const auto good = build(in, "tools: [calculator]\nearly_tools: [calculator]\n");
  BOOST_TEST(to_text(good.faults) == "");
  const auto bad = build(in, "tools: [calculator]\nearly_tools: [calculator, abacus]\n");
  BOOST_TEST(to_text(bad.faults) == "a.yaml:3: early_tools: 'abacus' is not a tool of this agent");
  const auto asked =
      build(in, "tools: [calculator]\nearly_tools: [calculator]\nreview: [calculator]\n");
  BOOST_TEST(to_text(asked.faults) ==
             "a.yaml:3: early_tools: 'calculator' is reviewed by a person, so its calls cannot "
             "start early");
}

BOOST_AUTO_TEST_CASE(faults_of_file_and_parts_are_reported_together) {
  const auto got =
      build_agent(read_agent_text("version: v9\nmodel: {provider: recorded, path: missing.jsonl}\n",
                                  "a.yaml", "/nowhere"),
                  std::make_shared<io_runtime>());
  BOOST_REQUIRE(got.faults.size() == 2U);
  BOOST_TEST(got.faults[0].key == "version");
  BOOST_TEST(got.faults[1].key == "model");
  BOOST_TEST(got.faults[1].line == 2U);
}

BOOST_AUTO_TEST_CASE(fingerprint_changes_with_prompt_and_tools) {
  const auto in = folder{};
  const auto a = build(in, "prompt: one\ntools: [{simulated: {name: t, seed: 1}}]\n");
  const auto b = build(in, "prompt: two\ntools: [{simulated: {name: t, seed: 2}}]\n");
  BOOST_TEST(a.agent->fingerprint() != b.agent->fingerprint());
  BOOST_TEST(a.agent->tools_fingerprint() != b.agent->tools_fingerprint());
  BOOST_TEST(a.agent->model()->fingerprint() == b.agent->model()->fingerprint());
}

BOOST_AUTO_TEST_CASE(fingerprints_depend_on_the_response_method) {
  const auto in = folder{};
  auto seen = std::set<std::string>{};
  for (const auto* method : {"json_schema", "json_object", "tool_call"}) {
    const auto text = std::string{"response: {type: object}\nresponse_method: "} + method + "\n";
    seen.insert(build(in, text).agent->fingerprint());
  }
  BOOST_TEST(seen.size() == 3U);
}

BOOST_AUTO_TEST_CASE(example_agent_has_no_faults) {
  const auto got = build_agent(read_agent_file(SUPERSTEP_TREE "/examples/batch/agent.yaml"),
                               std::make_shared<io_runtime>());
  BOOST_TEST(to_text(got.faults) == "");
}

BOOST_AUTO_TEST_CASE(review_of_unknown_tool_is_a_fault) {
  const auto in = folder{};
  const auto got = build(in, "tools: [calculator]\nreview: [calculator, calc]\n");
  BOOST_TEST(to_text(got.faults) == "a.yaml:3: review.calc: is not a tool of this agent");
  // `calc` is unknown, but one tool could not be built and may have had this name: no second fault.
  const auto broken = build(in, "tools: [{sqlite_query: {path: missing.db}}]\nreview: [calc]\n");
  BOOST_TEST(broken.faults.size() == 1U);
}

BOOST_AUTO_TEST_CASE(memory_tools_need_a_store) {
  const auto in = folder{};
  const auto got = build(in, "tools: [calculator, recall]\n");
  BOOST_TEST(to_text(got.faults) == "a.yaml:2: tools.1: requires long-term memory; add the key "
                                    "store: {path: memory.db}");
  BOOST_TEST(build(in, "tools: [recall]\nstore: {path: memory.db}\n").faults.empty());
}
