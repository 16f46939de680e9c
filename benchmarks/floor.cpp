// SPDX-License-Identifier: Apache-2.0
// Costs of basic operations on this machine. Other figures are given as multiples of them.
#include "caf_floor.hpp"
#include "workloads.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace superstep::bench {

namespace {

/// A file descriptor that is closed on destruction.
class descriptor {
public:
  descriptor(int fd, const char* what) : fd_{fd} {
    if (fd < 0)
      throw std::system_error{errno, std::generic_category(), what};
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { ::close(fd_); }
  [[nodiscard]] int get() const noexcept { return fd_; }

private:
  int fd_;
};

void check(bool worked, const char* what) {
  if (!worked)
    throw std::system_error{errno, std::generic_category(), what};
}

void add_to(std::int64_t& n) {
  ++n;
}

double call_ns(std::size_t repetitions) {
  constexpr auto calls = 10'000'000;
  void (*volatile target)(std::int64_t&) = add_to; // volatile: prevents inlining of the call
  auto n = std::int64_t{0};
  const auto time = measure(repetitions, [&] {
    for (auto i = 0; i < calls; ++i)
      target(n);
    return 0;
  });
  return time.cpu_min * 1e9 / calls;
}

double alloc_ns(std::size_t repetitions) {
  constexpr auto blocks = 5'000'000;
  void* volatile seen = nullptr; // volatile: keeps the compiler from removing the allocation
  const auto time = measure(repetitions, [&] {
    for (auto i = 0; i < blocks; ++i) {
      seen = std::malloc(64);
      std::free(seen);
    }
    return 0;
  });
  return time.cpu_min * 1e9 / blocks;
}

/// Measures the copy and the release of a pointer to a shared value, with atomic counts as in a
/// program of several threads.
double share_ns(std::size_t repetitions) {
  constexpr auto copies = std::size_t{5'000'000};
  constexpr auto pointers = std::size_t{100};
  const auto from =
      std::vector<std::shared_ptr<const int>>(pointers, std::make_shared<const int>(1));
  const auto time = measure(repetitions, [&] {
    auto used = std::int64_t{0};
    for (auto i = std::size_t{0}; i < copies; i += pointers) {
      const auto to = from;
      used += to.front().use_count(); // keeps the compiler from removing the copies
    }
    return used;
  });
  return time.cpu_min * 1e9 / static_cast<double>(copies);
}

double copy_ns(std::size_t repetitions) {
  constexpr auto copies = 5'000'000;
  auto from = std::array<char, 1'024>{};
  auto to = std::array<char, 1'024>{};
  void* (*volatile copy)(void*, const void*, std::size_t) = std::memcpy; // volatile: as above
  const auto time = measure(repetitions, [&] {
    for (auto i = 0; i < copies; ++i)
      copy(to.data(), from.data(), from.size());
    return 0;
  });
  return time.cpu_min * 1e9 / copies;
}

struct sync_cost {
  double wall_us; ///< a program also waits for the disk without using the CPU
  double cpu_us;
};

/// Measures replacing two pages of a file and writing them to the disk. The sync of a longer file
/// costs more, because its size must be stored as well.
sync_cost measure_sync(const std::string& folder, std::size_t repetitions) {
  constexpr auto writes = 100;
  const auto path = (std::filesystem::path{folder} / "superstep-bench-XXXXXX").string();
  auto name = std::string{path};
  const auto file = descriptor{::mkstemp(name.data()), "cannot make a file in dir="};
  ::unlink(name.c_str());
  const auto pages = std::array<char, 8'192>{};
  const auto write = [&](int no) {
    check(::pwrite(file.get(), pages.data(), pages.size(), no * std::ssize(pages)) ==
              std::ssize(pages),
          "pwrite");
  };
  for (auto i = 0; i < writes; ++i)
    write(i);
  check(::fdatasync(file.get()) == 0, "fdatasync");
  const auto time = measure(repetitions, [&] {
    for (auto i = 0; i < writes; ++i) {
      write(i);
      check(::fdatasync(file.get()) == 0, "fdatasync");
    }
    return 0;
  });
  return {time.seconds * 1e6 / writes, time.cpu_min * 1e6 / writes};
}

/// Returns the CPU time of the smallest program of the system.
double process_us(std::size_t repetitions) {
  constexpr auto programs = 20;
  auto least = std::numeric_limits<double>::max();
  for (auto k = std::size_t{0}; k < repetitions; ++k) {
    auto sum = 0.0;
    for (auto i = 0; i < programs; ++i) {
      char name[] = "/bin/true";
      char* const words[] = {name, nullptr};
      auto id = ::pid_t{};
      check(::posix_spawn(&id, name, nullptr, nullptr, words, environ) == 0, "posix_spawn");
      auto status = 0;
      auto used = rusage{};
      check(::wait4(id, &status, 0, &used) == id && status == 0, "/bin/true");
      for (const auto& time : {used.ru_utime, used.ru_stime})
        sum += static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
    }
    least = std::min(least, sum / programs);
  }
  return least;
}

/// Returns two TCP sockets on 127.0.0.1 that are connected to each other.
std::pair<int, int> connect_pair() {
  const auto listener = descriptor{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"};
  auto address = sockaddr_in{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = static_cast<sockaddr*>(static_cast<void*>(&address));
  auto size = socklen_t{sizeof(address)};
  check(::bind(listener.get(), generic, size) == 0, "bind");
  check(::listen(listener.get(), 1) == 0, "listen");
  check(::getsockname(listener.get(), generic, &size) == 0, "getsockname");
  const auto near = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(near >= 0, "socket");
  check(::connect(near, generic, size) == 0, "connect");
  const auto far = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
  const auto now = 1;
  for (const auto fd : {near, far})
    check(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now)) == 0, "setsockopt");
  return {near, far};
}

void pass(int from, int to) {
  auto block = std::array<char, 1'024>{};
  check(::send(from, block.data(), block.size(), 0) == std::ssize(block), "send");
  check(::recv(to, block.data(), block.size(), MSG_WAITALL) == std::ssize(block), "recv");
}

/// Uses both ends in one thread, so that the cost of waking another thread is not included.
double loopback_us(std::size_t repetitions) {
  constexpr auto rounds = 5'000;
  const auto [a, b] = connect_pair();
  const auto near = descriptor{a, "connect"};
  const auto far = descriptor{b, "accept"};
  const auto time = measure(repetitions, [&] {
    for (auto i = 0; i < rounds; ++i) {
      pass(near.get(), far.get());
      pass(far.get(), near.get());
    }
    return 0;
  });
  return time.cpu_min * 1e6 / rounds;
}

} // namespace

report floor_figures(parameters& p) {
  const auto folder = p.text("dir", ".");
  const auto repetitions = p.count("reps", 9, {.min = 1, .max = 1'000});
  p.done();
  auto out = report{.unit = "none"};
  const auto cpu = cpu_seconds();
  const auto wall = wall_seconds();
  out.extra["call_ns"] = call_ns(repetitions);
  out.extra["hop_ns"] = hop_ns(repetitions);
  out.extra["alloc_ns"] = alloc_ns(repetitions);
  out.extra["share_ns"] = share_ns(repetitions);
  out.extra["copy_ns"] = copy_ns(repetitions);
  const auto sync = measure_sync(folder, repetitions);
  out.extra["fdatasync_us"] = sync.wall_us;
  out.extra["sync_cpu_us"] = sync.cpu_us;
  out.extra["process_us"] = process_us(repetitions);
  out.extra["loopback_us"] = loopback_us(repetitions);
  out.time.add(wall_seconds() - wall, cpu_seconds() - cpu);
  return out;
}

} // namespace superstep::bench
