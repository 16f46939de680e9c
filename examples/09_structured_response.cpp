// SPDX-License-Identifier: Apache-2.0
// An agent whose answer is a C++ struct. The run fails if the answer does not match its schema.
#include "model.hpp"

#include <superstep/superstep.hpp>

#include <iostream>
#include <optional>
#include <string>

namespace ss = superstep;

constexpr auto rules = R"(
rules:
  - {match: 'Rome', text: '{"name": "Rome", "country": null, "founded": -753}'}
  - {match: 'Oslo', text: '{"name": "Oslo", "country": "Norway", "founded": "long ago"}'}
)";

struct city {
  std::string name;
  std::optional<std::string> country; // null in the answer if the model has no value
  int founded = 0;
};
BOOST_DESCRIBE_STRUCT(city, (), (name, country, founded))

int main() {
  auto engine = ss::engine{};
  auto agent = ss::create_agent({
      .model = model_or_script(rules),
      .response = ss::response_format_of<city>(),
  });

  auto rome = ss::response_of<city>(engine.invoke(agent, "Describe Rome."));
  std::cout << rome.name << " (" << rome.country.value_or("country unknown") << ") was founded in "
            << rome.founded << '\n';

  if (auto failed = engine.try_invoke(agent, "Describe Oslo."); failed.error)
    std::cout << "the node " << failed.error->node << " failed\n"; // error->text states the reason
}
