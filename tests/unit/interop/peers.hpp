// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/engine.hpp>
#include <superstep/base/await.hpp>
#include <superstep/interop/actor_client.hpp>

#include <boost/describe/class.hpp>
#include <caf/all.hpp>

#include <functional>
#include <future>
#include <string>
#include <vector>

// CAF actors for the tests of this folder.
namespace testing {

namespace ss = superstep;

struct city_args {
  std::string city;
};
BOOST_DESCRIBE_STRUCT(city_args, (), (city))

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, city_args& a) {
  return f(caf::meta::type_name("city_args"), a.city);
}

struct caf_config : caf::actor_system_config {
  caf_config() {
    set("scheduler.max-threads", std::size_t{2});
    set("logger.console", caf::atom("none"));
    add_message_type<city_args>("city_args");
  }
};

/// An actor system with two workers.
class peer_system : private caf_config, public caf::actor_system {
public:
  peer_system() : caf::actor_system{static_cast<caf_config&>(*this)} {}
};

struct numbers {
  int n = 0;
  int total = 0;
  using reducers = ss::reducers<ss::by<&numbers::total, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(numbers, (), (n, total))

using adder = caf::typed_actor<caf::replies_to<int, int>::with<int>>;

inline adder::behavior_type add_numbers() {
  return {[](int left, int right) { return left + right; }};
}

/// Keeps each request without answering it.
class hoarder : public caf::event_based_actor {
public:
  explicit hoarder(caf::actor_config& config) : caf::event_based_actor{config} {}
  caf::behavior make_behavior() override {
    return {[this](int) -> caf::result<int> {
      auto promise = make_response_promise<int>();
      promises_.push_back(promise);
      return promise;
    }};
  }
  void on_exit() override { promises_.clear(); }

private:
  std::vector<caf::typed_response_promise<int>> promises_;
};

/// Returns the code of the actor_error that a task throws; success if it throws none.
template <class T>
std::error_code failure_of(ss::task<T> asking) {
  try {
    ss::sync_wait(std::move(asking));
  } catch (const std::system_error& e) {
    return e.code();
  }
  return {};
}

} // namespace testing
