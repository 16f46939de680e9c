// SPDX-License-Identifier: Apache-2.0
// The code of docs/prebuilt.md, except the code about middleware.
//! [includes]
#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/graph_tool.hpp>
#include <superstep/agents/multi_agent.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/base/await.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/scripted_model.hpp>
#include <superstep/net/http_client.hpp>
#include <superstep/net/io_runtime.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>
//! [includes]

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// A named namespace, because coroutine frames of templates contain the state.
namespace guide_agents {

using namespace superstep;

//! [rate_tool]
struct rate_args {
  std::string currency;
};
BOOST_DESCRIBE_STRUCT(rate_args, (), (currency))

tool_ptr rate_tool(std::shared_ptr<const http_client> client) {
  return make_tool<rate_args>(
      "rate", "Exchange rate of a currency.", [client](const rate_args& args) -> task<std::string> {
        auto asking = client->send({.url = "https://rates.example.com/" + args.currency});
        auto answer = co_await asking;
        if (!answer)
          throw tool_exception{answer.error().text}; // the model reads this text
        if (answer->status != 200)
          throw tool_exception{"status " + std::to_string(answer->status)};
        co_return answer->body;
      });
}
//! [rate_tool]

//! [poem_args]
struct poem_args {
  std::string about;
};
BOOST_DESCRIBE_STRUCT(poem_args, (), (about))
//! [poem_args]

//! [state]
struct my_state {
  message_list messages;
  message_list llm_input_messages; // what the model reads instead of `messages`
  std::string user;
  using reducers = superstep::reducers<by<&my_state::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(my_state, (), (messages, llm_input_messages, user))

message_list last_messages(const my_state& state, std::size_t count) {
  auto out = message_list{};
  for (auto i = state.messages.size() - std::min(count, state.messages.size());
       i < state.messages.size(); ++i)
    out.push_back(state.messages[i]);
  return out;
}
//! [state]

//! [injection]
struct note_args {
  std::string text;                                    // set by the model
  from_state<"user", std::string> user;                // a field of the state
  from_state<"mood", std::optional<std::string>> mood; // a field that the state may lack
  whole_state state;                                   // the whole state, as JSON
  injected_store memory;                               // the long-term memory
  injected_call_id id;                                 // the id of the call
};
BOOST_DESCRIBE_STRUCT(note_args, (), (text, user, mood, state, memory, id))
//! [injection]

//! [weather]
struct city_args {
  std::string city;
};
BOOST_DESCRIBE_STRUCT(city_args, (), (city))

tool_ptr weather_tool() {
  return make_tool<city_args>("weather", "Current weather in a city.",
                              [](const city_args& args) { return "Sunny in " + args.city; });
}
//! [weather]

//! [set_user]
struct user_args {
  std::string name;
  injected_call_id id; // the id of the call, which the message answers
};
BOOST_DESCRIBE_STRUCT(user_args, (), (name, id))

tool_command set_user(const user_args& args) {
  auto update = tool_update{.fields = {{"user", args.name}}};
  update.messages = {tool_message("The name is stored.", args.id.value, "set_user")};
  return tool_command{.update = std::move(update)};
}
//! [set_user]

chat_model_ptr scripted(std::string rules) {
  auto options = scripted_model_options{};
  options.text = std::move(rules);
  return make_scripted_model(std::move(options)).value();
}

constexpr auto asks_weather = R"(
rules:
  - {type: human, calls: [{name: weather, args: {city: Rome}}]}
  - {type: tool, text: 'It is sunny.'}
)";

constexpr auto asks_to_book = R"(
rules:
  - {type: human, calls: [{name: book, args: {city: Rome}}]}
  - {type: tool, text: 'It is booked.'}
)";

my_state about_rome() {
  auto out = my_state{};
  out.messages.push_back(human_message("How is the weather in Rome?"));
  return out;
}

//! [tool_node]
task<tool_node_output> run_calls(tool_state_ptr state, runtime rt) {
  auto options = tool_node_options{};
  options.errors = tool_errors::only<std::invalid_argument, tool_exception>();
  auto node = tool_node{{weather_tool()}, options};
  auto running = node.run(node.from_state(state), rt); // all calls of the last AI message
  auto results = co_await running;
  co_return results;
}
//! [tool_node]

//! [place_order]
struct customer {
  std::string name;
};
struct order_args {
  std::string item;
};
BOOST_DESCRIBE_STRUCT(order_args, (), (item))

task<std::string> place_order(const order_args& args, const tool_context& context) {
  const auto& rt = *context.environment->run; // the runtime of the node that runs the call
  rt.emit({{"asks for", args.item}});         // a custom event
  auto question = rt.interrupt({{"order", args.item}});
  const auto answer = co_await question; // stops the run until the caller has passed an answer
  const auto* who = rt.context<customer>();
  if (who == nullptr || !answer.as_bool())
    co_return "not ordered";
  co_return "ordered for " + who->name;
}
//! [place_order]

//! [retrieve]
// Counts letters. Replace it by a request to an embedding model.
std::vector<std::vector<float>> embed(std::span<const std::string> texts) {
  auto out = std::vector<std::vector<float>>{};
  for (const auto& text : texts) {
    auto& vector = out.emplace_back(26);
    for (const auto c : text)
      if (c >= 'a' && c <= 'z')
        ++vector[static_cast<std::size_t>(c - 'a')];
  }
  return out;
}

struct question_args {
  std::string question;
  injected_store memory;
};
BOOST_DESCRIBE_STRUCT(question_args, (), (question, memory))

std::string retrieve(const question_args& args) {
  auto out = std::string{};
  for (const auto& found : args.memory->search(
           {.prefix = {"docs"}, .filter = {{"public", true}}, .limit = 1, .text = args.question}))
    out += found.value.at("text").as_string(); // found.score is the similarity, from -1 to 1
  return out;
}
//! [retrieve]

constexpr auto orders_lamp = R"(
rules:
  - {type: human, calls: [{name: order, args: {item: lamp}}]}
  - {type: tool, text: 'The lamp is \0.'}
)";

constexpr auto asks_documents = R"(
rules:
  - {type: human, calls: [{name: retrieve, args: {question: '\0'}}]}
  - {type: tool, text: 'I read: \0'}
)";

} // namespace guide_agents

using namespace guide_agents;

BOOST_AUTO_TEST_SUITE(guide)

BOOST_AUTO_TEST_CASE(injected_arguments_are_hidden_from_model) {
  const auto note = make_tool<note_args>("note", "Keeps a note.",
                                         [](const note_args& args) { return args.user.value; });
  const auto node = tool_node{{note}};
  BOOST_TEST(json::serialize(node.definitions()->at(0).parameters).find("mood") ==
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(react_agent_answers_with_result_of_tool) {
  auto engine = superstep::engine{};
  const auto model = scripted(asks_weather);
  //! [react]
  auto options = agent_options<my_state>{};
  options.model = model; // a chat_model_ptr
  options.tools = {weather_tool()};
  options.prompt = "Answer in one sentence.";
  options.pre_model_hook = [](const my_state& state, runtime) { // the model reads 20 messages
    return update{set<&my_state::llm_input_messages>(last_messages(state, 20))};
  };
  const auto agent = create_agent(std::move(options));
  //! [react]
  BOOST_TEST(engine.invoke(agent, about_rome()).state.messages.back().content == "It is sunny.");
}

BOOST_AUTO_TEST_CASE(run_counts_its_model_and_tool_calls) {
  auto engine = superstep::engine{};
  const auto model = scripted(asks_weather);
  //! [tokens]
  auto options = agent_options<chat_state>{};
  options.model = model;
  options.tools = {weather_tool()};
  const auto agent = create_agent(std::move(options));

  const auto times = std::make_shared<const call_times>();
  auto context = std::make_shared<agent_context>();
  context->tool_times = times;
  auto config = run_config{};
  config.context = context;
  const auto done = engine.invoke(agent, "What is the weather in Rome?", config);

  std::cout << done.state.usage.total_tokens << " tokens, " << done.state.model_calls
            << " answers\n";
  for (const auto& call : times->take())
    std::cout << call.tool << " (" << call.call_id << "): " << call.took.count() << " ns\n";
  //! [tokens]
  BOOST_TEST(done.state.model_calls == 2U);
  BOOST_TEST(done.state.tool_calls == 1U);
}

BOOST_AUTO_TEST_CASE(example_code_for_provider_agents_and_teams_compiles) {
  const auto use = [] { // calls a server, so it is only compiled
    //! [agent]
    auto agent = create_agent({
        .model = "openai:gpt-4o-mini",
        .tools = {weather_tool()},
        .prompt = "Answer in one sentence.",
    });
    auto engine = superstep::engine{};
    const auto done = engine.invoke(agent, "How is the weather in Rome?").state;
    std::cout << done.messages.back().content << '\n';
    //! [agent]
    const auto &mathematician = agent, &poet = agent, &alice = agent, &bob = agent;
    //! [teams]
    auto team = create_supervisor({.model = "openai:gpt-4o", .agents = {mathematician, poet}});
    auto swarm = create_swarm({.agents = {alice, bob}, .default_agent = "alice"});
    //! [teams]
    return team.mermaid() + swarm.mermaid();
  };
  BOOST_TEST(sizeof use > 0U);
}

BOOST_AUTO_TEST_CASE(only_calls_of_listed_tools_are_reviewed) {
  auto engine = superstep::engine{};
  const auto book = make_tool<city_args>("book", "", [](const city_args&) { return ""; });
  auto options = agent_options<my_state>{};
  options.model = scripted(asks_weather);
  //! [review]
  auto reviewed = tool_node_options{};
  reviewed.wrap_call = review_calls({.tools = {"book"}});
  options.tools = tool_node{{book, weather_tool()}, reviewed};
  //! [review]
  BOOST_TEST(engine.invoke(create_agent(options), about_rome()).state.messages.size() == 4U);

  options.model = scripted(asks_to_book);
  options.checkpointer = memory_checkpointer();
  const auto agent = create_agent(options);
  auto config = run_config{};
  config.thread_id = "trip";
  BOOST_TEST(engine.invoke(agent, about_rome(), config).interrupts.size() == 1U);
  //! [response]
  const auto answer = human_response{.type = human_response::kind::accept};
  const auto done = engine.invoke(agent, resume(to_json(answer)), config);
  //! [response]
  BOOST_TEST(done.state.messages.back().content == "It is booked.");
}

BOOST_AUTO_TEST_CASE(example_code_for_running_a_tool_node_compiles) {
  auto engine = superstep::engine{};
  auto g = graph<my_state>{};
  const auto tools = node<my_state>{"tools"};
  g.add(tools, [](my_state state, runtime rt) -> task<update<my_state>> {
    auto running = run_calls(nullptr, rt);
    static_cast<void>(running);
    co_return update{set<&my_state::user>(state.user + "!")};
  });
  g.edge(start, tools);
  BOOST_TEST(engine.invoke(g.compile(), my_state{}).state.user == "!");
}

BOOST_AUTO_TEST_CASE(tool_uses_context_events_and_interrupts_of_run) {
  auto engine = superstep::engine{};
  const auto model = scripted(orders_lamp);
  auto seen = std::string{};
  //! [tool_runtime]
  const auto agent = create_agent({
      .model = model,
      .tools = {make_tool("order", "Orders an item.", place_order)},
      .checkpointer = memory_checkpointer(),
  });
  auto config = run_config{};
  config.thread_id = "order-17";
  config.context = std::make_shared<const customer>(customer{"Ada"});

  auto events = engine.stream(agent, "I need a lamp.", stream_mode::custom, config);
  for (const auto& event : events)
    if (const auto* sent = std::get_if<custom_event>(&event))
      seen += json::serialize(sent->data); // {"asks for":"lamp"}
  const auto stopped = events.result();    // stopped.interrupts.at(0).value == {"order": "lamp"}

  const auto done = engine.invoke(agent, resume(true), config).state;
  // done.messages.back().content == "The lamp is ordered for Ada."
  //! [tool_runtime]
  BOOST_TEST(seen == R"({"asks for":"lamp"})");
  BOOST_TEST(stopped.interrupts.at(0).value == (json::object{{"order", "lamp"}}));
  BOOST_TEST(done.messages.back().content == "The lamp is ordered for Ada.");
}

BOOST_AUTO_TEST_CASE(prompt_function_reads_context_and_store) {
  auto engine = superstep::engine{};
  const auto model = scripted("default: {text: hello}");
  auto sent = std::string{};
  //! [prompt]
  auto options = agent_options<>{};
  options.model = model;
  options.store = std::make_shared<memory_store>();
  options.store->put({"users", "Ada"}, "1", {{"text", "Ada drinks tea."}});
  options.prompt = [](const messages_state& state, const runtime& rt) {
    const auto* who = rt.context<customer>(); // null if the run has no context
    const auto name = who != nullptr ? who->name : "a guest";
    auto text = "You talk to " + name + ".";
    for (const auto& item : rt.store()->search({.prefix = {"users", name}}))
      text += ' ' + std::string{item.value.at("text").as_string()};
    auto input = message_list{system_message(text)}; // a message in front of the others
    for (auto i = std::size_t{0}; i < state.messages.size(); ++i)
      input.push_back(state.messages.at_ptr(i)); // shares the message
    return input;
  };
  //! [prompt]
  auto wraps = middleware<messages_state>{};
  wraps.name = "Spy";
  wraps.before_model = [](const messages_state&, runtime) {};
  wraps.wrap_model_call = [&sent](model_call call, model_ask ask) -> task<message> {
    sent += call.system ? call.system->content : std::string{};
    for (const auto& m : call.messages)
      sent += m.content + '|';
    auto asking = ask(std::move(call));
    co_return co_await asking;
  };
  options.middleware = {wraps};
  auto config = run_config{};
  config.context = std::make_shared<const customer>(customer{"Ada"});
  engine.invoke(create_agent(options), "Hello!", config);
  BOOST_TEST(sent == "You talk to Ada. Ada drinks tea.|Hello!|");
}

BOOST_AUTO_TEST_CASE(retriever_tool_finds_most_similar_document) {
  auto engine = superstep::engine{};
  const auto model = scripted(asks_documents);
  //! [retriever]
  auto options = memory_store_options{.embed = embed, .fields = {"text"}}; // what is compared
  const auto store = std::make_shared<memory_store>(options);
  store->put({"docs", "sea"}, "1", {{"text", "whales swim in water"}, {"public", true}});
  store->put({"docs", "zoo"}, "2", {{"text", "zebras graze on grass"}, {"public", true}});
  store->put({"docs", "zoo"}, "3", {{"text", "how whales swim"}, {"public", false}});

  const auto agent = create_agent({
      .model = model,
      .tools = {make_tool("retrieve", "Searches the documents.", retrieve)},
      .store = store,
  });
  const auto done = engine.invoke(agent, "how do whales swim?").state;
  // done.messages.back().content == "I read: whales swim in water"
  //! [retriever]
  BOOST_TEST(done.messages.back().content == "I read: whales swim in water");

  auto prices = memory_store{{.embed = embed, .fields = {"text"}}};
  prices.put({"prices"}, "lamp", {{"price", 20}});
  prices.put({"prices"}, "table", {{"price", 40}});
  BOOST_TEST(prices.search({.filter = {{"price", {{"$lt", 30}}}}}).at(0).key == "lamp");
}

BOOST_AUTO_TEST_CASE(tool_writes_to_field_of_state) {
  auto engine = superstep::engine{};
  auto options = agent_options<my_state>{};
  options.model = scripted(R"(
rules:
  - {type: human, match: 'I am (\w+)', calls: [{name: set_user, args: {name: '\1'}}]}
  - {type: tool, text: 'Hello!'}
)");
  options.tools = {make_tool("set_user", "Stores the name of the user.", set_user)};
  const auto done = engine.invoke(create_agent(std::move(options)), "I am Ada.").state;
  BOOST_TEST(done.user == "Ada");
  BOOST_TEST(done.messages[2].content == "The name is stored.");
}

BOOST_AUTO_TEST_CASE(tool_node_runs_calls_in_a_graph_of_messages) {
  auto engine = superstep::engine{};
  const auto model = scripted(asks_weather);
  //! [tool_step]
  const auto tools = tool_node{{weather_tool()}};
  const auto bound = bind_tools(model, tools.definitions()).value();

  auto g = graph<messages_state>{};
  g.add("ask", [bound](const messages_state& state, runtime) -> task<update<messages_state>> {
    auto asking = ask(bound, state.messages);
    auto answer = co_await asking;
    co_return update{set<&messages_state::messages>({std::move(answer).value()})};
  });
  g.add("tools", [tools](const messages_state& state, runtime rt) -> task<update<messages_state>> {
    auto running = tools.run(tools.from_list(state.messages), rt);
    const auto results = co_await running;
    auto answers = message_list{};
    for (const auto& item : results.items) // a tool_command if a tool returns one
      answers.push_back(std::get<message>(item));
    co_return update{set<&messages_state::messages>(std::move(answers))};
  });
  g.edge(start, "ask").edge("tools", "ask");
  g.branch("ask",
           [](const messages_state& state) {
             return tools_condition(state.messages).value() == "tools";
           },
           {{true, "tools"}, {false, end}});
  const auto done = engine.invoke(g.compile(), "How is the weather in Rome?").state;
  // done.messages.back().content == "It is sunny."
  //! [tool_step]
  BOOST_TEST(done.messages.back().content == "It is sunny.");
}

BOOST_AUTO_TEST_CASE(agent_in_per_thread_graph_keeps_its_conversation) {
  auto engine = superstep::engine{};
  const auto agent = create_agent(
      {.model = scripted("rules: [{turn: 1, text: noted again}]\ndefault: {text: noted}")});
  //! [agent_memory]
  auto inner = graph<messages_state>{};
  inner.add("agent", agent).edge(start, "agent");
  const auto helper = inner.compile({.persistence = persistence::per_thread});

  auto g = graph<my_state>{};
  g.add(
      "helper", helper,
      [](const my_state& state) { // the input of each turn: an update, not a whole state
        return update{set<&messages_state::messages>({state.messages.back()})};
      },
      [](const messages_state& state) { // state.messages: the turns of the thread so far
        return update{set<&my_state::messages>({state.messages.back()})};
      });
  g.edge(start, "helper");
  const auto graph = g.compile({.checkpointer = memory_checkpointer()});
  //! [agent_memory]
  auto config = run_config{};
  config.thread_id = "t";
  for (auto turn = 0; turn < 2; ++turn)
    engine.invoke(graph, "note this", config);
  const auto now = engine.get_state(graph, config);
  BOOST_TEST(now.values->messages.size() == 4U);
  BOOST_TEST(now.values->messages.back().content == "noted again");
}

BOOST_AUTO_TEST_CASE(tool_calls_a_server) {
  const auto model = scripted("default: {text: hello}");
  //! [call_server]
  auto io = superstep::io_runtime{}; // must outlive the client
  auto client = std::make_shared<const http_client>(http_client::make(io, {}).value());
  const auto agent = create_agent({.model = model, .tools = {rate_tool(client)}});
  //! [call_server]
  auto engine = superstep::engine{};
  BOOST_TEST(engine.invoke(agent, "Hello?").state.messages.back().content == "hello");
}

BOOST_AUTO_TEST_CASE(agent_calls_a_graph_as_tool) {
  const auto poet = create_agent({.model = scripted("default: {text: 'Here: \\0'}")});
  const auto model = scripted("rules:\n"
                              "  - {type: human, calls: [{name: ask_poet, args: {about: sea}}]}\n"
                              "default: {text: '\\0'}");
  //! [graph_tool]
  const auto tool = make_graph_tool<poem_args>(
      "ask_poet", "Asks a poet for a poem.", poet,
      [](const poem_args& args) { // the input of the graph
        return messages_state{.messages = {human_message("A poem about " + args.about)}};
      },
      [](const messages_state& done) { return text_of(done.messages.back()); }); // the result
  const auto agent = create_agent({.model = model, .tools = {tool}});
  //! [graph_tool]
  auto engine = superstep::engine{};
  BOOST_TEST(engine.invoke(agent, "Write.").state.messages.back().content ==
             "Here: A poem about sea");
}

BOOST_AUTO_TEST_SUITE_END()
