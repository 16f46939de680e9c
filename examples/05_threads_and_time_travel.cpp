// SPDX-License-Identifier: Apache-2.0
// Stores a conversation in an SQLite database and continues it. Then another run starts a branch at
// an earlier checkpoint.
#include "model.hpp"

#include <superstep/superstep.hpp>

#include <iostream>

namespace ss = superstep;

constexpr auto rules = R"(
rules:
  - {match: 'in (\w+)', text: '\1 is a fine place.'}
  - {match: 'to (\w+)', text: 'I hope you like \1.'}
)";

int main() {
  auto agent = ss::create_agent({
      .model = model_or_script(rules),
      .checkpointer = ss::sqlite_checkpointer("conversations.db"),
  });
  auto engine = ss::engine{};
  auto config = ss::run_config{.thread_id = "ada"};
  engine.invoke(agent, "I live in Rome.", config);
  engine.invoke(agent, "I move to Oslo.", config); // the model reads the first turn as well

  auto first_turn = config;
  for (const auto& s : engine.get_state_history(agent, config)) { // newest first
    std::cout << "step " << s.checkpoint->step << ": " << s.values->messages.size()
              << " messages\n";
    if (s.next.empty()) // no next nodes: the end of a turn
      first_turn = s.config();
  }

  auto branch = engine.invoke(agent, "I move to Lima.", first_turn);
  for (const auto& m : branch.state.messages)
    std::cout << ss::text_of(m) << '\n';
}
