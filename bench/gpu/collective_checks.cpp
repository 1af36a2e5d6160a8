#include "troupe/bench/gpu/collective_checks.hpp"

#include <thread>
#include <type_traits>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/half.hpp"

namespace troupe::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// The numbers of elements: few, and enough that they are sent in parts.
constexpr std::int64_t kCounts[]{1, 3, 17, 1'001, 262'147};

/// Element i of a rank: a small integer, whose sums are exact in every dtype that is summed.
template <class T>
int element(int rank, std::int64_t i) {
  return static_cast<int>((i * 7 + rank * 3) % 11) - (std::is_unsigned_v<T> ? 0 : 5);
}

template <class T>
int sum(int ranks, std::int64_t i) {
  int total = 0;
  for (int rank = 0; rank < ranks; ++rank) total += element<T>(rank, i);
  return total;
}

/// The collectives on elements of type T, each compared with the result computed on the host.
template <class T>
class Checks {
 public:
  Checks(Communicator& group, std::chrono::milliseconds limit) : group_(group), limit_(limit) {}

  /// Runs all collectives. Returns their number.
  int run() {
    int done = 0;
    for (const auto count : kCounts) {
      for (int root = 0; root < group_.size(); ++root) {
        broadcast(count, root);
        scatter(count, root);
      }
      all_gather(count);
      done += 1 + 2 * group_.size();
      // There is no sum of uint8.
      if constexpr (std::is_same_v<T, std::uint8_t>) continue;
      all_reduce(count);
      reduce_scatter(count);
      done += 2;
    }
    return done;
  }

 private:
  using Expected = std::function<int(int rank, std::int64_t i)>;

  void all_reduce(std::int64_t count) {
    const auto parts = inputs(count);
    finish(*group_.all_reduce(parts));
    compare("all_reduce", parts, [this](int, std::int64_t i) { return sum<T>(group_.size(), i); });
  }

  void broadcast(std::int64_t count, int root) {
    const auto parts = inputs(count);
    finish(*group_.broadcast(parts, root));
    compare("broadcast from rank " + std::to_string(root), parts,
            [root](int, std::int64_t i) { return element<T>(root, i); });
  }

  void scatter(std::int64_t count, int root) {
    auto parts = inputs(count * group_.size(), count);
    for (std::size_t local = 0; local < parts.size(); ++local)
      if (group_.local()[local].rank != root) parts[local].input = Tensor();
    finish(*group_.scatter(parts, root));
    compare("scatter from rank " + std::to_string(root), parts,
            [root, count](int rank, std::int64_t i) { return element<T>(root, rank * count + i); });
  }

  void all_gather(std::int64_t count) {
    const auto parts = inputs(count, count * group_.size());
    finish(*group_.all_gather(parts));
    compare("all_gather", parts,
            [count](int, std::int64_t i) { return element<T>(static_cast<int>(i / count), i % count); });
  }

  void reduce_scatter(std::int64_t count) {
    const auto parts = inputs(count * group_.size(), count);
    finish(*group_.reduce_scatter(parts));
    compare("reduce_scatter", parts,
            [this, count](int rank, std::int64_t i) { return sum<T>(group_.size(), rank * count + i); });
  }

  /// The input of every rank of this process, and an output if `output` is above 0.
  std::vector<Part> inputs(std::int64_t count, std::int64_t output = 0) const {
    std::vector<Part> parts;
    for (const auto& local : group_.local()) {
      const Tensor host(Shape{count}, DTypeOf<T>::value);
      for (std::int64_t i = 0; i < count; ++i)
        host.mutable_data<T>()[static_cast<std::size_t>(i)] = number(element<T>(local.rank, i));
      Part part{host.to(local.device)};
      if (output > 0) part.output = Tensor(Shape{output}, DTypeOf<T>::value, local.device);
      parts.push_back(std::move(part));
    }
    return parts;
  }

  void finish(Work& work) const {
    const auto until = Clock::now() + limit_;
    while (!work.advance()) {
      if (Clock::now() > until) throw Error("collectives", work.waits_for());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (std::size_t local = 0; local < group_.local().size(); ++local)
      if (!work.done(local).wait_for(limit_)) throw Error("collectives", work.waits_for());
    if (const auto failure = group_.failure()) throw Error("collectives", to_string(*failure));
  }

  void compare(const std::string& collective, const std::vector<Part>& parts, const Expected& expected) const {
    for (std::size_t local = 0; local < parts.size(); ++local) {
      const auto rank = group_.local()[local].rank;
      const auto host = (parts[local].output ? parts[local].output : parts[local].input).copy_to_host();
      const auto got = host.template data<T>();
      for (std::int64_t i = 0; i < host.elements(); ++i)
        if (static_cast<float>(got[static_cast<std::size_t>(i)]) != static_cast<float>(expected(rank, i)))
          throw Error("collectives", collective + " of " + to_string(host) + ": element " + std::to_string(i) +
                                         " of rank " + std::to_string(rank) + " is wrong");
    }
  }

  static T number(int value) {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<T>(value);
    else
      return T(static_cast<float>(value));
  }

  Communicator& group_;
  std::chrono::milliseconds limit_;
};

}  // namespace

int check_collectives(Communicator& group, std::chrono::milliseconds limit) {
  return Checks<float>(group, limit).run() + Checks<std::int32_t>(group, limit).run() +
         Checks<std::int64_t>(group, limit).run() + Checks<Float16>(group, limit).run() +
         Checks<BFloat16>(group, limit).run() + Checks<std::uint8_t>(group, limit).run();
}

}  // namespace troupe::bench
