// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/channels/detail/slots.hpp>
#include <superstep/channels/kinds.hpp>
#include <superstep/checkpoint/checkpointer.hpp>

#include <boost/describe/class.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Checkpoints built without a graph, for tests of checkpointers.
namespace checkpointer_contract {

namespace ss = superstep;
namespace json = boost::json;

struct point_2d {
  int x = 0;
  std::optional<std::string> label;
  friend bool operator==(const point_2d&, const point_2d&) = default;
};
BOOST_DESCRIBE_STRUCT(point_2d, (), (x, label))

using log_type = std::vector<std::string>;
struct append {
  void operator()(log_type& into, log_type&& more) const {
    into.insert(into.end(), more.begin(), more.end());
  }
};

/// Builds the layout of a graph with two nodes, a join and selected channels.
class test_layout {
public:
  test_layout() : made_{std::make_shared<ss::graph_layout>()} {
    made_->graph = "g";
    made_->nodes = {{"a", ss::form_of<int>()}, {"b", nullptr}};
    made_->joins = {{{"a", "b"}, 1}};
  }
  /// Adds a last-value channel, which is empty initially.
  template <class T>
  test_layout& last(std::string name) {
    using place = ss::slot_place<std::optional<T>>;
    add<ss::last_value<place, T>>(std::move(name), std::optional<T>{}, place{blank_count_});
    return *this;
  }
  test_layout& log(std::string name) {
    using place = ss::slot_place<log_type>;
    add<ss::binary_operator_aggregate<place, log_type, append>>(std::move(name), log_type{},
                                                                place{blank_count_});
    return *this;
  }
  test_layout& nodes(std::vector<ss::graph_layout::node> all) {
    made_->nodes = std::move(all);
    made_->joins.clear();
    return *this;
  }
  test_layout& convert(ss::value_converter by) {
    made_->convert = std::move(by);
    return *this;
  }
  [[nodiscard]] ss::layout_ptr done() {
    made_->make_state = [blank = blank_] { return blank->clone(); };
    return made_;
  }

private:
  template <class Channel, class Held, class Place>
  void add(std::string name, Held initial, Place place) {
    blank_->add(std::make_unique<ss::slot_block::slot_of<Held>>(std::move(initial)));
    made_->channels.push_back(std::make_unique<Channel>(std::move(name), place));
    ++blank_count_;
  }

  std::shared_ptr<ss::graph_layout> made_;
  boost::intrusive_ptr<ss::slot_block> blank_{new ss::slot_block};
  std::size_t blank_count_ = 0;
};

inline ss::layout_ptr usual_layout() {
  return test_layout{}
      .last<int>("n")
      .log("log")
      .last<json::value>("any")
      .last<point_2d>("p")
      .done();
}

inline const auto key = ss::thread_key{"t", ""};

inline std::string id_of(int number) {
  char text[16];
  std::snprintf(text, sizeof text, "%08d", number);
  return text;
}

/// Returns a checkpoint with the members that put_task() needs.
inline ss::checkpoint named(int number, ss::layout_ptr layout) {
  auto out = ss::checkpoint{};
  out.id = id_of(number);
  out.layout = std::move(layout);
  return out;
}

/// Builds checkpoints of one thread, each from an older one.
class maker {
public:
  explicit maker(ss::layout_ptr layout, ss::thread_key of = key)
      : layout_{std::move(layout)}, of_{std::move(of)} {}

  /// Builds a checkpoint: the parent's state after these writes.
  /// @param number determines its id and step
  [[nodiscard]] ss::checkpoint_ptr
  make(int number, const ss::checkpoint_ptr& parent, std::vector<ss::write> writes,
       ss::checkpoint_source source = ss::checkpoint_source::loop) const {
    auto point = std::make_shared<ss::checkpoint>();
    point->id = id_of(number);
    point->parent = parent ? parent->id : std::string{};
    point->source = source;
    point->step = number - 1;
    point->layout = layout_;
    const auto state = parent ? parent->state->clone() : layout_->make_state();
    auto ids = ss::id_source{"r"};
    for (auto& w : writes) {
      auto* const one = &w;
      BOOST_REQUIRE(layout_->channels[w.channel]->update(*state, std::span{&one, 1}, ids));
    }
    point->state = state;
    point->where = where(number);
    return point;
  }

  /// Builds a checkpoint and puts it.
  ss::checkpoint_ptr put(ss::checkpointer& s, int number, const ss::checkpoint_ptr& parent,
                         std::vector<ss::write> writes,
                         ss::checkpoint_source source = ss::checkpoint_source::loop) {
    auto point = make(number, parent, std::move(writes), source);
    if (now)
      s.put_now(of_, point);
    else
      s.put(of_, point);
    return point;
  }

  bool now = false; ///< whether put() calls put_now()

  [[nodiscard]] ss::position where(int number) const {
    auto at = ss::position{};
    at.triggered = {{0, 1}};
    for (const auto& join : layout_->joins)
      at.joins.emplace_back(static_cast<std::uint32_t>(join.sources.size()));
    at.versions.last = static_cast<std::uint64_t>(number);
    at.versions.branch.assign(layout_->nodes.size(), 0);
    at.versions.branch_seen = at.versions.branch;
    at.versions.branch[0] = static_cast<std::uint64_t>(number);
    at.versions.join.assign(layout_->joins.size(), 0);
    at.versions.join_seen = at.versions.join;
    return at;
  }

private:
  ss::layout_ptr layout_;
  ss::thread_key of_;
};

inline ss::write set_n(int n) {
  return {0, false, ss::value{n}};
}
inline ss::write add_log(log_type lines) {
  return {1, false, ss::value{std::move(lines)}};
}
inline ss::write set_any(json::value v) {
  return {2, false, ss::value{std::move(v)}};
}

template <class T>
const T& held(const ss::checkpoint_ptr& point, std::size_t slot) {
  return static_cast<const ss::slot_block&>(*point->state).at<T>(slot);
}
inline int n_of(const ss::checkpoint_ptr& point) {
  return held<std::optional<int>>(point, 0).value_or(-1);
}
inline const log_type& log_of(const ss::checkpoint_ptr& point) {
  return held<log_type>(point, 1);
}

} // namespace checkpointer_contract
