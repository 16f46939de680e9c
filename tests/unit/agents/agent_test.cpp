// SPDX-License-Identifier: Apache-2.0
// Building of agents from their specification: models, tools, reviews, fingerprints and faults.
#include <superstep/agents/agent_file.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

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

BOOST_AUTO_TEST_CASE(invalid_tools_are_reported_with_their_lines) {
  const auto in = folder{};
  const auto got = build(in, "tools:\n  - simulated: {name: a}\n  - simulated: {name: a}\n"
                             "  - sqlite_query: {path: missing.db}\n");
  BOOST_TEST(!got.agent.has_value());
  BOOST_REQUIRE(got.faults.size() == 2U);
  BOOST_TEST(to_text(got.faults[0]) == "a.yaml:4: tools.1: the name 'a' is already used by "
                                       "tools.0");
  BOOST_TEST(got.faults[1].line == 5U);
  BOOST_TEST(got.faults[1].key == "tools.2.sqlite_query.path");
}

BOOST_AUTO_TEST_CASE(early_tools_key_rejects_unknown_and_reviewed_tools) {
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

BOOST_AUTO_TEST_CASE(invalid_values_and_missing_files_are_reported_together) {
  const auto got =
      build_agent(read_agent_text("version: v9\nmodel: {provider: recorded, path: missing.jsonl}\n",
                                  "a.yaml", "/nowhere"),
                  std::make_shared<io_runtime>());
  BOOST_REQUIRE(got.faults.size() == 2U);
  BOOST_TEST(got.faults[0].key == "version");
  BOOST_TEST(got.faults[1].key == "model.path");
  BOOST_TEST(got.faults[1].line == 2U);
}

BOOST_AUTO_TEST_CASE(missing_required_agent_file_key_is_reported_once) {
  const auto in = folder{};
  for (const auto& [text, expected] : std::vector<std::pair<const char*, const char*>>{
           {"tools: [{command: {name: t}}]\n",
            "a.yaml:2: tools.0.command.argv: is missing; it is required"},
           {"tools: [{command: {argv: [cat]}}]\n",
            "a.yaml:2: tools.0.command.name: is missing; it is required"},
           {"tools: [{http_get: {}}]\n",
            "a.yaml:2: tools.0.http_get.allow_hosts: is missing; it is required"},
           {"tools: [{sqlite_query: {}}]\n",
            "a.yaml:2: tools.0.sqlite_query.path: is missing; it is required"},
           {"tools: [{agent: {name: a}}]\n",
            "a.yaml:2: tools.0.agent.file: is missing; it is required"}})
    BOOST_TEST(to_text(build(in, text).faults) == expected);
  const auto faults_of_model = [&](const std::string& model) {
    return to_text(build_agent(read_agent_text("model: " + model + "\n", "a.yaml", in.path()),
                               std::make_shared<io_runtime>())
                       .faults);
  };
  BOOST_TEST(faults_of_model("{provider: openai, api_key_env: ''}") ==
             "a.yaml:1: model.model: is missing; it is required");
  BOOST_TEST(faults_of_model("{provider: scripted}") ==
             "a.yaml:1: model.path: is missing; it is required");
}

BOOST_AUTO_TEST_CASE(independent_faults_of_agent_file_are_reported_together) {
  const auto faults_of = [](const std::string& text) {
    return to_text(
        build_agent(read_agent_text(text, "a.yaml", "."), std::make_shared<io_runtime>()).faults);
  };
  BOOST_TEST(faults_of("model: {provider: openai, api_key_env: SUPERSTEP_TEST_UNSET}\n") ==
             "a.yaml:1: model.model: is missing; it is required\n"
             "a.yaml:1: model: environment variable SUPERSTEP_TEST_UNSET is not set or empty; set "
             "it to the API key, or set api_key_env to \"\" for a server without keys");
  BOOST_TEST(faults_of("model: {provider: scripted, pth: a}\ntools: [{sqlite_query: {path: no.db, "
                       "max_rows: 0}}]\n") ==
             "a.yaml:1: model.pth: is not a known key; did you mean 'path'?\n"
             "a.yaml:2: tools.0.sqlite_query.max_rows: must be an integer of at least 1\n"
             "a.yaml:2: tools.0.sqlite_query.path: 'no.db': unable to open database file");
}

BOOST_AUTO_TEST_CASE(invalid_value_of_agent_file_is_reported_once) {
  const auto in = folder{};
  for (const auto& [text, expected] : std::vector<std::pair<const char*, const char*>>{
           {"store: memory.db\n", "a.yaml:2: store: must be a mapping; known keys: path"},
           {"tools: [{read_file: data}]\n",
            "a.yaml:2: tools.0.read_file: must be a mapping; known keys: root, max_bytes"},
           {"tools: [{http_get: {allow_hosts: 'http://a/'}}]\n",
            "a.yaml:2: tools.0.http_get.allow_hosts: must be a list of texts with at least one "
            "item, such as [a, b]"},
           {"tools: [{http_get: {allow_hosts: ['http://a/']}}]\n",
            "a.yaml:2: tools.0.http_get.allow_hosts: 'http://a/' is not a valid host; write "
            "example.org, *.example.org, [::1] or one of them with :port"},
           {"tools: [{command: {name: t, argv: [cat], args_schema: {type: strin}}}]\n",
            "a.yaml:2: tools.0.command.args_schema: not a JSON Schema: Unrecognised JSON type name "
            "'strin' in {\"type\":\"strin\"}"}})
    BOOST_TEST(to_text(build(in, text).faults) == expected);
  const auto root = read_agent_text("hello", "a.yaml", ".").faults;
  BOOST_TEST(root.size() == 1U);
  BOOST_TEST(to_text(root).starts_with("a.yaml:1: must be a mapping; known keys: name, model"));
  const auto protocol = build_agent(
      read_agent_text("model: {provider: openai, model: m, api_key_env: '', protocol: yml}\n",
                      "a.yaml", "."),
      std::make_shared<io_runtime>());
  BOOST_TEST(protocol.faults.size() == 1U);
}

BOOST_AUTO_TEST_CASE(fault_of_overridden_key_is_attributed_to_override) {
  const auto in = folder{};
  const auto faults_with = [&in](const std::vector<std::string>& overrides) {
    const auto io = std::make_shared<io_runtime>();
    const auto text = "model: {provider: scripted, path: turns.jsonl}\n"
                      "tools:\n  - command: {name: t, argv: [cat]}\n"
                      "  - current_time: {default_zone: UTC}\n";
    auto reading = read_agent_text(text, "a.yaml", in.path(), overrides);
    const auto spec = reading.spec;
    auto found = build_agent(std::move(reading), io).faults;
    for (auto& fault : find_setup_faults(spec, *io))
      found.push_back(std::move(fault));
    return to_text(found);
  };
  std::ofstream{in.path() + "/turns.jsonl"} << "default: {text: a}\n";
  BOOST_TEST(faults_with({}) == "");
  BOOST_TEST(faults_with({"model.path=/nofile"}) ==
             "--set: model.path: cannot read \"/nofile\": No such file or directory");
  BOOST_TEST(faults_with({"tools.0.command.argv=[/nofile]"}) ==
             "--set: tools.0.command.argv: cannot start \"/nofile\": No such file or directory");
  BOOST_TEST(faults_with({"tools.0.command.cwd=/nofolder"}) ==
             "--set: tools.0.command.cwd: the folder \"/nofolder\" does not exist");
  BOOST_TEST(faults_with({"tools.1.current_time.default_zone=Europe/Berln"}) ==
             "--set: tools.1.current_time.default_zone: unknown time zone 'Europe/Berln'; use UTC, "
             "an offset such as +05:30, or a name such as Europe/Berlin");
  BOOST_TEST(faults_with({"store.path=/nofolder/m.db"}) ==
             "--set: store.path: the folder \"/nofolder\" does not exist; create it first");
  BOOST_TEST(faults_with({"tools.0.command.timeout_ms=5", "tools.0.command.argv.0=/nofile"}) ==
             "a.yaml:3: tools.0.command.argv: cannot start \"/nofile\": No such file or directory");
}

BOOST_AUTO_TEST_CASE(model_file_faults_show_its_path_and_line) {
  const auto in = folder{};
  std::ofstream{in.path() + "/rules.yaml"}
      << "latency_ms: {uniform: [40, 10]}\nrules:\n  - {match: '('}\nsed: 1\n";
  const auto scripted = build_agent(
      read_agent_text("model: {provider: scripted, path: rules.yaml}\n", "a.yaml", in.path()),
      std::make_shared<io_runtime>());
  const auto path = in.path() + "/rules.yaml";
  BOOST_TEST(scripted.faults.size() == 4U);
  BOOST_TEST(
      to_text(scripted.faults) ==
      path + ":1: latency_ms.uniform: the second number must not be below the first (40, 10)\n" +
          path + ":3: rules.0.match: is not a valid RE2 pattern: missing ): (\n" + path +
          ":3: rules.0: needs text, calls or both\n" + path +
          ":4: sed: is not a known key; known keys: seed, latency_ms, tokens_per_second, "
          "faults, rules, default");
  const auto turns = in.path() + "/turns.jsonl";
  std::ofstream{turns} << "[]\n{\"id\":\"a\",\"turns\":[]}\n{\"id\":\"a\"}\n";
  const auto recorded = build(in, "");
  BOOST_TEST(recorded.faults.size() == 2U);
  BOOST_TEST(to_text(recorded.faults) ==
             turns + ":1: a row must be an object with \"custom_id\" and \"turns\"\n" + turns +
                 ":3: a row needs a \"custom_id\" (or \"id\") and \"turns\"");
  auto many = std::ofstream{turns};
  for (auto i = 0; i < 1'000; ++i)
    many << "{}\n";
  many.close();
  BOOST_TEST(build(in, "").faults.size() == 20U); // a file of another kind
}

BOOST_AUTO_TEST_CASE(agent_fingerprint_changes_with_prompt_and_tools) {
  const auto in = folder{};
  const auto a = build(in, "prompt: one\ntools: [{simulated: {name: t, seed: 1}}]\n");
  const auto b = build(in, "prompt: two\ntools: [{simulated: {name: t, seed: 2}}]\n");
  BOOST_TEST(a.agent->fingerprint() != b.agent->fingerprint());
  BOOST_TEST(a.agent->tools_fingerprint() != b.agent->tools_fingerprint());
  BOOST_TEST(a.agent->model()->fingerprint() == b.agent->model()->fingerprint());
}

BOOST_AUTO_TEST_CASE(agent_fingerprint_changes_with_response_method) {
  const auto in = folder{};
  auto seen = std::set<std::string>{};
  for (const auto* method : {"json_schema", "json_object", "tool_call"}) {
    const auto text = std::string{"response: {type: object}\nresponse_method: "} + method + "\n";
    seen.insert(build(in, text).agent->fingerprint());
  }
  BOOST_TEST(seen.size() == 3U);
}

BOOST_AUTO_TEST_CASE(example_agent_file_has_no_faults) {
  const auto got = build_agent(read_agent_file(SUPERSTEP_TREE "/examples/batch/agent.yaml"),
                               std::make_shared<io_runtime>());
  BOOST_TEST(to_text(got.faults) == "");
}

BOOST_AUTO_TEST_CASE(review_of_unknown_tool_is_a_fault) {
  const auto in = folder{};
  const auto got = build(in, "tools: [calculator]\nreview: [calculator, calc]\n");
  BOOST_TEST(
      to_text(got.faults) ==
      "a.yaml:3: review.calc: is not a tool of this agent; `review` expects names of its tools");
  // `calc` is unknown, but one tool could not be built and may have had this name: no second fault.
  const auto broken = build(in, "tools: [{sqlite_query: {path: missing.db}}]\nreview: [calc]\n");
  BOOST_TEST(broken.faults.size() == 1U);
}

BOOST_AUTO_TEST_CASE(memory_tools_without_a_store_are_rejected) {
  const auto in = folder{};
  const auto got = build(in, "tools: [calculator, recall]\n");
  BOOST_TEST(to_text(got.faults) == "a.yaml:2: tools.1: requires long-term memory; add the key "
                                    "store: {path: memory.db}");
  BOOST_TEST(build(in, "tools: [recall]\nstore: {path: memory.db}\n").faults.empty());
}
