// SPDX-License-Identifier: Apache-2.0
// Agent files that use other agent files as tools.
#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent_file.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(sub_agents)

namespace {

constexpr auto asking = R"({"id":"r","turns":[{"role":"assistant","content":"","tool_calls":[)"
                        R"({"id":"c1","type":"function","function":{"name":"expert",)"
                        R"("arguments":"{\"request\":\"why?\"}"}}]},)"
                        R"({"role":"assistant","content":"done"}]})";
constexpr auto booking = R"({"id":"r","turns":[{"role":"assistant","content":"","tool_calls":[)"
                         R"({"id":"b1","type":"function","function":{"name":"book",)"
                         R"("arguments":"{}"}}]},)"
                         R"({"role":"assistant","content":"it is booked"}]})";

/// A temporary folder of agent files. Every agent answers from the file of turns with its name.
class folder {
public:
  folder() {
    auto name = (std::filesystem::temp_directory_path() / "superstep-XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path_); }

  void
  add(const std::string& name, const std::string& keys,
      const std::string& turns = R"({"id":"r","turns":[{"role":"assistant","content":"hi"}]})") {
    std::ofstream{path_ / (name + ".jsonl")} << turns << '\n';
    std::ofstream{path_ / (name + ".yaml")} << "model: {provider: recorded, path: " << name
                                            << ".jsonl}\n"
                                            << keys;
  }
  [[nodiscard]] agent_building build(const std::string& name) const {
    return build_agent(read_agent_file((path_ / (name + ".yaml")).string()),
                       std::make_shared<io_runtime>());
  }
  /// Returns the faults of the agent, without the folder name.
  [[nodiscard]] std::string faults(const std::string& name) const {
    auto text = to_text(build(name).faults);
    const auto prefix = path_.string() + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
      text.erase(at, prefix.size());
    return text;
  }

private:
  std::filesystem::path path_;
};

std::string calls(const std::string& name, const std::string& file) {
  return "  - agent: {name: " + name + ", file: " + file + ".yaml}\n";
}

run_config config() {
  auto out = run_config{};
  out.run_id = "r";
  return out;
}

std::string said(const message_list& messages) {
  auto out = std::string{};
  for (const auto& m : messages)
    out += (out.empty() ? "" : "|") + m.content;
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(agent_of_another_file_answers_tool_call) {
  auto files = folder{};
  files.add("boss", "tools:\n" + calls("expert", "expert"), asking);
  files.add("expert", "prompt: You know why.\n",
            R"({"id":"r","turns":[{"role":"assistant","content":"because"}]})");
  const auto built = files.build("boss");
  BOOST_REQUIRE(built.agent.has_value());
  BOOST_REQUIRE(built.agent->sub_agents().size() == 1U);
  BOOST_TEST(built.agent->sub_agents()[0].agent->spec().prompt == "You know why.");
  auto lanes = engine{engine_options{.workers = 1}};
  auto row = chat_state{};
  row.messages.push_back(human_message("go"));
  const auto ended = lanes.try_invoke(built.agent->graph(), std::move(row), config());
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(said(ended.state.messages) == "go||because|done");
  auto words = chat_state{};
  words.messages.push_back(human_message("go"));
  const auto talked =
      lanes.try_invoke(make_conversation(*built.agent, nullptr), std::move(words), config());
  BOOST_REQUIRE(!talked.error);
  BOOST_TEST(said(talked.state.messages) == "go||because|done");
}

BOOST_AUTO_TEST_CASE(structured_response_of_sub_agent_becomes_tool_result) {
  auto files = folder{};
  files.add("boss", "tools:\n" + calls("expert", "expert"), asking);
  files.add("expert", "response: {type: object, title: why}\n",
            R"({"id":"r","turns":[{"role":"assistant","content":"because"},)"
            R"({"role":"assistant","content":"{\"cause\":\"rain\"}"}]})");
  const auto built = files.build("boss");
  BOOST_REQUIRE(built.agent.has_value());
  auto lanes = engine{engine_options{.workers = 1}};
  auto row = chat_state{};
  row.messages.push_back(human_message("go"));
  const auto ended = lanes.try_invoke(built.agent->graph(), std::move(row), config());
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(said(ended.state.messages) == R"(go||{"cause": "rain"}|done)");
}

BOOST_AUTO_TEST_CASE(answer_resumes_conversation_interrupted_by_sub_agent_review) {
  auto files = folder{};
  files.add("boss", "tools:\n" + calls("expert", "expert"), asking);
  files.add("expert", "tools: [{simulated: {name: book, result: booked}}]\nreview: [book]\n",
            booking);
  const auto built = files.build("boss");
  BOOST_TEST(to_text(built.faults) == "");
  BOOST_REQUIRE(built.agent.has_value());
  const auto graph = make_conversation(*built.agent, memory_checkpointer());
  auto lanes = engine{engine_options{.workers = 1}};
  auto thread = config();
  thread.thread_id = "r";
  auto words = chat_state{};
  words.messages.push_back(human_message("go"));
  const auto stopped = lanes.try_invoke(graph, std::move(words), thread);
  BOOST_REQUIRE((stopped.status == run_status::interrupted));
  const auto at = look_at(graph, "r");
  BOOST_REQUIRE(at.questions.size() == 1U);
  BOOST_TEST(at.questions[0].value.at(0).at("action_request").at("action") == "book");
  auto answer = resume({{at.questions[0].id, parse_json(R"({"type":"accept"})").value()}});
  const auto ended = lanes.try_invoke(graph, std::move(answer), thread);
  BOOST_REQUIRE(!ended.error);
  BOOST_TEST(said(ended.state.messages) == "go||it is booked|done");
}

BOOST_AUTO_TEST_CASE(sub_agent_faults_show_their_file_and_line) {
  auto files = folder{};
  files.add("boss", "tools:\n  - calculator\n" + calls("expert", "expert"), asking);
  files.add("expert", "prompt: x\nversoin: v2\n");
  BOOST_TEST(files.faults("boss") ==
             "expert.yaml:3: versoin: is not a known key; did you mean 'version'?");
  files.add("lost", "tools:\n" + calls("expert", "nowhere"), asking);
  BOOST_TEST(files.faults("lost") ==
             "lost.yaml:3: tools.0.agent.file: 'nowhere.yaml' cannot be opened: No such file or "
             "directory");
}

BOOST_AUTO_TEST_CASE(fault_of_shared_sub_agent_is_reported_once) {
  auto files = folder{};
  files.add("boss", "tools:\n" + calls("one", "one") + calls("two", "two"), asking);
  files.add("one", "tools:\n" + calls("bad", "bad"));
  files.add("two", "tools:\n" + calls("bad", "bad"));
  files.add("bad", "version: v9\n");
  BOOST_TEST(files.faults("boss") == "bad.yaml:2: version: 'v9' is not one of: v1, v2");
}

BOOST_AUTO_TEST_CASE(agent_that_calls_itself_is_rejected) {
  auto files = folder{};
  files.add("a", "tools:\n" + calls("next", "b"));
  files.add("b", "tools:\n" + calls("next", "./a"));
  BOOST_TEST(files.faults("a") ==
             "b.yaml:3: tools.0: the agent would call itself: a.yaml -> b.yaml -> a.yaml");
}

BOOST_AUTO_TEST_CASE(agents_nested_too_deeply_are_rejected) {
  auto files = folder{};
  for (auto i = std::size_t{0}; i < agent_depth_max; ++i)
    files.add("a" + std::to_string(i), "tools:\n" + calls("next", "a" + std::to_string(i + 1)));
  files.add("a" + std::to_string(agent_depth_max), "");
  BOOST_TEST(files.faults("a1") == "");
  BOOST_TEST(files.faults("a0").find("agents may be nested at most 8 levels: a0.yaml -> a1.yaml") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(agent_with_two_file_paths_is_built_once) {
  auto files = folder{};
  files.add("boss", "tools:\n" + calls("one", "x") + calls("two", "./x"));
  files.add("x", "");
  const auto built = files.build("boss");
  BOOST_REQUIRE(built.agent.has_value());
  const auto& below = built.agent->sub_agents();
  BOOST_TEST(below[0].agent == below[1].agent);
}

BOOST_AUTO_TEST_CASE(options_incompatible_with_sub_agents_are_rejected) {
  auto files = folder{};
  files.add("plain", "");
  files.add("boss", "version: v1\nearly_tools: [expert]\ntools:\n" + calls("expert", "plain"));
  BOOST_TEST(files.faults("boss").find("an agent as a tool requires version v2") !=
             std::string::npos);
  files.add("early", "tools:\n" + calls("expert", "plain") + "early_tools: [expert]\n");
  BOOST_TEST(files.faults("early") == "early.yaml:4: early_tools: 'expert' is an agent; "
                                      "calls of agents cannot start early");
  files.add("knows", "tools: [recall]\nstore: {path: m.db}\n");
  files.add("forgets", "tools:\n" + calls("expert", "knows"));
  BOOST_TEST(files.faults("forgets") ==
             "forgets.yaml:3: tools.0: agent 'expert' has its long-term memory in 'm.db': add "
             "the same `store` to this file");
  files.add("other", "store: {path: o.db}\ntools:\n" + calls("expert", "knows"));
  BOOST_TEST(files.faults("other") ==
             "other.yaml:4: tools.0: agent 'expert' has its long-term memory in 'm.db': this "
             "agent has it in 'o.db'; use the same `store` in both files");
  files.add("same", "store: {path: m.db}\ntools:\n" + calls("expert", "knows"));
  BOOST_TEST(files.faults("same") == "");
}

BOOST_AUTO_TEST_CASE(changed_sub_agent_changes_tools_fingerprint) {
  auto files = folder{};
  files.add("boss", "tools:\n" + calls("expert", "plain"));
  files.add("plain", "prompt: one\n");
  const auto one = files.build("boss").agent->tools_fingerprint();
  files.add("plain", "prompt: two\n");
  BOOST_TEST(one != files.build("boss").agent->tools_fingerprint());
}

BOOST_AUTO_TEST_SUITE_END()
