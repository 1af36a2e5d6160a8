#include "troupe/tests/emulated_cuda/collective.hpp"

#include <cstdint>
#include <cstring>

namespace emulated_cuda {

namespace {

template <typename T>
T reduced(T a, T b, ncclRedOp_t op) {
  switch (op) {
    case ncclMax:
      return a < b ? b : a;
    case ncclMin:
      return b < a ? b : a;
    case ncclProd:
      return static_cast<T>(a * b);
    default:
      return static_cast<T>(a + b);
  }
}

/// Reduces the ranks' arrays to one. Every part of the array begins with another rank, as along a ring.
template <typename T>
void reduce(const std::vector<Collective>& ranks, std::size_t count, T* out) {
  const std::size_t size = ranks.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = i * size / count;
    T value = static_cast<const T*>(ranks[first].send)[i];
    for (std::size_t step = 1; step < size; ++step) {
      value = reduced(value, static_cast<const T*>(ranks[(first + step) % size].send)[i], ranks[0].op);
    }
    if (ranks[0].op == ncclAvg) value = static_cast<T>(value / static_cast<T>(static_cast<int>(size)));
    out[i] = value;
  }
}

using Bytes = std::vector<char>;

Bytes reduced_bytes(const std::vector<Collective>& ranks, std::size_t count) {
  Bytes out(count * bytes_of(ranks[0].type));
  switch (ranks[0].type) {
    case ncclInt8:
      reduce(ranks, count, reinterpret_cast<std::int8_t*>(out.data()));
      break;
    case ncclUint8:
      reduce(ranks, count, reinterpret_cast<std::uint8_t*>(out.data()));
      break;
    case ncclInt32:
      reduce(ranks, count, reinterpret_cast<std::int32_t*>(out.data()));
      break;
    case ncclUint32:
      reduce(ranks, count, reinterpret_cast<std::uint32_t*>(out.data()));
      break;
    case ncclInt64:
      reduce(ranks, count, reinterpret_cast<std::int64_t*>(out.data()));
      break;
    case ncclUint64:
      reduce(ranks, count, reinterpret_cast<std::uint64_t*>(out.data()));
      break;
    case ncclFloat16:
      reduce(ranks, count, reinterpret_cast<__half*>(out.data()));
      break;
    case ncclBfloat16:
      reduce(ranks, count, reinterpret_cast<__nv_bfloat16*>(out.data()));
      break;
    case ncclFloat64:
      reduce(ranks, count, reinterpret_cast<double*>(out.data()));
      break;
    default:
      reduce(ranks, count, reinterpret_cast<float*>(out.data()));
  }
  return out;
}

}  // namespace

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

bool match(const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.count == b.count && a.type == b.type && a.op == b.op && a.root == b.root;
}

// Reads all inputs before it writes, because the buffers of a rank may be the same.
void run_collective(const std::vector<Collective>& ranks) {
  const Collective& any = ranks[0];
  const std::size_t bytes = any.count * bytes_of(any.type);
  const auto root = static_cast<std::size_t>(any.root);
  switch (any.kind) {
    case CollectiveKind::kAllReduce: {
      const Bytes sum = reduced_bytes(ranks, any.count);
      for (const Collective& rank : ranks) std::memcpy(rank.receive, sum.data(), bytes);
      break;
    }
    case CollectiveKind::kReduce:
      std::memcpy(ranks[root].receive, reduced_bytes(ranks, any.count).data(), bytes);
      break;
    case CollectiveKind::kReduceScatter: {
      const Bytes sum = reduced_bytes(ranks, any.count * ranks.size());
      for (std::size_t i = 0; i < ranks.size(); ++i) std::memcpy(ranks[i].receive, sum.data() + i * bytes, bytes);
      break;
    }
    case CollectiveKind::kAllGather: {
      Bytes all(bytes * ranks.size());
      for (std::size_t i = 0; i < ranks.size(); ++i) std::memcpy(all.data() + i * bytes, ranks[i].send, bytes);
      for (const Collective& rank : ranks) std::memcpy(rank.receive, all.data(), all.size());
      break;
    }
    case CollectiveKind::kBroadcast: {
      const Bytes sent(static_cast<const char*>(ranks[root].send), static_cast<const char*>(ranks[root].send) + bytes);
      for (const Collective& rank : ranks) std::memcpy(rank.receive, sent.data(), bytes);
      break;
    }
  }
}

}  // namespace emulated_cuda
