// SPDX-License-Identifier: Apache-2.0
// The rate limiters of this process, by provider and API key. An entry lives as long as a model
// uses its limiter. The table belongs to the process, like shared_io_runtime().
#include "models/shared_rate.hpp"

#include "models/hash.hpp"
#include "models/http/provider_traits.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>

#include <unistd.h>

namespace superstep::models {

namespace {

struct rate_table {
  std::mutex mutex;
  std::map<std::string, rate_limiter::weak> rates;
};

rate_table& the_table() {
  static auto table = rate_table{};
  return table;
}

} // namespace

result<rate_limiter> shared_rate(const provider_model_options& options, const rate_limits& limits,
                                 const limit_sharing& sharing) {
  const auto& traits = traits_of(options.api);
  const auto address = options.base_url.empty() ? std::string{traits.base_url} : options.base_url;
  auto secrets = std::string{};
  for (const auto& secret : secrets_of(options))
    secrets += secret + '\n';
  const auto key = fmt::format("{} {} {}", traits.name, address, hash_text(secrets));
  // A forked child has a copy of the table, but not the threads that ask for shared limits.
  const auto entry =
      sharing.open ? fmt::format("{} {} {}", key, sharing.where, ::getpid()) : key + ' ';
  auto& table = the_table();
  const auto lock = std::scoped_lock{table.mutex};
  std::erase_if(table.rates, [](const auto& each) { return !each.second.lock(); });
  if (const auto found = table.rates.find(entry); found != table.rates.end())
    if (auto held = found->second.lock()) {
      held->restrict_to(limits);
      return *held;
    }
  auto source = std::shared_ptr<limit_source>{};
  if (sharing.open) {
    auto opened = sharing.open(key);
    if (!opened)
      return opened.error();
    source = *std::move(opened);
  }
  auto made = rate_limiter{limits, std::move(source)};
  table.rates.insert_or_assign(entry, made.reference());
  return made;
}

} // namespace superstep::models
