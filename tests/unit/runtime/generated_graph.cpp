// SPDX-License-Identifier: Apache-2.0
// Generator of random graphs for the seeded scheduler.
#include "runtime/generated_graph.hpp"

#include <superstep/runtime/channel_graph.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace superstep::test {

namespace {

using lines = std::vector<std::string>;

struct append {
  void operator()(lines& into, lines&& more) const {
    for (auto& m : more)
      into.push_back(std::move(m));
  }
};

class digest {
public:
  digest& operator<<(std::string_view text) {
    for (const auto c : text)
      hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash_ *= 0x100000001b3;
    return *this;
  }
  digest& operator<<(const std::string& text) { return *this << std::string_view{text}; }
  digest& operator<<(std::int64_t n) { return *this << std::to_string(n); }
  digest& operator<<(const lines& l) {
    for (auto i = l.size() > 3 ? l.size() - 3 : 0; i < l.size();
         ++i) // the last three elements suffice
      *this << l[i];
    return *this << static_cast<std::int64_t>(l.size());
  }
  digest& operator<<(const std::optional<std::string>& o) {
    return *this << std::string_view{o ? *o : "nothing"};
  }
  [[nodiscard]] std::uint64_t value() const { return hash_ >> 8; } // the low bits of FNV are weak

private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

struct channels {
  channel_handle<lines> log;
  channel_handle<std::int64_t> sum;
  optional_handle<std::string> last;
  optional_handle<std::string> mark;
  channel_handle<lines> latest;
  channel_handle<lines> all;

  explicit channels(channel_graph& g)
      : log{g.reduce<lines>("log", append{})}, sum{g.reduce<std::int64_t>("sum", std::plus<>{})},
        last{g.last_value<std::string>("last")}, mark{g.ephemeral<std::string>("mark", false)},
        latest{g.topic<std::string>("latest")}, all{g.topic<std::string>("all", true)} {}
  [[nodiscard]] auto everything() const { return reads{log, sum, last, mark, latest, all}; }
  [[nodiscard]] std::string text_of(const state_block& s) const {
    auto text = std::string{};
    const auto add = [&](const char* name, const lines& items) {
      text += name;
      for (const auto& i : items)
        text += ' ' + i;
      text += '\n';
    };
    add("log", get(log, s));
    add("latest", get(latest, s));
    add("all", get(all, s));
    return text + "sum " + std::to_string(get(sum, s)) + "\nlast " + get(last, s).value_or("-") +
           "\nmark " + get(mark, s).value_or("-");
  }
};

/// The behaviour of one node, drawn from the seed once and then fixed.
struct plan {
  std::string name;
  bool writes_sum = false;
  bool writes_last = false;
  bool writes_mark = false;
  bool writes_topics = false;
  std::size_t sends_max = 0;      ///< maximum number of Sends of its commands
  std::string goes_to;            ///< target of its commands, chosen sometimes
  std::uint64_t fails_one_in = 0; ///< 0: never
};

struct workers {
  node<std::string> first;
  node<int> second;
  /// Adds Sends to both workers; the digest determines their number.
  void add(destinations& to, std::uint64_t seen, std::size_t count_max) const {
    const auto count = count_max == 0 ? 0 : seen % (count_max + 1);
    for (auto i = std::uint64_t{0}; i < count; ++i) {
      if ((seen >> i) % 2 == 0)
        to.emplace_back(first, "p" + std::to_string(seen % 97 + i));
      else
        to.emplace_back(second, static_cast<int>(seen % 89 + i));
    }
  }
};

step_result act(const plan& p, const channels& ch, std::uint64_t seen, std::int64_t step) {
  if (p.fails_one_in != 0 && seen % p.fails_one_in == 0)
    throw std::runtime_error{p.name + " fails"};
  const auto said = p.name + std::to_string(step) + '.' + std::to_string(seen % 1000);
  auto r = step_result{};
  r.update.push_back(ch.log <<= lines{said});
  if (p.writes_sum)
    r.update.push_back(ch.sum <<= static_cast<std::int64_t>(seen % 10));
  if (p.writes_last)
    r.update.push_back(ch.last <<= said);
  if (p.writes_mark)
    r.update.push_back(ch.mark <<= said);
  if (p.writes_topics) {
    r.update.push_back(ch.latest <<= lines{said, p.name});
    r.update.push_back(ch.all <<= lines{p.name});
  }
  return r;
}

class generator {
public:
  explicit generator(std::uint64_t seed) : random_{seed}, ch_{g_} {}

  scenario make() {
    make_plans();
    auto to = add_workers();
    for (const auto& p : plans_)
      add_node(p, to);
    add_edges();
    add_branches(to);
    auto s = scenario{};
    s.table = detail::program_of(g_.compile({.name = "generated"}));
    s.text_of = [ch = ch_](const state_block& state) { return ch.text_of(state); };
    s.input = [ch = ch_, seed = random_.below(1000)] {
      auto writes = write_list{};
      writes.push_back((ch.log <<= lines{"in" + std::to_string(seed)}).content);
      writes.push_back((ch.mark <<= std::string{"first"}).content);
      return writes;
    };
    s.recursion_limit = static_cast<std::uint32_t>(6 + random_.below(4));
    return s;
  }

private:
  void make_plans() {
    const auto count = 6 + random_.below(6);
    const auto is_broken = random_.one_in(8);
    for (auto i = std::size_t{0}; i < count; ++i) {
      auto p = plan{};
      p.name = std::string(1, static_cast<char>('a' + i)) + std::to_string(random_.below(10));
      p.writes_sum = random_.one_in(2);
      p.writes_mark = random_.one_in(2);
      p.writes_topics = random_.one_in(2);
      p.sends_max = random_.one_in(2) ? 1 + random_.below(3) : 0;
      p.fails_one_in = is_broken && random_.one_in(3) ? 5 : 0;
      plans_.push_back(std::move(p));
    }
    random_.shuffle(plans_); // the declaration order differs from the order of the names
    plans_[random_.below(count)].writes_last = true;
    if (random_.one_in(20)) // two writers, rejected as soon as both run in one step
      plans_[random_.below(count)].writes_last = true;
    for (auto& p : plans_) {
      if (random_.one_in(3))
        p.goes_to = plans_[random_.below(count)].name;
    }
  }

  workers add_workers() {
    const auto ch = ch_;
    auto first = g_.worker<std::string>("w_text", [ch](const std::string& in, runtime rt) {
      return step_result{
          {ch.log <<= lines{"w:" + in}, ch.mark <<= in + std::to_string(rt.task_index())}};
    });
    auto second = g_.worker<int>("w_number", [ch](const int& in) {
      return step_result{{ch.sum <<= in, ch.latest <<= lines{"n" + std::to_string(in)}}};
    });
    return {first, second};
  }

  void add_node(const plan& p, const workers& to) {
    auto options = node_options{};
    if (p.fails_one_in != 0 && random_.one_in(2)) {
      options.on_failure = [ch = ch_](const body_input& in, const run_error& e) {
        auto instead = node_output{};
        instead.writes.push_back(
            (ch.log <<= lines{"!" + e.text + std::to_string(in.step)}).content);
        return std::optional{std::move(instead)};
      };
    }
    const auto body = [p, to, ch = ch_](const auto& log, std::int64_t sum, const auto& last,
                                        const auto& mark, const auto& latest, const auto& all,
                                        runtime rt) {
      const auto seen =
          (digest{} << p.name << rt.step() << log << sum << last << mark << latest << all).value();
      auto r = act(p, ch, seen, rt.step());
      to.add(r.go_to, seen / 7, p.sends_max);
      if (!p.goes_to.empty() && seen % 3 == 0)
        r.go_to.emplace_back(std::string_view{p.goes_to});
      return r;
    };
    g_.add(p.name, ch_.everything(), body, std::move(options));
  }

  [[nodiscard]] std::string_view any() { return plans_[random_.below(plans_.size())].name; }

  void add_edges() {
    const auto count = plans_.size();
    const auto at_once = 5 + random_.below(std::min<std::size_t>(count, 9) - 4);
    for (auto i = std::size_t{0}; i < at_once; ++i)
      g_.edge(start, std::string_view{plans_[i].name});
    for (auto i = std::size_t{0}; i + 1 < count; ++i) {
      if (random_.one_in(2)) // forward edges only, so there is no loop
        g_.edge(std::string_view{plans_[i].name},
                std::string_view{plans_[i + 1 + random_.below(count - i - 1)].name});
    }
    g_.edge(std::string_view{"w_text"}, any());
    for (auto joins = random_.below(3); joins > 0; --joins) {
      auto sources = std::vector<std::size_t>(count);
      for (auto i = std::size_t{0}; i < count; ++i)
        sources[i] = i;
      random_.shuffle(sources);
      g_.edge({std::string_view{plans_[sources[0]].name}, std::string_view{plans_[sources[1]].name},
               std::string_view{plans_[sources[2]].name}},
              any());
    }
  }

  /// Routers that loop back while a limit lasts, or continue with Sends.
  void add_branches(const workers& to) {
    for (auto branches = 1 + random_.below(3); branches > 0; --branches) {
      const auto bound = 12 + random_.below(30);
      const auto back = std::string{any()};
      const auto sends_max = random_.below(4);
      g_.branch(
          any(), reads{ch_.log, ch_.last},
          [bound, back, to, sends_max](const lines& log, const std::optional<std::string>& last) {
            auto chosen = destinations{};
            const auto seen = (digest{} << log << last).value();
            if (log.size() < bound && seen % 3 != 0)
              chosen.emplace_back(std::string_view{back});
            to.add(chosen, seen / 11, sends_max);
            return chosen;
          });
    }
  }

  dice random_;
  channel_graph g_;
  channels ch_;
  std::vector<plan> plans_;
};

} // namespace

scenario generate_graph(std::uint64_t seed) {
  return generator{seed}.make();
}

} // namespace superstep::test
