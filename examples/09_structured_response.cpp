// SPDX-License-Identifier: Apache-2.0
// An agent whose answer must match a JSON Schema. The run fails if the answer does not match.
#include "model.hpp"

#include <superstep/superstep.hpp>

#include <iostream>

namespace ss = superstep;

constexpr auto rules = R"(
rules:
  - {match: 'Rome', text: '{"city": "Rome", "country": "Italy", "founded": -753}'}
  - {match: 'Oslo', text: '{"city": "Oslo", "founded": "long ago"}'}
)";

int main() {
  auto schema = ss::json::object{
      {"type", "object"},
      {"title", "City"},
      {"properties",
       {{"city", {{"type", "string"}}},
        {"country", {{"type", "string"}}},
        {"founded", {{"type", "integer"}, {"description", "year, negative before our era"}}}}},
      {"required", {"city", "founded"}},
  };
  auto engine = ss::engine{};
  auto agent = ss::create_agent({
      .model = model_or_script(rules),
      .response = ss::response_format{.schema = schema},
  });

  auto city = engine.invoke(agent, "Describe Rome.").state.structured_response;
  std::cout << city.at("city") << " was founded in " << city.at("founded") << '\n';

  if (auto failed = engine.try_invoke(agent, "Describe Oslo."); failed.error)
    std::cout << "the node " << failed.error->node << " failed\n"; // error->text states the reason
}
