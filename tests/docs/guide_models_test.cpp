// SPDX-License-Identifier: Apache-2.0
// The code of docs/models.md and docs/protocols.md.
//! [includes]
#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/structured_response.hpp>
#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/models/scripted_model.hpp>
#include <superstep/models/structured_model.hpp>
#include <superstep/net/io_runtime.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/protocols/tool_protocol.hpp>
//! [includes]

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

// A named namespace, because coroutine frames of templates contain the state.
namespace guide_models {

using namespace superstep;

//! [route_type]
enum class team { orders, products };
BOOST_DESCRIBE_ENUM(team, orders, products)

struct route {
  team to = team::orders;
  std::optional<int> priority; // null if the model has no value for it
};
BOOST_DESCRIBE_STRUCT(route, (), (to, priority))
//! [route_type]

//! [own_model]
class parrot : public chat_model {
public:
  [[nodiscard]] task<result<message>> complete(model_request request) const override {
    co_return ai_message("You say: " + text_of(request.messages.back()));
  }
  // Batch jobs compare this text when they are resumed.
  [[nodiscard]] std::string fingerprint() const override { return "parrot"; }
};
//! [own_model]

chat_model_ptr scripted(std::string rules) {
  auto options = scripted_model_options{};
  options.text = std::move(rules);
  return make_scripted_model(std::move(options)).value();
}

} // namespace guide_models

using namespace guide_models;

BOOST_AUTO_TEST_SUITE(guide_models_page)

BOOST_AUTO_TEST_CASE(example_code_for_asking_a_provider_model_compiles) {
  const auto use = [] { // calls a server, so it is only compiled
    //! [model]
    auto io = superstep::io_runtime{}; // must outlive the model
    auto model = superstep::init_chat_model("anthropic:claude-sonnet-4-5", io).value();
    auto answer = superstep::sync_wait(superstep::ask(model, "What is 6 * 7?"));
    // answer.value().content is the text; answer.error().text is the error if the call failed
    //! [model]
    return answer.has_value();
  };
  BOOST_TEST(sizeof use > 0U);
}

BOOST_AUTO_TEST_CASE(node_streams_the_answer_of_its_model) {
  auto engine = superstep::engine{};
  const auto model = scripted("default: {text: It is sunny.}");
  //! [node_tokens]
  auto g = graph<messages_state>{};
  g.add("ask", [model](const messages_state& state, runtime rt) -> task<update<messages_state>> {
    const auto send = [rt](const message_chunk& piece) { rt.emit_message(value{piece}); };
    auto asking = ask(model, state.messages, send);
    auto answer = co_await asking;
    co_return update{set<&messages_state::messages>({std::move(answer).value()})};
  });
  const auto graph = g.edge(start, "ask").compile();

  auto text = std::string{};
  for (const auto& event : engine.stream(graph, "How is the weather?", stream_mode::messages))
    if (const auto* piece = std::get<message_event>(event).get_if<message_chunk>())
      text += text_of(piece->part);
  // text == "It is sunny."
  //! [node_tokens]
  BOOST_TEST(text == "It is sunny.");
}

BOOST_AUTO_TEST_CASE(node_routes_by_structured_answer) {
  const auto model = scripted("default: {text: '{\"to\": \"products\", \"priority\": null}'}");
  //! [structured]
  const auto router =
      with_structured_output(model, {.schema = response_format_of<route>().schema}).value();
  auto g = graph<messages_state>{};
  g.add("route", [router](const messages_state& state, runtime) -> task<command<messages_state>> {
    auto asking = router.ask(state.messages);
    auto answer = co_await asking;
    const auto chosen = response_of<route>(answer.value().parsed); // throws if it does not match
    co_return command<messages_state>{{}, {chosen.to == team::orders ? "orders" : "products"}};
  });
  //! [structured]
  g.add("products", [](const messages_state&) {
    return update{set<&messages_state::messages>({ai_message("It is blue.")})};
  });
  g.edge(start, "route");
  auto engine = superstep::engine{};
  BOOST_TEST(engine.invoke(g.compile(), "Is it blue?").state.messages.back().content ==
             "It is blue.");
}

BOOST_AUTO_TEST_CASE(agent_runs_on_model_of_the_program) {
  auto engine = superstep::engine{};
  //! [parrot]
  const auto agent = create_agent({.model = std::make_shared<parrot>()});
  const auto done = engine.invoke(agent, "Hello!").state;
  // done.messages.back().content == "You say: Hello!"
  //! [parrot]
  BOOST_TEST(done.messages.back().content == "You say: Hello!");
}

BOOST_AUTO_TEST_CASE(protocol_middleware_returns_plain_text_unchanged) {
  const auto model = scripted("default: {text: hello}");
  //! [protocol]
  auto options = protocol_options{};
  options.protocol = make_protocol("hermes").value();
  options.on_error = [](const protocol_error& e) {
    std::cerr << e.code << ": " << e.segment << '\n';
  };
  const auto wrapped = wrap_model(model, {make_protocol_middleware(options)});
  //! [protocol]
  auto asking = ask(wrapped, "Hello?");
  BOOST_TEST(sync_wait(std::move(asking)).value().content == "hello");
}

BOOST_AUTO_TEST_SUITE_END()
