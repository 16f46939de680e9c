// SPDX-License-Identifier: Apache-2.0
// Mistakes that create_agent() reports, structured responses as C++ structs, and the times of tool
// calls.
#include "agents/fake_model.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/agents/structured_response.hpp>
#include <superstep/tools/make_tool.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// A named namespace, because coroutine frames of templates contain the state.
namespace agent_checks {

using namespace superstep;
using superstep::testing::fake_model;

struct desk_state {
  message_list messages;
  std::string owner;
  std::shared_ptr<int> socket; // has no JSON form
  using reducers = superstep::reducers<by<&desk_state::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(desk_state, (), (messages, owner, socket))

struct user_args {
  std::string text;
  from_state<"user", std::string> user;
};
BOOST_DESCRIBE_STRUCT(user_args, (), (text, user))

struct owner_args {
  from_state<"owner", std::string> whose;
  from_state<"mood", std::optional<std::string>> mood;
  whole_state all;
};
BOOST_DESCRIBE_STRUCT(owner_args, (), (whose, mood, all))

struct socket_args {
  from_state<"socket", int> socket;
};
BOOST_DESCRIBE_STRUCT(socket_args, (), (socket))

struct no_args {};
BOOST_DESCRIBE_STRUCT(no_args, (), ())

template <class Args>
tool_ptr tool_of(std::string name) {
  return make_tool<Args>(std::move(name), "", [](const Args&) { return "done"; });
}

chat_model_ptr answering(std::vector<message> answers) {
  return std::make_shared<const fake_model>(std::move(answers));
}

/// Returns the text of the compile_error that building an agent throws; empty if it throws none.
template <class State>
std::string fault_of(tool_list tools, std::vector<middleware<State>> around = {}) {
  try {
    auto options = agent_options<State>{};
    options.model = answering({ai_message("done")});
    options.tools = std::move(tools);
    options.middleware = std::move(around);
    (void)create_agent(std::move(options));
  } catch (const compile_error& e) {
    return e.what();
  }
  return {};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

enum class climate { mild, harsh };
BOOST_DESCRIBE_ENUM(climate, mild, harsh)

struct river {
  std::string name;
  std::optional<int> length;
};
BOOST_DESCRIBE_STRUCT(river, (), (name, length))

struct city {
  std::string name;
  std::optional<std::string> country;
  int founded = 0;
  std::vector<river> rivers;
  std::optional<climate> weather;
  static inline const auto descriptions =
      std::map<std::string, std::string>{{"founded", "year, negative before our era"}};
};
BOOST_DESCRIBE_STRUCT(city, (), (name, country, founded, rivers, weather))

json::value parsed(std::string_view text) {
  return parse_json(std::string{text}).value();
}

/// Returns the text of the std::system_error that converting a response throws.
std::string misfit_of(std::string_view response) {
  try {
    (void)response_of<city>(parsed(response));
  } catch (const std::system_error& e) {
    return e.what();
  }
  return {};
}

} // namespace agent_checks

using namespace agent_checks;

BOOST_AUTO_TEST_SUITE(agent_checks_tests)

BOOST_AUTO_TEST_CASE(tool_with_missing_required_state_field_is_rejected) {
  const auto text = fault_of<desk_state>({tool_of<user_args>("note"), tool_of<owner_args>("ok")});
  for (const auto* part : {"tool 'note'", "state field 'user'", "parameter 'user'", "desk_state",
                           "messages, owner", "std::optional"})
    BOOST_TEST(contains(text, part), text);
  BOOST_TEST(!contains(text, "'mood'"), "the field is optional");
  BOOST_TEST(fault_of<desk_state>({tool_of<owner_args>("ok")}).empty());
  BOOST_TEST(contains(fault_of<desk_state>({tool_of<socket_args>("s")}), "has no JSON form"));
}

BOOST_AUTO_TEST_CASE(middleware_tool_with_missing_state_field_is_rejected) {
  auto around = middleware<messages_state>{};
  around.name = "notes";
  around.tools = {tool_of<user_args>("note")};
  BOOST_TEST(contains(fault_of<messages_state>({}, {around}), "state field 'user'"));
}

BOOST_AUTO_TEST_CASE(json_agent_rejects_tool_with_undeclared_state_field) {
  BOOST_TEST(contains(fault_of<json::value>({tool_of<user_args>("note")}), "state field 'user'"));
  auto options = agent_options<json::value>{};
  options.model = answering({ai_message("done")});
  options.tools = {tool_of<user_args>("note")};
  options.state.keys = std::vector<json_state_key>{
      {"messages", "messages"}, {"remaining_steps", "remaining_steps"}, {"user", "last"}};
  BOOST_CHECK_NO_THROW((void)create_agent(std::move(options)));
}

BOOST_AUTO_TEST_CASE(duplicate_and_empty_tool_names_are_compile_errors) {
  const auto list = fault_of<messages_state>({tool_of<no_args>("a"), tool_of<no_args>("a")});
  BOOST_TEST(contains(list, "two tools have the name 'a'"), list);
  auto around = middleware<messages_state>{};
  around.name = "more";
  around.tools = {tool_of<no_args>("a")};
  const auto both = fault_of<messages_state>({tool_of<no_args>("a")}, {around});
  BOOST_TEST(contains(both, "two tools have the name 'a'"), both);
  BOOST_TEST(contains(fault_of<messages_state>({tool_of<no_args>("")}), "an empty name"));
}

BOOST_AUTO_TEST_CASE(structured_response_is_converted_to_a_struct) {
  const auto rome = response_of<city>(parsed(
      R"({"name":"Rome","country":"Italy","founded":-753,"rivers":[{"name":"Tiber","length":405},
          {"name":"Aniene","length":null}],"weather":"mild","extra":1})"));
  BOOST_TEST(rome.name == "Rome");
  BOOST_TEST(rome.country.value() == "Italy");
  BOOST_TEST(rome.founded == -753);
  BOOST_TEST_REQUIRE(rome.rivers.size() == 2U);
  BOOST_TEST(rome.rivers[0].length.value() == 405);
  BOOST_TEST(!rome.rivers[1].length.has_value());
  BOOST_TEST((rome.weather == climate::mild));
  // absent and null
  const auto oslo =
      response_of<city>(parsed(R"({"name":"Oslo","founded":1040,"rivers":[],"weather":null})"));
  BOOST_TEST(!oslo.country.has_value());
  BOOST_TEST(!oslo.weather.has_value());
}

BOOST_AUTO_TEST_CASE(response_that_does_not_match_struct_is_rejected) {
  const auto text = misfit_of(R"({"name":1,"founded":"long ago","rivers":[{}],"weather":"wet"})");
  for (const auto* part : {"city", "name must be a string", "founded must be an integer",
                           "rivers.0.name is required", "weather must be one of mild, harsh"})
    BOOST_TEST(contains(text, part), text);
  BOOST_TEST(contains(misfit_of("[]"), "must be an object"));
  BOOST_TEST(contains(misfit_of("null"), "no structured response"));
}

BOOST_AUTO_TEST_CASE(struct_schema_makes_optional_members_required_but_nullable) {
  const auto format = response_format_of<city>();
  const auto& schema = format.schema;
  BOOST_TEST(schema.at("title").as_string() == "city");
  BOOST_TEST(schema.at("required").as_array().size() == 5U);
  const auto& members = schema.at("properties").as_object();
  BOOST_TEST(to_text(members.at("country")) == R"({"anyOf":[{"type":"string"},{"type":"null"}]})");
  BOOST_TEST(members.at("founded").at("description").as_string() ==
             "year, negative before our era");
  const auto& inner = members.at("rivers").at("items").as_object();
  BOOST_TEST(inner.at("required").as_array().size() == 2U);
}

BOOST_AUTO_TEST_CASE(agent_returns_its_response_as_struct) {
  auto options = agent_options<>{};
  const auto model = std::make_shared<const fake_model>(std::vector<message>{
      ai_message(R"({"name":"Rome","country":null,"founded":-753,"rivers":[],"weather":"mild"})")});
  options.model = model;
  options.response = response_format_of<city>();
  auto engine = superstep::engine{{.workers = 1}};
  const auto done = engine.invoke(create_agent(std::move(options)), "Describe Rome.");
  BOOST_TEST(model->asked().at(0).format->name == "city");
  BOOST_TEST(response_of<city>(done).founded == -753);
  BOOST_TEST(!response_of<city>(done.state).country.has_value());
}

BOOST_AUTO_TEST_CASE(tool_times_contain_id_and_tool_per_call) {
  auto options = agent_options<chat_state>{};
  options.model = answering({ai_message("", {{"c1", "a", {}}, {"c2", "b", {}}}), ai_message("x")});
  options.tools = {tool_of<no_args>("a"), tool_of<no_args>("b")};
  auto context = std::make_shared<agent_context>();
  auto times = std::make_shared<const call_times>();
  context->tool_times = times;
  auto config = run_config{};
  config.context = context;
  auto engine = superstep::engine{{.workers = 1}};
  const auto done = engine.invoke(create_agent(std::move(options)), "Go.", config);
  BOOST_TEST(done.state.model_calls == 2U);
  auto named = std::map<std::string, std::string>{};
  for (const auto& call : times->take()) {
    named[call.call_id] = call.tool;
    BOOST_TEST(call.took.count() >= 0);
  }
  BOOST_TEST((named == std::map<std::string, std::string>{{"c1", "a"}, {"c2", "b"}}));
  BOOST_TEST(times->take().empty());
}

BOOST_AUTO_TEST_SUITE_END()
